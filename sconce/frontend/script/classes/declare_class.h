// Class declaration: turns class statements into types, that is script classes, named tuples, enums, interfaces, and
// the modules of archives. Methods become functions that are compiled when they are needed.
#pragma once

#include "sconce/frontend/script/names/scope.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

// Each sets `d.type` (before methods are looked at, so that they may mention the class) and adds it to the unit.
void declare_script_class(Definition& d);
void declare_named_tuple(Definition& d);
void declare_enum(Definition& d);
void declare_interface(Definition& d);
// class M(Module) of an archive: its attributes are written out.
void declare_archive_module(Definition& d);

// Final, Final[T], typing.Final[T]: a constant.
bool is_final(syntax::ExprPtr annotation);

// Adds a method to a class, to be compiled when needed. `source.def`, `source.tree` and `source.resolver` are
// set by this.
ir::Function& add_method(Scope& scope, const syntax::TreePtr& tree, TypePtr type, const syntax::FunctionDef& def,
                         const std::string& name, FunctionSource source = {});
// The methods of a class body, by kind: plain ones, properties (as __x_getter, __x_setter), static ones.
void add_methods(Scope& scope, const syntax::TreePtr& tree, TypePtr type, const syntax::Body& body);
// The static method of a module class as a function of its own, added on first use; null when there is none. (A module
// has a type for each kind of instance, the class itself has none.)
ir::Function* static_function(Definition& module_class, const std::string& name);

// A function that cannot run here: the same signature, and a body that raises `message`.
struct ReplacedFunction {
  syntax::TreePtr tree;
  const syntax::FunctionDef* def;
};
ReplacedFunction raising_function(const syntax::TreePtr& tree, const syntax::FunctionDef& def,
                                  std::string_view message);
// The function that @torch.jit.unused and @torch.jit.ignore make of another; the function itself without these.
ReplacedFunction callable_form(const syntax::TreePtr& tree, const syntax::FunctionDef& def);
// `implementation` with the signature of an @overload declaration.
ReplacedFunction overloaded_form(const syntax::TreePtr& tree, const syntax::FunctionDef& declaration,
                                 const syntax::FunctionDef& implementation);

// The methods that @dataclass writes (__init__, __eq__, __lt__, ...) as text that add_methods takes; empty when the
// class is not a dataclass.
std::string dataclass_methods(const syntax::ClassDef& def, std::string_view class_name);

// The sugared value of a class in an expression.
SugaredPtr class_value(Definition& d);

}  // namespace sconce::script
