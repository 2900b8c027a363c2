#include "sconce/frontend/script/names/namespaces.h"

#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/names.h"

namespace sconce::script {
namespace {

// torch.ops.aten.add.Tensor: one overload.
class OneOperator : public SugaredValue {
 public:
  explicit OneOperator(const Op& op) : op_(op) {}
  std::string kind() const override { return "builtin"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) override {
    return call_overload(e, at, op_, args);
  }

 private:
  const Op& op_;
};

}  // namespace

ir::Value* NamespaceValue::as_value(Emitter&, const Range& at) {
  refuse(at,
         "{} cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it "
         "in as "
         "an argument or use a local variable instead.",
         kind());
}

SugaredPtr NamespaceValue::attr(Emitter& e, const Range& at, const std::string& name) {
  if (SugaredPtr found = find_path(e, at, path + "." + name)) return found;
  if (path == "torch" && name == "classes") return std::make_shared<ClassesValue>("");
  refuse(at, "object has no attribute {}{}", name, did_you_mean(name, names_in(path)));
}

bool NamespaceValue::has_attr(Emitter& e, const Range& at, const std::string& name) {
  return find_path(e, at, path + "." + name) != nullptr;
}

SugaredPtr OpsValue::attr(Emitter& e, const Range& at, const std::string& name) {
  if (space_.empty()) return std::make_shared<OpsValue>(name, missing_);
  const std::string op = space_ + "::" + name;
  if (SugaredPtr form = find_path(e, at, "ops." + space_ + "." + name)) return form;
  if (!e.resolver().is_ours()) {
    for (const Op* overload : find_overloads(op)) {
      if (is_hidden(*overload)) refuse(at, "{} {}", op, kHidden);
    }
  }
  if (!has_attr(e, at, name)) {
    if (missing_ && *missing_) throw MissingOperatorUse{op, at, (*missing_)(op)};
    refuse(at, "Unknown builtin op: {}.{}", op, did_you_mean(op, similar_operators(op)));
  }
  return std::make_shared<OpsFunction>(ir::Symbol(op));
}

bool OpsValue::has_attr(Emitter&, const Range&, const std::string& name) {
  return space_.empty() || is_builtin(space_ + "::" + name);
}

TypePtr require_custom_class(const Range& at, const std::string& path) {
  const std::string qualified = "__torch__." + path;
  if (const TypePtr found = find_custom_class(qualified)) return found;
  const std::string name = qualified.substr(kCustomClasses.size());
  std::vector<std::string> known;
  for (const std::string& other : custom_class_names()) known.push_back(other.substr(kCustomClasses.size()));
  refuse(at, "Tried to instantiate class '{}', but it does not exist! Ensure that it is registered via torch::class_{}",
         name, did_you_mean(name, known));
}

SugaredPtr ClassesValue::attr(Emitter&, const Range& at, const std::string& name) {
  if (space_.empty()) return std::make_shared<ClassesValue>(name);
  return custom_class_value(require_custom_class(at, "torch.classes." + space_ + "." + name));
}

bool ClassesValue::has_attr(Emitter&, const Range&, const std::string& name) {
  return space_.empty() || find_custom_class(std::string(kCustomClasses) + space_ + "." + name);
}

SugaredPtr OpsFunction::attr(Emitter&, const Range& at, const std::string& overload) {
  const Op* op = find_op(name.text(), overload == "default" ? "" : overload);
  if (!op) {
    std::vector<std::string> known;
    for (const Op* other : find_overloads(name.text()))
      known.emplace_back(*other->info.overload ? other->info.overload : "default");
    refuse(at, "operator {} has no overload '{}'{}", name.text(), overload, did_you_mean(overload, known));
  }
  return std::make_shared<OneOperator>(*op);
}

bool OpsFunction::has_attr(Emitter&, const Range&, const std::string& overload) {
  return find_op(name.text(), overload == "default" ? "" : overload) != nullptr;
}

}  // namespace sconce::script
