// Operator registry: eager calls by name, the interpreter, tracing, Python and custom libraries look here. Native
// operators come from generated shards, custom ones from define_op. Lookups are safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {

// "aten::add", "Tensor"; null when there is none.
SCONCE_API const Op* find_op(std::string_view name, std::string_view overload);
// "aten::add.Tensor"; null when there is none.
SCONCE_API const Op* find_op(std::string_view qualified_name);
// All overloads of a name, in the order in which they are tried: see ops/overload_order.txt; otherwise the order in
// which the table (or library) defines them.
SCONCE_API std::vector<const Op*> find_overloads(std::string_view name);
SCONCE_API std::vector<const Op*> all_ops();

// The generated list: calls add_ops once per family of the operator table. The registry calls it on first use, so it
// must not look operators up.
void register_generated_ops();
// A shard of generated operators.
void add_ops(std::span<Op> ops);
// Overloads of a name in the order in which they are tried, separated by spaces, "default" for the one without a name.
struct OverloadOrder {
  std::string_view name, overloads;
};
// Puts overloads in this order; those that a line does not mention come last.
void order_overloads(std::span<const OverloadOrder> orders);
// Makes a new operator. Throws Error when the name and overload exist or the schema is wrong.
SCONCE_API Op& define_op(std::string_view schema, OpInfo info = {});
// A boxed kernel for all operators, also later ones, that have none of their own for this key (tracer, functionalize,
// observe). Null takes it away again.
SCONCE_API void set_fallback(Key key, BoxedKernel kernel);
// The marked address of a key's fallback, as in Op::kernels; null when there is none.
const char* fallback_kernel(Key key);

using NamedValue = std::pair<std::string, Value>;

// Arranges positional and keyword arguments as the schema wants them: defaults filled in, an int repeated for int[2],
// an int taken for a float, a number for a Scalar, None for an optional, lists retyped. Throws Error naming the
// operator and the argument that does not fit.
SCONCE_API std::vector<Value> bind_arguments(const Schema& schema, const std::vector<Value>& args,
                                             const std::vector<NamedValue>& kwargs);

// The overload that TorchScript would choose for these arguments: the first that fits without implicit conversions,
// then the first that fits with them. Throws Error listing the overloads and what did not fit.
SCONCE_API const Op& resolve_overload(std::string_view name, const std::vector<Value>& args,
                                      const std::vector<NamedValue>& kwargs);

// A call by name ("aten::add" resolves the overload, "aten::add.Tensor" names it). One Value per return.
SCONCE_API std::vector<Value> call_op(std::string_view name, const std::vector<Value>& args,
                                      const std::vector<NamedValue>& kwargs = {});

}  // namespace sconce
