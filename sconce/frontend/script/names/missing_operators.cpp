#include "sconce/frontend/script/names/missing_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/names/names.h"

namespace sconce::script {
namespace {

using namespace syntax;

// The names of a.b.c, outermost first; empty when the expression is not a dotted name.
std::vector<std::string> parts_of(ExprPtr e) {
  std::vector<std::string> parts;
  while (const auto* a = as<Attribute>(e)) {
    parts.push_back(a->attr);
    e = a->value;
  }
  const auto* name = as<Name>(e);
  if (!name) return {};
  parts.push_back(name->id);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

class Finder {
 public:
  std::vector<CalledOperator> called;

  void body(const Body& statements) {
    for (const StmtPtr s : statements) statement(s);
  }

 private:
  void all(const std::vector<ExprPtr>& list) {
    for (const ExprPtr e : list) expression(e);
  }

  void statement(StmtPtr s) {
    if (const auto* x = as<ExprStmt>(s)) expression(x->value);
    if (const auto* x = as<Assign>(s)) all(x->targets), expression(x->value);
    if (const auto* x = as<AugAssign>(s)) expression(x->target), expression(x->value);
    if (const auto* x = as<Return>(s)) expression(x->value);
    if (const auto* x = as<If>(s)) expression(x->test), body(x->body), body(x->orelse);
    if (const auto* x = as<While>(s)) expression(x->test), body(x->body);
    if (const auto* x = as<For>(s)) expression(x->iter), body(x->body);
    if (const auto* x = as<Assert>(s)) expression(x->test), expression(x->message);
    if (const auto* x = as<Raise>(s)) expression(x->exception);
    if (const auto* x = as<With>(s)) {
      for (const WithItem& item : x->items) expression(item.context);
      body(x->body);
    }
    if (const auto* x = as<FunctionDef>(s)) body(x->body);
    if (const auto* x = as<ClassDef>(s)) body(x->body);
  }

  void expression(ExprPtr e) {
    if (!e) return;
    if (const auto* x = as<Binary>(e)) expression(x->left), expression(x->right);
    if (const auto* x = as<Unary>(e)) expression(x->operand);
    if (const auto* x = as<BoolOp>(e)) expression(x->left), expression(x->right);
    if (const auto* x = as<Compare>(e)) expression(x->left), expression(x->right);
    if (const auto* x = as<IfExp>(e)) expression(x->test), expression(x->body), expression(x->orelse);
    if (const auto* x = as<Attribute>(e)) expression(x->value);
    if (const auto* x = as<Subscript>(e)) expression(x->value), all(x->indices);
    if (const auto* x = as<Slice>(e)) expression(x->start), expression(x->stop), expression(x->step);
    if (const auto* x = as<Starred>(e)) expression(x->value);
    if (const auto* x = as<ListExpr>(e)) all(x->items);
    if (const auto* x = as<TupleExpr>(e)) all(x->items);
    if (const auto* x = as<DictExpr>(e)) all(x->keys), all(x->values);
    if (const auto* x = as<ListComp>(e)) expression(x->item), expression(x->iter);
    if (const auto* x = as<DictComp>(e)) expression(x->key), expression(x->value), expression(x->iter);
    if (const auto* x = as<Format>(e)) all(x->values);
    if (const auto* x = as<Call>(e)) {
      check(x->callee);
      expression(x->callee);
      all(x->args);
      for (const Keyword& k : x->keywords) expression(k.value);
    }
  }

  void check(ExprPtr callee) {
    std::vector<std::string> parts = parts_of(callee);
    if (parts.size() > 2 && parts[0] == "torch" && parts[1] == "ops") parts.erase(parts.begin());
    std::string name;
    if (parts.size() >= 3 && parts[0] == "ops") {
      name = parts[1] + "::" + parts[2];
    } else if (parts.size() == 2 && parts[0] == "torch" && !is_torch_name(parts[1])) {
      name = "aten::" + parts[1];
    }
    if (name.empty()) return;
    const auto [place, is_new] = places_.emplace(name, called.size());
    if (is_new) called.push_back({name, callee->range, 0, is_builtin(name)});
    ++called[place->second].count;
  }

  std::unordered_map<std::string, size_t> places_;  // in `called`
};

}  // namespace

std::vector<CalledOperator> called_operators(const Tree& tree) {
  Finder finder;
  finder.body(tree.body);
  return std::move(finder.called);
}

std::vector<MissingOperator> missing_operators(const Tree& tree) {
  std::vector<MissingOperator> missing;
  for (const CalledOperator& call : called_operators(tree)) {
    if (!call.known) missing.push_back({call.name, call.first_use});
  }
  return missing;
}

void refuse_missing(const std::vector<MissingOperator>& missing, std::string_view file) {
  if (missing.empty()) return;
  std::string text = file.empty() ? "" : fmt::format("{}: ", file);
  if (missing.size() == 1) {
    text += fmt::format("Unknown builtin op: {}.", missing[0].name);
  } else {
    text += fmt::format("Unknown builtin ops ({}):", missing.size());
    for (const MissingOperator& m : missing) text += fmt::format("\n  {}, {}", m.name, m.first_use.to_string());
  }
  refuse(missing[0].first_use, "{}", text);
}

}  // namespace sconce::script
