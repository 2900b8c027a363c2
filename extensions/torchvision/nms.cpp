#include <numeric>

#include "common.h"
#include "sconce/base/budget.h"

namespace torchvision {

namespace {

void check(const Tensor& dets, const Tensor& scores) {
  SCONCE_CHECK(dets.dim() == 2, "nms: boxes should be a 2d tensor, got {}D", dets.dim());
  SCONCE_CHECK(dets.size(1) == 4, "nms: boxes should have 4 elements in dimension 1, got {}", dets.size(1));
  SCONCE_CHECK(scores.dim() == 1, "nms: scores should be a 1d tensor, got {}D", scores.dim());
  SCONCE_CHECK(dets.size(0) == scores.size(0),
               "nms: boxes and scores should have same number of elements in dimension 0, got {} and {}", dets.size(0),
               scores.size(0));
  SCONCE_CHECK(dets.dtype() == scores.dtype(), "nms: dets should have the same type as scores, got {} and {}",
               dtype_name(dets.dtype()), dtype_name(scores.dtype()));
  SCONCE_CHECK_AS(not_implemented, dets.dtype() == DType::float32 || dets.dtype() == DType::float64,
                  "\"nms_kernel\" not implemented for '{}'", dtype_legacy_name(dets.dtype()));
}

}  // namespace

Tensor nms_meta(const Tensor& dets, const Tensor& scores, double) {
  check(dets, scores);
  fail_as(ErrorKind::not_implemented, "nms: how many boxes stay depends on their values, and meta tensors have none");
}

Tensor nms_cpu(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  check(dets, scores);
  const int64_t n = dets.size(0);
  const Tensor boxes = dets.contiguous(), marks = scores.contiguous();
  std::vector<int64_t> kept;
  compute(dets.dtype(), "nms_kernel", [&]<class T>() {
    const T *box = boxes.data<T>(), *score = marks.data<T>();
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    // NaN first, as in PyTorch's sort.
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return score[a] > score[b] || (score[a] != score[a] && score[b] == score[b]);
    });
    std::vector<T> areas(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      areas[static_cast<size_t>(i)] = (box[i * 4 + 2] - box[i * 4]) * (box[i * 4 + 3] - box[i * 4 + 1]);
    }
    std::vector<bool> gone(static_cast<size_t>(n));
    for (int64_t at = 0; at < n; ++at) {
      const int64_t i = order[static_cast<size_t>(at)];
      if (gone[static_cast<size_t>(i)]) continue;
      kept.push_back(i);
      Budget::poll_active();
      for (int64_t next = at + 1; next < n; ++next) {
        const int64_t j = order[static_cast<size_t>(next)];
        if (gone[static_cast<size_t>(j)]) continue;
        const T width = std::min(box[i * 4 + 2], box[j * 4 + 2]) - std::max(box[i * 4], box[j * 4]);
        const T height = std::min(box[i * 4 + 3], box[j * 4 + 3]) - std::max(box[i * 4 + 1], box[j * 4 + 1]);
        const T overlap = std::max(T(0), width) * std::max(T(0), height);
        const T all = areas[static_cast<size_t>(i)] + areas[static_cast<size_t>(j)] - overlap;
        if (static_cast<double>(overlap / all) > iou_threshold) gone[static_cast<size_t>(j)] = true;
      }
    }
  });
  Tensor result = empty_tensor({static_cast<int64_t>(kept.size())}, DType::int64);
  std::copy(kept.begin(), kept.end(), result.data<int64_t>());
  return result;
}

}  // namespace torchvision
