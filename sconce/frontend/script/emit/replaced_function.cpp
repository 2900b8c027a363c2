// Functions whose body or signature is not the written one: @unused, @ignore, @overload.
#include <fmt/format.h>

#include "sconce/frontend/script/classes/declare_class.h"

namespace sconce::script {

using namespace syntax;
namespace {

// A tree with nodes of other trees in it, which it keeps alive.
struct MixedTree {
  Tree tree;
  std::vector<TreePtr> others;
};

ReplacedFunction mixed(std::vector<TreePtr> others, const FunctionDef& def) {
  const auto made = std::make_shared<MixedTree>();
  made->tree.source = others.front()->source;
  made->others = std::move(others);
  auto* copy = made->tree.make<FunctionDef>();
  *copy = def;
  return {TreePtr(made, &made->tree), copy};
}

}  // namespace

ReplacedFunction raising_function(const TreePtr& tree, const FunctionDef& def, std::string_view message) {
  const auto text = fmt::format("raise RuntimeError({})\n", string_repr(message));
  const TreePtr body = parse_statements(std::make_shared<Source>(std::string(def.range.source->name()), text));
  FunctionDef changed = def;
  changed.body = body->body;
  return mixed({tree, body}, changed);
}

ReplacedFunction callable_form(const TreePtr& tree, const FunctionDef& def) {
  if (has_decorator(def.decorators, "unused")) return raising_function(tree, def, "Cannot call @unused methods");
  if (has_decorator(def.decorators, "ignore")) {
    return raising_function(
        tree, def,
        fmt::format("'{}' is annotated to be ignored and cannot be run: there is no Python to run it in", def.name));
  }
  return {tree, &def};
}

ReplacedFunction overloaded_form(const TreePtr& tree, const FunctionDef& declaration,
                                 const FunctionDef& implementation) {
  FunctionDef changed = implementation;
  changed.parameters = declaration.parameters;
  changed.returns = declaration.returns;
  // Defaults are the implementation's where the declaration has none of its own.
  for (Parameter& p : changed.parameters) {
    if (p.default_value) continue;
    for (const Parameter& q : implementation.parameters) {
      if (q.name == p.name) p.default_value = q.default_value;
    }
  }
  return mixed({tree}, changed);
}

}  // namespace sconce::script
