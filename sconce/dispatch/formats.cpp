#include "sconce/dispatch/formats.h"

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/quantized_tensor.h"

namespace sconce {
namespace {

// The backend's name in PyTorch's messages.
std::string_view backend_name(Key format, const Value* args, size_t count) {
  if (format == Key::quantized) return "QuantizedCPU";
  for (const Value* v = args; v != args + count; ++v) {
    if (!v->is_tensor() || v->to_tensor().layout() == Layout::strided) continue;
    return v->to_tensor().layout() == Layout::sparse ? "SparseCPU" : "SparseCsrCPU";
  }
  return "SparseCPU";
}

[[noreturn]] SCONCE_COLD void refuse(const Op& op, Key format, const Value* args) {
  fail_as(ErrorKind::not_implemented,
          "Could not run '{}' with arguments from the '{}' backend. This could be because the operator doesn't exist "
          "for this backend",
          op.qualified_name(), backend_name(format, args, counts_of(op).arguments));
}

void guard(const Op& op, KeySet keys, Value* args, Value* returns, Key format, uint8_t bit) {
  if (!(op.info.formats & bit)) refuse(op, format, args);
  op.redispatch_boxed(keys - format, args, returns);
}

// Views of the tensor see its new integers.
void write_quantized(const Tensor& tensor, const Tensor& result) {
  copy_tensor(stored_integers(tensor), stored_integers(result));
  if (!tensor.impl()->extra) tensor.impl()->extra = new Extra;
  tensor.impl()->extra->quantizer = quantizer_pointer(result);
}

}  // namespace

void guard_sparse(const Op& op, KeySet keys, Value* args, Value* returns) {
  guard(op, keys, args, returns, Key::sparse, kTakesSparse);
}
void guard_quantized(const Op& op, KeySet keys, Value* args, Value* returns) {
  guard(op, keys, args, returns, Key::quantized, kTakesQuantized);
}

void guard_format(Key format) {
  static Once sparse, quantized, math_bits;
  if (format == Key::sparse)
    sparse([] { set_fallback(Key::sparse, guard_sparse); });
  else if (format == Key::math_bits)
    math_bits([] { set_fallback(Key::math_bits, guard_math_bits); });
  else
    quantized([] { set_fallback(Key::quantized, guard_quantized); });
}

void become_result(const Tensor& tensor, const Tensor& result) {
  if (((tensor.keys() | result.keys()) & kFormatKeys).empty()) return copy_to_out(tensor, result);
  SCONCE_CHECK(tensor.dtype() == result.dtype() && tensor.layout() == result.layout(),
               "a result of dtype {} cannot be written to a tensor of dtype {}, or their layouts differ",
               dtype_name(result.dtype()), dtype_name(tensor.dtype()));
  if (is_quantized(tensor.dtype()) && tensor.sizes() == result.sizes()) {
    write_quantized(tensor, result);
  } else {
    take_contents(tensor, result);
  }
  tensor.bump_version();
}

}  // namespace sconce
