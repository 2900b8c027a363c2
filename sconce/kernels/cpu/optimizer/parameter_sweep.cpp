#include "sconce/kernels/cpu/optimizer/parameter_sweep.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/engine/visit_floats.h"

namespace sconce {
namespace {

SCONCE_VARIANT(laid_out, "optimizer.copies", "a list of another memory order than the parameter, copied");
SCONCE_VARIANT(converted, "optimizer.convert", "float16 or bfloat16, through tiles of float32");
SCONCE_VARIANT(long_tiles, "optimizer.convert.tiles", "more than 512 elements of float16 or bfloat16");

constexpr int64_t kTile = 512;  // elements of 16-bit floats that are converted at a time

// One parameter: memory in the same order for all lists.
struct Task {
  size_t index;
  DType dtype;  // of real numbers
  int64_t first, count;
  void* arrays[kMaxSweepLists] = {};
};

// A tensor that the pass runs over instead of another one, whose strides differ from the parameter's.
struct Copy {
  const Tensor* of;
  Tensor dense;
  bool written;
};

void check(const char* name, TensorList parameters, TensorList list) {
  SCONCE_CHECK(list.size() == parameters.size(), "{}: expected lists of {} tensors, got {}", name, parameters.size(),
               list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    SCONCE_CHECK(list[i].sizes() == parameters[i].sizes() && list[i].dtype() == parameters[i].dtype(),
                 "{}: params, grads and states must have the same dtype and size, got {} and {}", name,
                 parameters[i].sizes(), list[i].sizes());
  }
}

// The same memory order for all, or copies in one.
void lay_out(Task& task, std::initializer_list<TensorList> lists, unsigned written, std::vector<Copy>& copies) {
  const Tensor& parameter = lists.begin()[0][task.index];
  const bool dense = parameter.is_dense();
  size_t k = 0;
  for (const TensorList& list : lists) {
    const Tensor& t = list[task.index];
    if (!laid_out(!dense ||
                  !(t.strides() == parameter.strides() || (t.is_contiguous() && parameter.is_contiguous())))) {
      task.arrays[k++] = t.data();
      continue;
    }
    Tensor copy = dense ? empty_strided_tensor(parameter.sizes(), parameter.strides(), t.dtype(), t.device())
                        : empty_tensor(parameter.sizes(), t.dtype(), t.device());
    copy_tensor(copy, t);
    task.arrays[k] = copy.data();
    copies.push_back({&t, std::move(copy), (written >> k & 1) != 0});
    ++k;
  }
}

template <class T>
void run_converted(const Task& task, size_t lists, unsigned written, int64_t begin, int64_t end, SweepBody body) {
  long_tiles(end - begin > kTile);
  float tile[kMaxSweepLists][kTile];
  void* arrays[kMaxSweepLists];
  for (size_t k = 0; k < lists; ++k) arrays[k] = tile[k];
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    for (size_t k = 0; k < lists; ++k) {
      const T* from = static_cast<const T*>(task.arrays[k]) + at;
      for (int64_t i = 0; i < n; ++i) tile[k][i] = widened(from[i]);
    }
    body(task.index, false, arrays, n);
    for (size_t k = 0; k < lists; ++k) {
      if (!(written >> k & 1)) continue;
      T* to = static_cast<T*>(task.arrays[k]) + at;
      for (int64_t i = 0; i < n; ++i) to[i] = narrowed<T>(tile[k][i]);
    }
  }
}

void run(const Task& task, size_t lists, unsigned written, int64_t begin, int64_t end, SweepBody body) {
  converted(is_reduced_float(task.dtype));
  if (task.dtype == DType::float16) return run_converted<Half>(task, lists, written, begin, end, body);
  if (task.dtype == DType::bfloat16) return run_converted<BFloat16>(task, lists, written, begin, end, body);
  void* arrays[kMaxSweepLists];
  const int64_t skipped = begin * static_cast<int64_t>(item_size(task.dtype));
  for (size_t k = 0; k < lists; ++k) arrays[k] = static_cast<char*>(task.arrays[k]) + skipped;
  body(task.index, task.dtype == DType::float64, arrays, end - begin);
}

}  // namespace

void sweep_parameters(const char* name, const char* kernel, std::initializer_list<TensorList> lists, unsigned written,
                      SweepBody body) {
  const TensorList parameters = lists.begin()[0];
  for (const TensorList& list : lists) check(name, parameters, list);
  std::vector<Task> tasks;
  tasks.reserve(parameters.size());
  std::vector<Copy> copies;
  int64_t total = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& p = parameters[i];
    const DType dtype = real_dtype(p.dtype());
    if (!is_floating(dtype)) {
      fail_as(ErrorKind::not_implemented, "\"{}\" not implemented for '{}'", kernel, dtype_legacy_name(dtype));
    }
    if (p.is_meta() || p.numel() == 0) continue;
    const int64_t count = p.numel() * (dtype == p.dtype() ? 1 : 2);
    lay_out(tasks.emplace_back(Task{i, dtype, total, count}), lists, written, copies);
    total += count;
  }
  parallel_for(total, grain_for(2), [&](int64_t begin, int64_t end) {
    auto task = std::upper_bound(tasks.begin(), tasks.end(), begin,
                                 [](int64_t at, const Task& t) { return at < t.first + t.count; });
    for (; task != tasks.end() && task->first < end; ++task) {
      run(*task, lists.size(), written, std::max(begin - task->first, int64_t{0}),
          std::min(end - task->first, task->count), body);
    }
  });
  for (const Copy& copy : copies) {
    if (copy.written) copy_tensor(*copy.of, copy.dense);
  }
  size_t k = 0;
  for (const TensorList& list : lists) {
    if (written >> k++ & 1) {
      for (const Tensor& t : list) t.bump_version();
    }
  }
}

}  // namespace sconce
