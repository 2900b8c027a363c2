// Overload resolution: finds the schema that takes the arguments of a call, converts them, and emits the node. The
// rules are TorchScript's (docs/language.md, "Calls"):
//   1. every candidate without implicit conversions, in order; 2. every candidate with them; the first that fits wins;
//   with a single candidate, conversions are allowed at once.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// Arguments arranged as a schema wants them.
struct MatchedSchema {
  std::vector<ir::Value*> inputs;
  std::vector<TypePtr> return_types;      // type variables replaced
  std::vector<std::string> return_names;  // when the schema names them: the result is a named tuple
};

// Tries one schema. Nodes for conversions are emitted only when it fits; otherwise `why` (when given) gets the reason:
// "Expected a value of type 'int' for argument 'a' but instead found type 'str'." or "Argument b not provided."
std::optional<MatchedSchema> try_match(Emitter& e, const Range& at, const Schema& schema, const CallArguments& args,
                                       const std::optional<CallArgument>& self, bool allow_conversions,
                                       std::string* why);

// A call of the operator `name` ("aten::add"). Emits the node with its Op set and returns its result: a SimpleValue, a
// tuple or named tuple for several returns, None for none. Throws CompileError listing all candidates, the nearest
// first; for an unknown name with spelling suggestions.
SugaredPtr call_builtin(Emitter& e, const Range& at, ir::Symbol name, const CallArguments& args,
                        const std::optional<CallArgument>& self = {});
// A call of one overload.
SugaredPtr call_overload(Emitter& e, const Range& at, const Op& op, const CallArguments& args);
// The same from values, for the emitter's own use: call_op(e, at, "aten::select", {x, dim, index}).
ir::Value* call_op(Emitter& e, const Range& at, std::string_view name, ListRef<ir::Value*> args,
                   std::vector<CallArgument> keywords = {});
// Whether an operator (or script-written builtin) of this name, "aten::add", exists. A name that a file makes up is no
// Symbol before: those stay for ever.
bool is_builtin(std::string_view name);
// Operators of the same namespace with a name like this one, nearest first.
std::vector<std::string> similar_operators(std::string_view name);
// A constant of type Function, the first input of prim::CallFunction.
ir::Value* function_constant(Emitter& e, ir::Function& f);

// A call of a function: prim::CallFunction, or the body inlined for the script library's helpers.
SugaredPtr call_function(Emitter& e, const Range& at, ListRef<ir::Function*> overloads, const CallArguments& args);
// prim::CallMethod on a class instance, module or interface value.
SugaredPtr call_method(Emitter& e, const Range& at, ir::Value* self, ListRef<std::string> names,
                       const CallArguments& args);

// Converts `v` to `type` where TorchScript does so implicitly: None or T to Optional[T], an empty list literal, a tuple
// to a list, a Tensor to a number (with `allow_conversions`), ... Returns the value to use; it has a subtype of `type`
// when that worked.
ir::Value* convert(Emitter& e, const Range& at, ir::Value* v, TypePtr type, bool allow_conversions);

// The type that both are, or become: equal, the supertype, Optional of T and None, tuples element by element; with
// `default_to_union` Union[a, b]. Null when they do not unify. With `hint`, a common supertype within it.
TypePtr unify(TypePtr a, TypePtr b, bool default_to_union = false, TypePtr hint = nullptr);
// is_subtype, and classes that fit interfaces.
bool fits(TypePtr type, TypePtr wanted, std::string* why = nullptr);

}  // namespace sconce::script
