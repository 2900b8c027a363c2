// Namespaces: names with attributes, such as torch, torch.nn.functional, math, torch.ops.
#pragma once

#include "sconce/frontend/script/names/missing_use.h"
#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// A Python module of the language; its attributes are in names_table.def.
class NamespaceValue : public SugaredValue {
 public:
  explicit NamespaceValue(std::string path) : path(std::move(path)) {}
  std::string kind() const override { return "python value of type 'module'"; }
  ir::Value* as_value(Emitter& e, const Range& at) override;
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;
  const std::string path;
};

// torch.ops, then torch.ops.aten, whose attributes are operators.
class OpsValue : public SugaredValue {
 public:
  // `missing` may be null: operators that do not exist are refused.
  explicit OpsValue(std::string space, const MissingMessage* missing = nullptr)
      : space_(std::move(space)), missing_(missing) {}
  std::string kind() const override { return "python value of type 'module'"; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;

 private:
  const std::string space_;  // empty for torch.ops itself
  const MissingMessage* const missing_;
};

// torch.classes, then torch.classes.my, whose attributes are classes of C++ (dispatch/custom/custom_class.h).
class ClassesValue : public SugaredValue {
 public:
  explicit ClassesValue(std::string space) : space_(std::move(space)) {}
  std::string kind() const override { return "python value of type 'module'"; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;

 private:
  const std::string space_;  // empty for torch.classes itself
};
// The class that "torch.classes.my.Counter" names. Refuses one that is not registered.
TypePtr require_custom_class(const Range& at, const std::string& path);

// torch.ops.aten.add: all overloads; its attributes are the overloads by name.
class OpsFunction : public BuiltinFunction {
 public:
  using BuiltinFunction::BuiltinFunction;
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;
};

}  // namespace sconce::script
