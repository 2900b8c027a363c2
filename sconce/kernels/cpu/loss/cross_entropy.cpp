// Cross entropy of rows and classes, without a table of logarithms: one pass over each row.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/loss/loss_kernels.h"
#include "sconce/tensor/element.h"

namespace sconce {

const LossKernels& loss_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(loss_kernels)); }

namespace cpu {

void sconce_cross_entropy_rows(const Tensor& self, const Tensor& target, int64_t ignore_index, const Tensor& loss,
                               const Tensor& logsumexp) {
  check_cross_entropy(target);
  const Tensor x = contiguous_tensor(self), places = contiguous_tensor(target);
  const int64_t rows = self.sizes()[0], classes = self.sizes()[1];
  const auto* index = places.data<int64_t>();
  for (int64_t r = 0; r < rows; ++r) {
    SCONCE_CHECK_AS(index, index[r] == ignore_index || (0 <= index[r] && index[r] < classes),
                    "Target {} is out of bounds.", index[r]);
  }
  for_float(self.dtype(), [&]<class T>() {
    const auto kernel = loss_kernels().exp_sum[sizeof(T) == 8];
    parallel_for(rows, grain_for(4 * classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = x.data<T>() + r * classes;
        double top, total;
        kernel(row, classes, &top, &total);
        const double level = std::log(total);
        logsumexp.data<T>()[r] = static_cast<T>(top + level);
        loss.data<T>()[r] =
            index[r] == ignore_index ? T(0) : static_cast<T>(level - (static_cast<double>(row[index[r]]) - top));
      }
    });
  });
}

void sconce_cross_entropy_rows_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                        const Tensor& logsumexp, int64_t ignore_index, const Tensor& out) {
  const int64_t rows = self.sizes()[0], classes = self.sizes()[1];
  check_cross_entropy_backward(self, grad, target, logsumexp);
  const Tensor x = contiguous_tensor(self), places = contiguous_tensor(to_dtype(target, DType::int64));
  const Tensor g = contiguous_tensor(to_dtype(grad, self.dtype())),
               level = contiguous_tensor(to_dtype(logsumexp, self.dtype()));
  const auto* index = places.data<int64_t>();
  for_float(self.dtype(), [&]<class T>() {
    const auto kernel = loss_kernels().scaled_exp[sizeof(T) == 8];
    parallel_for(rows, grain_for(4 * classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* row = out.data<T>() + r * classes;
        if (index[r] == ignore_index || index[r] < 0 || index[r] >= classes) {
          std::fill(row, row + classes, T(0));
          continue;
        }
        const T scale = g.data<T>()[r];
        kernel(row, x.data<T>() + r * classes, classes, static_cast<double>(level.data<T>()[r]),
               static_cast<double>(scale));
        row[index[r]] -= scale;
      }
    });
  });
}

}  // namespace cpu
}  // namespace sconce
