// Margins between classes of a row: one label per row, or several.
#include <algorithm>
#include <array>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

enum Reduction : int64_t { none = 0, mean = 1, sum = 2 };

void check_rows(const Tensor& self) {
  SCONCE_CHECK(
      (self.dim() == 2 && self.sizes()[1] != 0) || (self.dim() == 1 && self.sizes()[0] != 0) || self.dim() == 0,
      "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}", self.sizes());
}
int64_t rows_of(const Tensor& self) { return self.dim() == 2 ? self.sizes()[0] : 1; }
int64_t classes_of(const Tensor& self) {
  return self.dim() == 2 ? self.sizes()[1] : self.dim() == 1 ? self.sizes()[0] : 1;
}

void check_margin(const char* name, const Tensor& self, const Tensor& target, const Scalar& p, const Tensor& weight) {
  SCONCE_CHECK(p.to_double() == 1 || p.to_double() == 2, "only p == 1 and p == 2 supported");
  check_rows(self);
  SCONCE_CHECK(
      target.dim() <= 1 && target.numel() == rows_of(self),
      "{}: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target "
      "size [{}], but got {}. Input has shape {}.",
      name, rows_of(self), target.sizes(), self.sizes());
  SCONCE_CHECK(!weight.defined() || (weight.dim() <= 1 && weight.numel() == classes_of(self)),
               "inconsistent weight size, expected {} but got {}", classes_of(self),
               weight.defined() ? weight.sizes() : IntList());
}

void check_floating(const char* name, const Tensor& self) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(self.dtype()));
}

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }
Tensor computed(const Tensor& t, DType dtype) { return contiguous_tensor(to_dtype(t, dtype)); }
Tensor index_tensor(const Tensor& t) {
  SCONCE_CHECK(t.dtype() == DType::int64, "expected scalar type Long but found {}", dtype_legacy_name(t.dtype()));
  return contiguous_tensor(t);
}

// Results of rows, or their sum or mean, to out.
template <class T>
void finish(const std::vector<double>& rows, int64_t reduction, bool each, const Tensor& out) {
  const Tensor result = empty_tensor(out.sizes(), sizeof(T) == 8 ? DType::float64 : DType::float32);
  if (each) {
    for (size_t i = 0; i < rows.size(); ++i) result.data<T>()[i] = static_cast<T>(rows[i]);
  } else {
    double total = 0;
    for (const double r : rows) total += r;
    if (reduction == Reduction::mean && !rows.empty()) total /= static_cast<double>(rows.size());
    result.data<T>()[0] = static_cast<T>(total);
  }
  copy_tensor(out, result);
}

// The labels of a row: up to the first -1.
int64_t labels(const int64_t* target, int64_t classes) { return std::find(target, target + classes, -1) - target; }

}  // namespace

namespace any_device {

OutSpec multi_margin_loss_spec(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar&,
                               const Tensor& weight, int64_t reduction) {
  check_margin("multi_margin_loss", self, target, p, weight);
  return {reduction == Reduction::none && target.dim() > 0 ? Dims({rows_of(self)}) : Dims(), self.dtype()};
}
OutSpec multi_margin_loss_backward_spec(const Tensor&, const Tensor& self, const Tensor& target, const Scalar& p,
                                        const Scalar&, const Tensor& weight, int64_t) {
  check_margin("multi_margin_loss", self, target, p, weight);
  return {Dims(self.sizes()), self.dtype()};
}

std::array<OutSpec, 2> multilabel_margin_loss_forward_spec(const Tensor& self, const Tensor& target,
                                                           int64_t reduction) {
  check_rows(self);
  SCONCE_CHECK(
      self.dim() == 2 ? target.sizes() == self.sizes() : target.dim() <= 1 && target.numel() == classes_of(self),
      "inconsistent target size: {} for input of size: {}", target.sizes(), self.sizes());
  return {OutSpec{reduction == Reduction::none && target.dim() == 2 ? Dims({rows_of(self)}) : Dims(), self.dtype()},
          OutSpec{Dims(target.sizes()), self.dtype()}};
}
OutSpec multilabel_margin_loss_backward_spec(const Tensor&, const Tensor& self, const Tensor& target, int64_t,
                                             const Tensor& is_target) {
  check_rows(self);
  SCONCE_CHECK(target.numel() == self.numel() && is_target.numel() == self.numel(),
               "inconsistent target size: {} for input of size: {}", target.sizes(), self.sizes());
  return {Dims(self.sizes()), self.dtype()};
}

}  // namespace any_device

namespace cpu {

void multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                       const Tensor& weight, int64_t reduction, const Tensor& out) {
  check_floating("multi_margin_loss", self);
  const DType compute = compute_dtype(self);
  const Tensor x = computed(self, compute), wanted = index_tensor(target);
  const Tensor w = weight.defined() ? computed(weight, compute) : weight;
  const int64_t rows = rows_of(self), classes = classes_of(self);
  const auto* index = wanted.data<int64_t>();
  for (int64_t r = 0; r < rows; ++r) SCONCE_CHECK(0 <= index[r] && index[r] < classes, "target out of range");
  for_float(compute, [&]<class T>() {
    const bool squared = p.to_double() == 2;
    const T least = static_cast<T>(margin.to_double());
    std::vector<double> results(static_cast<size_t>(rows));
    parallel_for(rows, grain_for(8 * classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = x.data<T>() + r * classes;
        double total = 0;
        for (int64_t c = 0; c < classes; ++c) {
          const T z = least - row[index[r]] + row[c];
          if (c != index[r] && z > 0) total += static_cast<double>(squared ? z * z : z);
        }
        if (w.defined()) total *= static_cast<double>(w.data<T>()[index[r]]);
        results[static_cast<size_t>(r)] = total / static_cast<double>(classes);
      }
    });
    finish<T>(results, reduction, reduction == Reduction::none && target.dim() > 0, out);
  });
}

void multi_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Scalar& p,
                                const Scalar& margin, const Tensor& weight, int64_t reduction, const Tensor& out) {
  check_floating("multi_margin_loss_backward", self);
  const DType compute = compute_dtype(self);
  const Tensor x = computed(self, compute), wanted = index_tensor(target), g = computed(grad_output, compute);
  const Tensor w = weight.defined() ? computed(weight, compute) : weight;
  const Tensor result = empty_tensor(self.sizes(), compute);
  const int64_t rows = rows_of(self), classes = classes_of(self);
  const bool each = reduction == Reduction::none && grad_output.dim() > 0;
  SCONCE_CHECK(grad_output.numel() == (each ? rows : 1), "multi_margin_loss_backward: grad_output has sizes {}",
               grad_output.sizes());
  const auto* index = wanted.data<int64_t>();
  for (int64_t r = 0; r < rows; ++r) SCONCE_CHECK(0 <= index[r] && index[r] < classes, "target out of range");
  for_float(compute, [&]<class T>() {
    const bool squared = p.to_double() == 2;
    const T least = static_cast<T>(margin.to_double());
    const T share = static_cast<T>(1 / static_cast<double>(classes * (reduction == Reduction::mean ? rows : 1)));
    for (int64_t r = 0; r < rows; ++r) {
      const T *row = x.data<T>() + r * classes,
              scale = share * g.data<T>()[each ? r : 0] * (w.defined() ? w.data<T>()[index[r]] : T(1));
      T *to = result.data<T>() + r * classes, total = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const T z = least - row[index[r]] + row[c];
        to[c] = c != index[r] && z > 0 ? (squared ? 2 * z * scale : scale) : T(0);
        total += to[c];
      }
      to[index[r]] = -total;
    }
  });
  copy_tensor(out, result);
}

void multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out,
                                    const Tensor& is_target) {
  check_floating("multilabel_margin_loss_forward_out_frame", self);
  const DType compute = compute_dtype(self);
  const Tensor x = computed(self, compute), wanted = index_tensor(target);
  const Tensor is = empty_tensor(target.sizes(), compute);
  const int64_t rows = rows_of(self), classes = classes_of(self);
  const auto* index = wanted.data<int64_t>();
  for (int64_t i = 0; i < rows * classes; ++i)
    SCONCE_CHECK(-1 <= index[i] && index[i] < classes, "argument #2 'target' is out of range");
  for_float(compute, [&]<class T>() {
    std::vector<double> results(static_cast<size_t>(rows));
    parallel_for(rows, grain_for(32 * classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = x.data<T>() + r * classes;
        T* mark = is.data<T>() + r * classes;
        std::fill(mark, mark + classes, T(0));
        const int64_t* label = index + r * classes;
        const int64_t count = labels(label, classes);
        for (int64_t j = 0; j < count; ++j) mark[label[j]] = 1;
        double total = 0;
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t c = 0; c < classes; ++c) {
            const T z = 1 - row[label[j]] + row[c];
            if (mark[c] == 0 && z > 0) total += static_cast<double>(z);
          }
        }
        results[static_cast<size_t>(r)] = total / static_cast<double>(classes);
      }
    });
    finish<T>(results, reduction, reduction == Reduction::none && target.dim() == 2, out);
  });
  copy_tensor(is_target, is);
}

void multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                     int64_t reduction, const Tensor& is_target, const Tensor& out) {
  check_floating("multilabel_margin_loss_backward_out_frame", self);
  const DType compute = compute_dtype(self);
  const Tensor x = computed(self, compute), wanted = index_tensor(target), is = computed(is_target, compute);
  const Tensor g = computed(grad_output, compute), result = empty_tensor(self.sizes(), compute);
  const int64_t rows = rows_of(self), classes = classes_of(self);
  const bool each = reduction == Reduction::none && grad_output.dim() > 0;
  SCONCE_CHECK(grad_output.numel() == (each ? rows : 1), "multilabel_margin_loss_backward: grad_output has sizes {}",
               grad_output.sizes());
  const auto* index = wanted.data<int64_t>();
  for (int64_t i = 0; i < rows * classes; ++i)
    SCONCE_CHECK(-1 <= index[i] && index[i] < classes, "argument #2 'target' is out of range");
  for_float(compute, [&]<class T>() {
    const T share = static_cast<T>(1 / static_cast<double>(classes * (reduction == Reduction::mean ? rows : 1)));
    for (int64_t r = 0; r < rows; ++r) {
      const T *row = x.data<T>() + r * classes, *mark = is.data<T>() + r * classes;
      const T scale = share * g.data<T>()[each ? r : 0];
      T* to = result.data<T>() + r * classes;
      std::fill(to, to + classes, T(0));
      const int64_t* label = index + r * classes;
      const int64_t count = labels(label, classes);
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t c = 0; c < classes; ++c) {
          if (mark[c] != 0 || !(1 - row[label[j]] + row[c] > 0)) continue;
          to[label[j]] -= scale;
          to[c] += scale;
        }
      }
    }
  });
  copy_tensor(out, result);
}

}  // namespace cpu
}  // namespace sconce
