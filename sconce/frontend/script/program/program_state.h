// ProgramState: the state that texts of a program share: the unit, scopes, the library's files, types of modules. A
// shared pointer to the unit keeps the whole state alive, since functions that are not compiled yet need it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sconce/frontend/script/names/missing_use.h"
#include "sconce/frontend/script/names/scope.h"

namespace sconce::script {

class ModuleTypes;
class Evaluator;

class ProgramState {
 public:
  ProgramState();
  ~ProgramState();
  ProgramState(const ProgramState&) = delete;

  ir::CompilationUnit unit;
  // The scope of a qualifier ("__torch__", "__torch__.m"); null when no text has it.
  Scope* find_scope(std::string_view prefix) const;
  Scope& add_scope(const std::string& prefix, syntax::Dialect dialect);
  // The class or function that a Python path means ("torch.nn.Linear", "torch.nn.modules.linear.Linear"); its file is
  // read on first use. Null when the library has none.
  Definition* library_definition(std::string_view path);
  // The meaning of an imported name: a value of the language's own or the library's (null when unknown), a type.
  SugaredPtr imported_value(Emitter& e, const Range& at, const std::string& path);
  TypePtr imported_type(const std::string& path);
  // `__torch__` (whose attributes are qualified names), and in archives `CONSTANTS` and `torch`.
  SugaredPtr root_value(const std::string& name);

  // The text that a qualifier of an archive has (null: it has none), asked for on first use; empty: there
  // is no archive.
  std::function<SourcePtr(std::string_view qualifier)> load;
  std::optional<int> archive_version;    // its format, which decides what operators mean; nothing: no archive
  std::vector<sconce::Value> constants;  // CONSTANTS.c0, ... of an archive
  MissingMessage missing_message;        // of an archive whose unknown operators are errors only when they are called
  // CONSTANTS.name. Throws CompileError when there is none.
  const sconce::Value& archive_constant(const Range& at, const std::string& name) const;
  // Defaults of parameters that are tensors: one object each, as Python evaluates a `def` once, whatever classes it is
  // compiled for. By the text and the place of the expression.
  std::map<std::pair<SourcePtr, uint32_t>, sconce::Value> shared_defaults;
  // A named type by its qualified name, loaded when needed; null when there is none.
  TypePtr find_type(std::string_view qualified);
  // A definition by its qualified name, loaded when needed; null when there is none.
  Definition* find_definition(std::string_view qualified);

  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<ModuleTypes> modules;

 private:
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::unordered_map<std::string, Scope*> by_prefix_;
  std::unordered_map<std::string_view, Scope*> library_;  // by path of the file
};

}  // namespace sconce::script
