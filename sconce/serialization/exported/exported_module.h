// Module reconstruction: makes classes and objects for the dotted names of an exported program's tensors.
//
//   layers.0.weight, layers.0.bias, scale   =>   an object with attributes `layers` and `scale`, `layers` one with `0`
#pragma once

#include <map>
#include <memory>

#include "sconce/ir/function.h"
#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/exported/exported_weights.h"
#include "sconce/types/class_info.h"

namespace sconce::exported {

inline constexpr int kMaxModuleDepth = 100;  // of modules in modules

class ModuleTree {
 public:
  // Makes the classes (named as in Python, if nodes say so) in `unit`. Tensors that the program's inputs name must be
  // there. Throws Error, beginning with `file`.
  ModuleTree(const Program& program, const Weights& weights, ir::CompilationUnit& unit, const std::string& file);
  ~ModuleTree();

  TypePtr type() const;
  const Value& root() const { return object_; }
  void add_method(const std::string& name, ir::Function& f);
  // Inserts nodes that get attribute "layers.0.weight" of `self`; submodules are got once.
  ir::Value* insert_get(ir::Graph& graph, ir::Value* self, const std::string& name) const;

 private:
  struct Module;
  void add(const std::string& name, const Tensor& tensor, ClassInfo::AttributeKind kind);
  void build(Module& module, const std::string& path, ir::CompilationUnit& unit);

  std::string file_;
  std::unique_ptr<Module> root_;
  std::map<std::string, std::string> class_names_;  // by path
  Value object_;
  mutable std::map<std::string, ir::Value*> got_;  // submodules by path
};

}  // namespace sconce::exported
