#include "sconce/dispatch/script_tensors.h"

#include "sconce/dispatch/registry.h"

namespace sconce::script {
namespace {

// Looked up once per operator and overload; the table is complete before the first call.
Tensor call(const char* name, Value a, Value b) {
  std::vector<Value> args;
  args.push_back(std::move(a));
  args.push_back(std::move(b));
  return call_op(name, std::move(args))[0].to_tensor();
}

}  // namespace

#define SCONCE_SCRIPT_BINARY(name, op, swapped)                                     \
  Tensor name(const Tensor& a, const Tensor& b) { return call("aten::" op, a, b); } \
  Tensor name(const Tensor& a, const Scalar& b) { return call("aten::" op, a, b); } \
  Tensor name(const Scalar& a, const Tensor& b) { return swapped; }
SCONCE_SCRIPT_BINARY(add, "add", call("aten::add", b, a))
SCONCE_SCRIPT_BINARY(sub, "sub", call("aten::rsub", b, a))
SCONCE_SCRIPT_BINARY(mul, "mul", call("aten::mul", b, a))
SCONCE_SCRIPT_BINARY(div, "div", call("aten::mul", call_op("aten::reciprocal", {Value(b)})[0], a))
SCONCE_SCRIPT_BINARY(floordiv, "floor_divide", call("aten::floor_divide", wrapped_number(a), b))
SCONCE_SCRIPT_BINARY(mod, "remainder", call("aten::remainder", a, b))
SCONCE_SCRIPT_BINARY(pow, "pow", call("aten::pow", a, b))
SCONCE_SCRIPT_BINARY(bit_and, "__and__", call("aten::__and__", b, a))
SCONCE_SCRIPT_BINARY(bit_or, "__or__", call("aten::__or__", b, a))
SCONCE_SCRIPT_BINARY(bit_xor, "__xor__", call("aten::__xor__", b, a))
SCONCE_SCRIPT_BINARY(eq, "eq", call("aten::eq", b, a))
SCONCE_SCRIPT_BINARY(ne, "ne", call("aten::ne", b, a))
SCONCE_SCRIPT_BINARY(lt, "lt", call("aten::gt", b, a))
SCONCE_SCRIPT_BINARY(le, "le", call("aten::ge", b, a))
SCONCE_SCRIPT_BINARY(gt, "gt", call("aten::lt", b, a))
SCONCE_SCRIPT_BINARY(ge, "ge", call("aten::le", b, a))
#undef SCONCE_SCRIPT_BINARY

Tensor neg(const Tensor& a) { return call_op("aten::neg", {Value(a)})[0].to_tensor(); }
Tensor invert(const Tensor& a) { return call_op("aten::bitwise_not", {Value(a)})[0].to_tensor(); }

}  // namespace sconce::script
