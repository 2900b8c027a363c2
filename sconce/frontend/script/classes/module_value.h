// ModuleValue: a module in an expression. Its submodules, constants and methods are known while compiling;
// containers are unrolled.
#pragma once

#include "sconce/frontend/script/construct/module_types.h"
#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

class ModuleValue : public SugaredValue {
 public:
  // `self` has a type that ModuleTypes made.
  explicit ModuleValue(ir::Value* self);
  std::string kind() const override { return "module"; }
  TypePtr type() const override { return self->type(); }
  ir::Value* as_value(Emitter&, const Range&) override { return self; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override;
  bool has_attr(Emitter& e, const Range& at, const std::string& name) override;
  void set_attr(Emitter& e, const Range& at, const std::string& name, ir::Value* v) override;
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override;
  SugaredPtr subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) override;
  std::vector<SugaredPtr> unpack(Emitter& e, const Range& at, std::optional<size_t> count) override;
  SugaredPtr iterate(Emitter& e, const Range& at) override;  // TupleItems
  ir::Value* len(Emitter& e, const Range& at) override;

  ir::Value* const self;

 private:
  SugaredPtr find_attr(Emitter& e, const Range& at, const std::string& name);
  std::vector<std::string> held_names() const;  // of a container: its items, in order
  bool is_container() const { return info_.container != ClassInfo::Container::none; }
  ModuleTypes* types_ = nullptr;
  ModuleType& module_;
  ClassInfo& info_;
};

}  // namespace sconce::script
