// Softmax and log-softmax on tensors: the driver along one dim, with the kernels of this machine.
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/norm/softmax_kernels.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/kernels/cpu/engine/along_dim.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/strides.h"

namespace sconce {

const SoftmaxKernels& softmax_kernels(bool twice) {
  return twice ? at_cpu_level(SCONCE_OF_EACH_LEVEL(softmax_f64)) : at_cpu_level(SCONCE_OF_EACH_LEVEL(softmax_f32));
}
const LogSoftmaxKernels& log_softmax_kernels(bool twice) {
  return twice ? at_cpu_level(SCONCE_OF_EACH_LEVEL(log_softmax_f64))
               : at_cpu_level(SCONCE_OF_EACH_LEVEL(log_softmax_f32));
}
SoftmaxKernels::Rows log_softmax_16(bool float16) {
  return at_cpu_level(SCONCE_OF_EACH_LEVEL(log_softmax_rows_16))[float16];
}

namespace cpu {
namespace {

SCONCE_VARIANT(narrow_rows, "softmax.log.16_bits", "a log_softmax of float16 or bfloat16");

template <class Kernels>
const SoftmaxKernels& of(bool twice, const Kernels& f32, const Kernels& f64) {
  return twice ? f64 : f32;
}

// `kernels` is called with "is it float64?".
template <class Kernels>
void run(const char* name, Kernels kernels, std::span<const Tensor* const> in, int64_t dim, const Tensor& out) {
  SCONCE_CHECK_AS(not_implemented, is_floating(in[0]->dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(in[0]->dtype()));
  const bool twice = in[0]->dtype() == DType::float64;
  const SoftmaxKernels& k = kernels(twice);
  along_dim({k.rows, k.columns}, twice ? DType::float64 : DType::float32, in, dim, out);
}

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor* in[] = {&self};
  run("softmax", softmax_kernels, in, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor* in[] = {&self};
  if (narrow_rows(is_reduced_float(self.dtype()))) {
    return along_dim({log_softmax_16(self.dtype() == DType::float16), log_softmax_kernels(false).columns},
                     DType::float32, in, dim, out);
  }
  run("log_softmax", log_softmax_kernels, in, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const Tensor* in[] = {&grad_output, &output};
  const auto kernels = [](bool twice) -> const SoftmaxKernels& {
    return of(twice, at_cpu_level(SCONCE_OF_EACH_LEVEL(softmax_gradient_f32)),
              at_cpu_level(SCONCE_OF_EACH_LEVEL(softmax_gradient_f64)));
  };
  run("softmax_backward", kernels, in, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                const Tensor& out) {
  const Tensor* in[] = {&grad_output, &output};
  const auto kernels = [](bool twice) -> const SoftmaxKernels& {
    return of(twice, at_cpu_level(SCONCE_OF_EACH_LEVEL(log_softmax_gradient_f32)),
              at_cpu_level(SCONCE_OF_EACH_LEVEL(log_softmax_gradient_f64)));
  };
  run("log_softmax_backward", kernels, in, dim, out);
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
