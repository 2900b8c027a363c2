#include "sconce/frontend/script/names/missing_classes.h"

#include <algorithm>
#include <map>

#include "sconce/dispatch/custom/custom_class.h"

namespace sconce::script {
namespace {

using namespace syntax;

class Finder {
 public:
  explicit Finder(std::vector<MissingClass>& missing) : missing_(missing) {}

  void declarations(const Body& body) {
    for (const StmtPtr s : body) {
      if (const auto* c = as<ClassDef>(s)) declarations(c->body);
      const auto* a = as<Assign>(s);
      if (!a || !a->annotation || a->targets.size() != 1) continue;
      if (const auto* name = as<Name>(a->targets[0])) note(attributes_, name->id, a->annotation);
    }
  }

  void calls(const Body& body) {
    for (const StmtPtr s : body) {
      if (const auto* c = as<ClassDef>(s)) calls(c->body);
      if (const auto* f = as<FunctionDef>(s)) function(*f);
    }
  }

 private:
  using Names = std::map<std::string, std::string>;  // to the class

  // The class in an annotation, also inside of Optional and the like; empty when there is none that is missing.
  static std::string class_in(ExprPtr annotation) {
    if (const auto* s = as<Subscript>(annotation)) {
      for (const ExprPtr index : s->indices) {
        if (std::string found = class_in(index); !found.empty()) return found;
      }
      return {};
    }
    const std::string name = dotted_name(annotation);
    return name.starts_with(kCustomClasses) && !find_custom_class(name) ? name : std::string();
  }

  MissingClass& entry(const std::string& name) {
    const auto found = std::find_if(missing_.begin(), missing_.end(), [&](const auto& m) { return m.name == name; });
    return found == missing_.end() ? missing_.emplace_back(MissingClass{name, {}}) : *found;
  }

  void note(Names& names, const std::string& name, ExprPtr annotation) {
    const std::string found = class_in(annotation);
    if (found.empty()) return;
    entry(found);
    names[name] = found;
  }

  void function(const FunctionDef& f) {
    variables_.clear();
    for (const Parameter& p : f.parameters) {
      if (p.annotation) note(variables_, p.name, p.annotation);
    }
    body(f.body);
  }

  // The class of a value that is an attribute, a variable or K.__new__(K); empty when it is not known.
  std::string class_of(ExprPtr e) const {
    const auto look_up = [](const Names& names, const std::string& name) {
      const auto found = names.find(name);
      return found == names.end() ? std::string() : found->second;
    };
    if (const auto* name = as<Name>(e)) return look_up(variables_, name->id);
    if (const auto* a = as<Attribute>(e)) return look_up(attributes_, a->attr);
    if (const auto* c = as<Call>(e)) {
      const auto* made = as<Attribute>(c->callee);
      return made && made->attr == "__new__" ? class_in(made->value) : std::string();
    }
    return {};
  }

  void body(const Body& statements) {
    for (const StmtPtr s : statements) {
      if (const auto* x = as<ExprStmt>(s)) expression(x->value);
      if (const auto* x = as<Return>(s)) expression(x->value);
      if (const auto* x = as<If>(s)) expression(x->test), body(x->body), body(x->orelse);
      if (const auto* x = as<While>(s)) expression(x->test), body(x->body);
      if (const auto* x = as<For>(s)) expression(x->iter), body(x->body);
      if (const auto* x = as<With>(s)) body(x->body);
      if (const auto* x = as<Assign>(s)) {
        expression(x->value);
        const auto* name = x->targets.size() == 1 ? as<Name>(x->targets[0]) : nullptr;
        if (name) variables_[name->id] = x->value ? class_of(x->value) : std::string();
      }
    }
  }

  void expression(ExprPtr e) {
    if (!e) return;
    if (const auto* x = as<Attribute>(e)) expression(x->value);
    if (const auto* x = as<Subscript>(e)) expression(x->value);
    if (const auto* x = as<TupleExpr>(e)) all(x->items);
    if (const auto* x = as<ListExpr>(e)) all(x->items);
    const auto* call = as<Call>(e);
    if (!call) return;
    if (const auto* method = as<Attribute>(call->callee)) {
      const std::string found = class_of(method->value);
      if (!found.empty()) add_method(entry(found), method->attr);
    }
    expression(call->callee);
    all(call->args);
  }
  void all(const std::vector<ExprPtr>& items) {
    for (const ExprPtr item : items) expression(item);
  }

  static void add_method(MissingClass& missing, const std::string& name) {
    if (std::find(missing.methods.begin(), missing.methods.end(), name) == missing.methods.end())
      missing.methods.push_back(name);
  }

  std::vector<MissingClass>& missing_;
  Names attributes_, variables_;
};

}  // namespace

void add_missing_classes(const Tree& tree, std::vector<MissingClass>& missing) {
  Finder finder(missing);
  finder.declarations(tree.body);
  finder.calls(tree.body);
}

}  // namespace sconce::script
