// Convolutions with constant weights, prepared for many calls: the algorithm is chosen and the weights are packed once.
#include <fmt/format.h>

#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/prepare.h"
#include "sconce/generated/convolution_kernels.h"
#include "sconce/kernels/cpu/conv/conv_plan.h"
#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(prepared_planes, "conv.prepared.planes", "a planned convolution whose image is planar and is framed");
SCONCE_VARIANT(prepared_winograd, "conv.prepared.winograd", "a planned convolution by Winograd's algorithm");

enum Arguments { kInput, kWeight, kBias, kStride, kPadding, kDilation, kTransposed, kOutputPadding, kGroups };

// What packed weights depend on, beside the weights.
uint64_t form_of(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  uint64_t form = 0x636f6e76;  // apart from the forms of matrices
  const auto mix = [&](int64_t v) { form = (form ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15 + (form >> 29); };
  mix(static_cast<int64_t>(plan.algorithm));
  mix(plan.kernels->level);
  mix(s.groups);
  mix(s.transposed);
  for (int i = 0; i < s.rank; ++i) {
    for (const int64_t v : {s.kernel[i], s.stride[i], s.padding[i], s.dilation[i], s.output_padding[i]}) mix(v);
  }
  return form;
}

class PreparedConvolution final : public PreparedCall {
 public:
  // `shape` may have its input in planes.
  PreparedConvolution(const ConvShape& shape, const Tensor& weight)
      : plan_(plan_conv(shape, weight.dtype(), Numerics::eager)),
        weights_(weight, form_of(plan_), plan_.packed_bytes,
                 [plan = plan_, weight](void* packed) { plan.pack(weight.data(), weight.strides().data(), packed); }) {
    rows_ = shape.batch;
    for (int i = 0; i < shape.rank; ++i) rows_ *= shape.out[i];
    columns_ = row_stride_ = shape.out_channels;
    constants_read_ = {kWeight};
    prepared_planes(plan_.shape.planes);
    prepared_winograd(plan_.algorithm == ConvAlgorithm::winograd2);
  }

  void run(const void* const* args, void* result, const Epilogue& epilogue) const override {
    Epilogue with_bias = epilogue;
    with_bias.bias = args[kBias];
    // Winograd's algorithm packs for a single call, too; and only packed weights are read together with planes.
    const bool is_due = plan_.algorithm == ConvAlgorithm::winograd2 || plan_.shape.planes;
    if (const void* packed = weights_.get(is_due)) {
      if (plan_.run(args[kInput], packed, result, with_bias)) return;
    } else if (is_due) {  // another thread packs it
      Scratch scratch;
      void* own = scratch.take_bytes(static_cast<int64_t>(plan_.packed_bytes));
      plan_.pack(weight().data(), weight().strides().data(), own);
      if (plan_.run(args[kInput], own, result, with_bias)) return;
    }
    // As an eager call does: without Winograd, an infinity is only where it belongs.
    conv_run_once(plan_.shape, plan_.dtype, args[kInput], weight().data(), weight().strides().data(), result, with_bias,
                  *plan_.kernels);
  }

  bool may_overwrite_residual() const override {
    return plan_.algorithm == ConvAlgorithm::product &&
           sconce::may_overwrite_residual(plan_.dtype, rows_, columns_, plan_.shape.in_channels);
  }
  std::string text() const override {
    return fmt::format("packed convolution, {}{}", algorithm_name(plan_.algorithm),
                       plan_.shape.planes ? " of planes" : "");
  }

 private:
  const Tensor& weight() const { return weights_.weight(); }

  ConvPlan plan_;
  LazyWeights weights_;
};

ConvShape shape_of(const Tensor& input, const Tensor& weight, std::span<const Value> args) {
  return conv_shape_of(input, weight, args[kBias].to_optional_tensor(), args[kStride].to_list().ints(),
                       args[kPadding].to_list().ints(), args[kDilation].to_list().ints(), args[kTransposed].to_bool(),
                       args[kOutputPadding].to_list().ints(), args[kGroups].to_int());
}

bool reads_planes(const Tensor& input, const ConvShape& shape) {
  return input.is_contiguous() && (input.dtype() == DType::float32 || input.dtype() == DType::float64) &&
         shape.in_channels > 0 && conv_takes_planes(shape) &&
         eager_algorithm(shape, input.dtype()) == ConvAlgorithm::direct;
}

}  // namespace
}  // namespace sconce::cpu

namespace sconce {

bool reads_planes(const Tensor& input, const Tensor& weight, std::span<const Value> args) {
  return cpu::reads_planes(input, cpu::shape_of(input, weight, args));
}

}  // namespace sconce

namespace sconce::cpu {

PreparedCall* convolution_prepare(const CallFacts& call) {
  const Tensor &input = call.args[kInput].to_tensor(), &weight = call.constants[kWeight];
  if (!weight.defined() || (input.dtype() != DType::float32 && input.dtype() != DType::float64)) return nullptr;
  if (!has_channels_innermost(call.result) || call.result.numel() == 0) return nullptr;
  const Value& given_bias = call.args[kBias];
  if (given_bias.is_tensor() && !given_bias.to_tensor().is_contiguous()) return nullptr;
  ConvShape shape = shape_of(input, weight, call.args);
  shape.planes = !has_channels_innermost(input);
  if (shape.planes && !reads_planes(input, shape)) return nullptr;
  if (shape.in_channels == 0) return nullptr;
  // oneDNN's take no epilogue.
  if (eager_algorithm(shape, input.dtype()) == ConvAlgorithm::onednn) return nullptr;
  return new PreparedConvolution(shape, weight);
}

}  // namespace sconce::cpu
