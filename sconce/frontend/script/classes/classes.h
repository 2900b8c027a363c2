// Class instances in expressions: magic methods, interfaces and containers, for calls and the emitter. declare_class.h
// declares classes, module_value.h is for modules.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// The call self.method(args) when `self` is an instance of a class (or an interface) that has `method`: the meaning of
// operators, len(x), x[i], int(x), ... for instances. Null when it is not an instance or has no such method; the caller
// goes on with the operator then, whose message names the types.
SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ir::Value* self,
                             const CallArguments& args = {});
// The same with values: call_magic_method(e, at, "__add__", {a, b}).
SugaredPtr call_magic_method(Emitter& e, const Range& at, std::string_view method, ListRef<ir::Value*> self_and_args);

// Whether a class (or another interface) has every method of the interface, with a schema that fits. `why`, when given,
// gets the first reason against it.
bool implements(TypePtr type, TypePtr interface, std::string* why = nullptr);

// isinstance(x, nn.Linear), for a value of this type: known while compiling. Nothing when `cls` names no module class.
std::optional<bool> is_module_instance(Emitter& e, TypePtr type, syntax::ExprPtr cls);

// Module number `index` (or of that name) of a container, as an interface that all of its modules implement.
SugaredPtr index_modules(Emitter& e, const Range& at, ir::Value* container, ir::Value* index, TypePtr interface);

// A class of C++ (dispatch/custom/custom_class.h): K(1), K.static(2); K.__new__(K) of archives.
SugaredPtr custom_class_value(TypePtr type);

// The sugared value of a value of the graph: a ModuleValue for a module of this program, whose attributes are known
// while compiling; a SimpleValue for everything else. Attributes that hold modules go through this.
SugaredPtr value_of(Emitter& e, ir::Value* v);

}  // namespace sconce::script
