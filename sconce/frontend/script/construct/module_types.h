// ModuleTypes: type inference of modules, which turns the instances that construction made into objects with types.
// Two instances share a type when their class, attributes, constants, submodules' types, functions and hooks are equal;
// otherwise the later one gets a name of its own (___torch_mangle_0), as in PyTorch.
//
// Attributes stand in the order parameters, buffers, others, submodules.
#pragma once

#include <memory>
#include <unordered_map>

#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

// The compile-time part of a module's type, beside its ClassInfo.
struct ModuleType {
  TypePtr type = nullptr;
  Definition* cls = nullptr;
  std::vector<std::pair<std::string, Dynamic>> functions;  // attributes that are functions: self.activation = F.relu
  bool methods_declared = false;
};

class ModuleTypes {
 public:
  explicit ModuleTypes(ProgramState& state);
  ~ModuleTypes();

  // The object of an instance and of everything below it; types are made as needed and the methods that a module always
  // has (forward, exported ones) are compiled. Throws CompileError.
  sconce::Value build(const std::shared_ptr<Instance>& instance, const Range& at);

  // The method of a class that instances of this type have, compiled on demand; null when there is none.
  // An overloaded method has several names.
  std::vector<std::string> find_method(ModuleType& module, const std::string& name);
  // The property of this name, declared on demand; false when there is none.
  bool find_property(ModuleType& module, const std::string& name);
  ir::Function* find_static(ModuleType& module, const std::string& name);

 private:
  struct Draft;
  sconce::Value build(const std::shared_ptr<Instance>& instance, const Range& at, int depth);
  void add_tensors(Draft& d, Instance& instance, Instance::Kind kind);
  void add_submodules(Draft& d, Instance& instance, const Range& at, int depth);
  void add_constants(Draft& d, Instance& instance);
  void add_others(Draft& d, Instance& instance);
  ModuleType& type_for(Draft& d, Instance& instance);
  void declare_methods(ModuleType& module);
  void declare_container_methods(ModuleType& module, const Instance& instance);
  void declare_hooks(ModuleType& module, Instance& instance);
  std::vector<std::string> declare_method(ModuleType& module, Definition& owner, const std::string& name);

  ProgramState& state_;
  std::vector<std::unique_ptr<ModuleType>> types_;
  std::unordered_map<std::string, ModuleType*> by_signature_;
};

// The ModuleType of a type that ModuleTypes made; null for others. `types` gets the maker.
ModuleType* find_module_type(TypePtr type, ModuleTypes** types = nullptr);

}  // namespace sconce::script
