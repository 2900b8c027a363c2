// Environment: the symbol table of one block while a function is emitted. Blocks nest, and so do environments; a
// variable keeps the type that the outermost block which knows it gave it.
//
// A variable of the graph is a prim::Store and prim::Load of its storage name; values that exist while compiling only
// (functions, modules, `range(n)`) are kept here as they are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

class Environment {
 public:
  // The scope of this environment: a block of control flow, or a new scope whose names hide those outside (a
  // comprehension, a nested function).
  enum class Kind : uint8_t { block, scope };
  Environment(ir::Block* block, std::shared_ptr<Environment> parent, Kind kind);

  struct Variable {
    TypePtr type = nullptr;  // of a value of the graph
    SugaredPtr sugared;      // of other values
    std::string storage;     // the name of its Store and Load
  };

  ir::Block* block() const { return block_; }
  const std::shared_ptr<Environment>& parent() const { return parent_; }

  // Here or outside; null when unknown (or deleted).
  const Variable* find(const std::string& name) const;
  // The variable that an assignment to `name` would change although it belongs to an outer block of the same scope.
  const Variable* find_outer(const std::string& name) const;
  // Sets the meaning of `name` in this block; an existing storage name is kept.
  Variable& define(const std::string& name, TypePtr type, SugaredPtr sugared);
  bool remove(const std::string& name);  // `del name`; false when it was not defined

  // Names that were set in this block, in order of the alphabet.
  std::vector<std::string> defined() const;
  // All names that can be seen.
  std::vector<std::string> visible() const;

  // Why a name is not defined, and where that was decided; said when it is used.
  struct Problem {
    std::string reason;
    Range at;
  };
  void set_problem(const std::string& name, std::string reason, const Range& at) {
    problems_[name] = {std::move(reason), at};
  }
  const Problem* find_problem(const std::string& name) const;

 private:
  ir::Block* block_;
  std::shared_ptr<Environment> parent_;
  Kind kind_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, Problem> problems_;
  std::shared_ptr<int> next_scope_;  // shared by all environments of a function: numbers of scopes
  int scope_ = 0;
};

}  // namespace sconce::script
