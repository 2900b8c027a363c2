// Instances of classes in expressions: the questions that calls and the emitter ask about them. How classes come to be
// is in declare_class.h, modules in module_value.h.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// The call self.method(args) when `self` is an instance of a class (or an interface) that has `method`: what operators,
// len(x), x[i], int(x), ... mean for instances. Null when it is no instance or has no such method; the caller goes on
// with the operator then, whose message names the types.
SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ir::Value* self,
                             const CallArguments& args = {});
// The same with values: call_magic_method(e, at, "__add__", {a, b}).
SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ListRef<ir::Value*> self_and_args);

// Does a class (or another interface) have every method of the interface, with a schema that fits? `why`, when given,
// gets the first reason against it.
bool implements(TypePtr type, TypePtr interface, std::string* why = nullptr);

// isinstance(x, nn.Linear), for a value of this type: known while compiling. Nothing when `cls` names no module class.
std::optional<bool> is_module_instance(Emitter& e, TypePtr type, syntax::ExprPtr cls);

// Module number `index` (or of that name) of a container, as an interface that all of its modules implement.
SugaredPtr index_modules(Emitter& e, const Range& at, ir::Value* container, ir::Value* index, TypePtr interface);

// What a value of the graph means: a module of this program, whose attributes are known while compiling, a ModuleValue;
// everything else a SimpleValue. Attributes that hold modules go through this.
SugaredPtr value_of(Emitter& e, ir::Value* v);

}  // namespace sconce::script
