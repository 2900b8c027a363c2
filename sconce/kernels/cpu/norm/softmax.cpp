// Softmax and log-softmax on tensors: the driver along one dim, with the kernels of this machine.
#include "sconce/kernels/cpu/norm/softmax_kernels.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/kernels/cpu/engine/along_dim.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace cpu {
namespace {

const SoftmaxKernels& softmax_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(softmax_kernels)); }

void run(const char* name, const SoftmaxKernels::Rows (&rows)[2], const SoftmaxKernels::Columns (&columns)[2],
         std::span<const Tensor* const> in, int64_t dim, const Tensor& out) {
  SCONCE_CHECK_AS(not_implemented, is_floating(in[0]->dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(in[0]->dtype()));
  const int i = in[0]->dtype() == DType::float64;
  along_dim({rows[i], columns[i]}, i ? DType::float64 : DType::float32, in, dim, out);
}

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const SoftmaxKernels& k = softmax_kernels();
  const Tensor* in[] = {&self};
  run("softmax", k.softmax_rows, k.softmax_columns, in, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const SoftmaxKernels& k = softmax_kernels();
  const Tensor* in[] = {&self};
  if (is_reduced_float(self.dtype())) {
    const SoftmaxKernels::Rows rows = k.log_softmax_rows_16[self.dtype() == DType::float16];
    return along_dim({rows, k.log_softmax_columns[0]}, DType::float32, in, dim, out);
  }
  run("log_softmax", k.log_softmax_rows, k.log_softmax_columns, in, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const SoftmaxKernels& k = softmax_kernels();
  const Tensor* in[] = {&grad_output, &output};
  run("softmax_backward", k.softmax_backward_rows, k.softmax_backward_columns, in, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                const Tensor& out) {
  const SoftmaxKernels& k = softmax_kernels();
  const Tensor* in[] = {&grad_output, &output};
  run("log_softmax_backward", k.log_softmax_backward_rows, k.log_softmax_backward_columns, in, dim, out);
}

}  // namespace cpu

namespace any_device {

OutSpec _softmax_spec(const Tensor& self, int64_t dim, bool half_to_float) {
  wrap_dim(dim, self.dim());
  SCONCE_CHECK(!half_to_float, "softmax with half to float conversion is not supported on CPU");
  return {Dims(self.sizes()), self.dtype()};
}
OutSpec _log_softmax_spec(const Tensor& self, int64_t dim, bool half_to_float) {
  return _softmax_spec(self, dim, half_to_float);
}

}  // namespace any_device
}  // namespace sconce
