// Linear layers with packed weights.
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/quantized_kernels.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

Tensor checked_bias(const Tensor& bias, int64_t rows) {
  if (!bias.defined()) return bias;
  SCONCE_CHECK(bias.dim() == 1 && bias.numel() == rows, "bias should have N elements: {}, got {}", rows, bias.sizes());
  SCONCE_CHECK(bias.dtype() == DType::float32, "bias should be a vector of float32, got {}", dtype_name(bias.dtype()));
  return contiguous_tensor(shallow_copy(bias));
}

// The rows of x, whatever its leading dimensions are.
struct Rows {
  int64_t count, width;
  Dims result;
};
Rows rows_of(const Tensor& x, const LinearParams& params) {
  SCONCE_CHECK(x.dim() >= 1, "The dimension of the input tensor should be larger than 0");
  const int64_t width = x.sizes().back();
  SCONCE_CHECK(width == params.weight.size(1),
               "The number of columns in the packed weight should be equal to K: {}, the input is {}",
               params.weight.size(1), x.sizes());
  Rows rows{width == 0 ? 0 : x.numel() / width, width, Dims(x.sizes())};
  if (width == 0) {
    rows.count = 1;
    for (size_t d = 0; d + 1 < x.sizes().size(); ++d) rows.count *= x.sizes()[d];
  }
  rows.result.back() = params.weight.size(0);
  return rows;
}

const float* bias_data(const Tensor& bias) { return bias.defined() ? bias.data<float>() : nullptr; }

void multiply(const uint8_t* x, const Rows& rows, const LinearParams& params, const ColumnTerms& terms,
              const ProductResult& result) {
  const int64_t grain = grain_for(rows.width * params.packed.n / 16 + 1);
  parallel_for(rows.count, grain, [&](int64_t begin, int64_t end) {
    multiply_rows(begin, end, [&](int64_t r) { return x + r * rows.width; }, 0, params.packed, terms, result);
  });
}

}  // namespace

LinearParams::LinearParams(const Tensor& given, const Tensor& given_bias) {
  SCONCE_CHECK(given.defined() && given.dim() == 2,
               "The weight tensor for quantized::linear_prepack should be "
               "2-dimensional.");
  SCONCE_CHECK(given.dtype() == DType::qint8, "quantized::linear_prepack needs a weight of qint8, got {}",
               dtype_name(given.dtype()));
  const Quantizer& q = quantizer_of(given);
  SCONCE_CHECK(q.scheme == QScheme::per_tensor_affine || (q.scheme == QScheme::per_channel_affine && q.axis == 0),
               "quantized::linear_prepack needs one scale, or one for each row of the weight");
  weight = contiguous_quantized(given, MemoryFormat::contiguous);
  bias = checked_bias(given_bias, weight.size(0));
  take_column_params(q, 0, weight.size(0), packed);
  packed.k = packed.elements = weight.size(1);
  const auto* w = static_cast<const int8_t*>(weight.data());
  pack_columns(packed, [&](int64_t column, int64_t, int64_t i) { return w[column * packed.k + i]; });
}

std::shared_ptr<LinearParams> LinearParams::of_half(const Tensor& weight, const Tensor& bias) {
  SCONCE_CHECK(weight.defined() && weight.dim() == 2,
               "The weight tensor for quantized::linear_prepack_fp16 should be 2-dimensional.");
  SCONCE_CHECK(weight.dtype() == DType::float32 || weight.dtype() == DType::float16,
               "quantized::linear_prepack_fp16 needs a weight of float32, got {}", dtype_name(weight.dtype()));
  std::shared_ptr<LinearParams> params(new LinearParams);
  params->weight = contiguous_tensor(sconce::to_dtype(
      sconce::to_dtype(sconce::clamp(to_dtype(weight, DType::float32), -65504.0, 65504.0), DType::float16),
      DType::float32));
  params->bias = checked_bias(bias, weight.size(0));
  return params;
}

Tensor linear(const Tensor& x, const LinearParams& params, double scale, int64_t zero_point, bool relu) {
  SCONCE_CHECK(!params.is_half(), "quantized::linear needs weights of qint8");
  SCONCE_CHECK(x.dtype() == DType::quint8, "quantized::linear: expected input of dtype quint8, got {}",
               dtype_name(x.dtype()));
  const Quantizer& in = uniform_quantizer_of(x);
  const Rows rows = rows_of(x, params);
  const Tensor input = contiguous_quantized(x, MemoryFormat::contiguous);
  const Tensor out = empty_quantized(rows.result, DType::quint8, per_tensor_quantizer(scale, zero_point));
  const ColumnTerms terms = column_terms(params.packed, bias_data(params.bias), static_cast<float>(in.scale),
                                         static_cast<int32_t>(in.zero_point), static_cast<float>(scale));
  ProductResult result;
  result.bytes = static_cast<uint8_t*>(out.data());
  result.stride = params.packed.n;
  result.zero_point = static_cast<int32_t>(zero_point);
  result.lo = relu ? result.zero_point : 0;
  multiply(static_cast<const uint8_t*>(input.data()), rows, params, terms, result);
  return out;
}

Tensor linear_dynamic(const Tensor& x, const LinearParams& params, bool reduce_range, bool relu) {
  if (params.is_half()) return linear_half(x, params, relu);
  SCONCE_CHECK(x.dtype() == DType::float32, "quantized::linear_dynamic: expected an input of float32, got {}",
               dtype_name(x.dtype()));
  const Rows rows = rows_of(x, params);
  const Tensor reals = contiguous_tensor(x);
  const Params p = choose_params(reals, 0, 255, reduce_range);
  const Tensor q = quantized_as(reals, p.scale, p.zero_point, DType::quint8);
  const Tensor out = empty_tensor(rows.result, DType::float32);
  const ColumnTerms terms = column_terms(params.packed, bias_data(params.bias), static_cast<float>(p.scale),
                                         static_cast<int32_t>(p.zero_point), 0);
  ProductResult result;
  result.reals = out.data<float>();
  result.stride = params.packed.n;
  result.lo = relu ? 0 : -1;
  multiply(static_cast<const uint8_t*>(q.data()), rows, params, terms, result);
  return out;
}

Tensor linear_half(const Tensor& x, const LinearParams& params, bool relu) {
  SCONCE_CHECK(params.is_half(), "quantized::linear_dynamic_fp16 needs weights of float16");
  rows_of(x, params);
  const Tensor y = sconce::linear(x, params.weight, params.bias);
  return relu ? sconce::relu(y) : y;
}

}  // namespace sconce::quantized

namespace sconce::boxed {
namespace {

using quantized::LinearParams;

const LinearParams& params_of(const Value& v) { return instance<LinearParams>(v); }

void run_static(Value* args, Value* returns, bool relu) {
  returns[0] = quantized::linear(args[0].to_tensor(), params_of(args[1]), args[2].to_double(), args[3].to_int(), relu);
}
void run_dynamic(Value* args, Value* returns, bool relu) {
  returns[0] = quantized::linear_dynamic(args[0].to_tensor(), params_of(args[1]), args[2].to_bool(), relu);
}

}  // namespace

void quantized_linear_prepack(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] =
      quantized::linear_value(std::make_shared<LinearParams>(args[0].to_tensor(), args[1].to_optional_tensor()));
}
void quantized_linear_prepack_fp16(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = quantized::linear_value(LinearParams::of_half(args[0].to_tensor(), args[1].to_optional_tensor()));
}
void quantized_linear_unpack(const Op&, KeySet, Value* args, Value* returns) {
  const LinearParams& params = params_of(args[0]);
  Value weight = params.weight, bias = params.bias;
  returns[0] = std::move(weight);
  returns[1] = std::move(bias);
}
void quantized_linear(const Op&, KeySet, Value* args, Value* returns) { run_static(args, returns, false); }
void quantized_linear_relu(const Op&, KeySet, Value* args, Value* returns) { run_static(args, returns, true); }
void quantized_linear_dynamic(const Op&, KeySet, Value* args, Value* returns) { run_dynamic(args, returns, false); }
void quantized_linear_relu_dynamic(const Op&, KeySet, Value* args, Value* returns) { run_dynamic(args, returns, true); }
void quantized_linear_dynamic_fp16(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = quantized::linear_half(args[0].to_tensor(), params_of(args[1]), false);
}
void quantized_linear_relu_dynamic_fp16(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = quantized::linear_half(args[0].to_tensor(), params_of(args[1]), true);
}

}  // namespace sconce::boxed
