// Structural subtyping: a class fits an interface when it has all of its methods, with signatures that a caller of the
// interface can use.
#include <fmt/format.h>

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/construct/module_types.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

// May `have` be called as `want` says? Both have `self` first; arguments that `want` does not know need defaults.
bool can_be_called_as(const Schema& have, const Schema& want) {
  if (have.arguments.size() < want.arguments.size() || have.returns.size() != want.returns.size()) return false;
  for (size_t i = 1; i < have.arguments.size(); ++i) {
    const Argument& mine = have.arguments[i];
    if (i >= want.arguments.size()) {
      if (!mine.default_value) return false;
      continue;
    }
    const Argument& theirs = want.arguments[i];
    if (mine.name != theirs.name || (theirs.default_value && !mine.default_value)) return false;
    if (!fits(theirs.type, mine.type)) return false;
  }
  for (size_t i = 0; i < have.returns.size(); ++i) {
    if (!fits(have.returns[i].type, want.returns[i].type)) return false;
  }
  return true;
}

// The schema of a method; null when there is none. Methods of modules are declared when they are asked for.
const Schema* method_schema(TypePtr type, const std::string& name) {
  if (type->is(TypeKind::interface)) return type->interface_info()->find(name);
  ModuleTypes* types = nullptr;
  if (ModuleType* module = find_module_type(type, &types)) types->find_method(*module, name);
  ir::Function* f = type->class_info()->find_method(name);
  return f ? &f->schema() : nullptr;
}

}  // namespace

bool implements(TypePtr type, TypePtr interface, std::string* why) {
  const auto no = [&](std::string reason) {
    if (why) *why = std::move(reason);
    return false;
  };
  if (is_custom_class(type)) {
    return no(fmt::format("Class '{}' is one of C++, which implements no interface.\n", type->annotation()));
  }
  const InterfaceInfo& wanted = *interface->interface_info();
  const bool is_module =
      type->is(TypeKind::interface) ? type->interface_info()->is_module : type->class_info()->is_module;
  if (wanted.is_module && !is_module) {
    return no(fmt::format("Class '{}' is not a module, which the module interface '{}' needs.\n", type->annotation(),
                          interface->annotation()));
  }
  const std::string what = type->is(TypeKind::interface) ? "Interface" : "Class";
  for (const auto& [name, schema] : wanted.methods) {
    const Schema* mine = method_schema(type, name);
    if (!mine) {
      return no(fmt::format("{} '{}' does not have method '{}' but '{}' does.\n", what, type->annotation(), name,
                            interface->annotation()));
    }
    if (!can_be_called_as(*mine, *schema)) {
      return no(fmt::format("Method on {} '{}' (1) is not compatible with interface '{}' (2)\n  (1) {}\n  (2) {}\n",
                            what == "Class" ? "class" : "interface", type->annotation(), interface->annotation(),
                            mine->to_string(), schema->to_string()));
    }
  }
  return true;
}

}  // namespace sconce::script
