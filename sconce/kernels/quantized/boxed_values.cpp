// Operators on quantised tensors inside of other values.
#include "sconce/base/error.h"
#include "sconce/generated/quantization_kernels.h"
#include "sconce/kernels/quantized/quantize.h"

namespace sconce::boxed {
namespace {

Value dequantized_value(const Value& v) {
  if (v.is_tensor()) return is_quantized(v.to_tensor().dtype()) ? Value(quantized::dequantized(v.to_tensor())) : v;
  if (v.is_list()) {
    auto out = make_ref<List>(v.to_list().element_type());
    for (const Value& item : v.to_list().values()) out->append(dequantized_value(item));
    return out;
  }
  if (v.is_tuple()) {
    std::vector<Value> items;
    for (const Value& item : v.to_tuple().items) items.push_back(dequantized_value(item));
    return make_ref<Tuple>(std::move(items), v.to_tuple().named_type);
  }
  return v;
}

}  // namespace

void dequantize_any(const Op&, KeySet, Value* args, Value* returns) { returns[0] = dequantized_value(args[0]); }

void qscheme(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(quantizer_of(args[0].to_tensor()).scheme);
}

}  // namespace sconce::boxed
