#include "sconce/frontend/script/names/sugared_value.h"

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/emit/emitter.h"

namespace sconce::script {

SugaredValue::~SugaredValue() = default;

ir::Value* SugaredValue::as_value(Emitter&, const Range& at) { refuse(at, "{} cannot be used as a value", kind()); }

SugaredPtr SugaredValue::attr(Emitter&, const Range& at, const std::string& name) {
  refuse(at, "attribute lookup is not defined on {}: it has no '{}'", kind(), name);
}

bool SugaredValue::has_attr(Emitter&, const Range& at, const std::string&) {
  refuse(at, "attribute lookup is not defined on {}", kind());
}

void SugaredValue::set_attr(Emitter&, const Range& at, const std::string& name, ir::Value*) {
  refuse(at, "attribute assignment is not defined on {}: cannot set '{}'", kind(), name);
}

SugaredPtr SugaredValue::call(Emitter&, const Range& at, const CallArguments&, TypePtr) {
  refuse(at, "cannot call a {}", kind());
}

SugaredPtr SugaredValue::subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) {
  (void)e, (void)index, (void)hint;
  refuse(at, "'{}' object is not subscriptable", kind());
}

std::vector<SugaredPtr> SugaredValue::unpack(Emitter&, const Range& at, std::optional<size_t>) {
  refuse(at, "{} cannot be used as a tuple", kind());
}

SugaredPtr SugaredValue::iterate(Emitter&, const Range& at) { refuse(at, "'{}' object is not iterable", kind()); }

ir::Value* SugaredValue::length(Emitter&, const Range& at) { refuse(at, "'{}' object is not iterable", kind()); }

SugaredPtr SugaredValue::item(Emitter&, const Range& at, ir::Value*, TypePtr) {
  refuse(at, "'{}' object is not iterable", kind());
}

SugaredPtr BuiltinFunction::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  return call_builtin(e, at, name, args, self);
}

SugaredPtr FunctionValue::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  return call_function(e, at, overloads, args);
}

ir::Value* FunctionValue::as_value(Emitter& e, const Range& at) {
  if (overloads.size() != 1) refuse(at, "an overloaded function cannot be used as a value");
  return function_constant(e, *overloads[0]);
}

SugaredPtr MethodValue::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  return call_method(e, at, self, names, args);
}

}  // namespace sconce::script
