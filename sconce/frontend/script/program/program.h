// Program: the compiled form of a source text. Functions become ir::Functions of a unit, classes become types; modules
// (classes that derive from torch.nn.Module) become types when an instance is built from them.
//
// Namespace sconce::script is this folder, the front end of the script language: text to graphs. The folder script/ at
// the root is text in that language (script_library.h); what the generator makes of bodies of the operator table is C++
// on namespace sconce::body (dispatch/body_runtime.h) and never comes here.
#pragma once

#include <memory>
#include <string>

#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/syntax/parser.h"

namespace sconce::script {

struct ProgramOptions {
  std::string name = "<string>";  // of the source, in messages
  int first_line = 1;
  syntax::Dialect dialect = syntax::Dialect::python;
  std::string prefix = "__torch__";  // of qualified names
  bool compile_all = true;           // at once, so that every error is found; else functions are compiled when needed
  // Of an archive: the text of a qualifier ("__torch__.m"), asked for when a name of it is first met, and the values of
  // CONSTANTS.c0, c1, ...
  std::function<SourcePtr(std::string_view qualifier)> load = {};
  std::vector<sconce::Value> constants = {};
};

class SCONCE_API Program {
 public:
  Program(std::string_view source, const ProgramOptions& options = {});
  ~Program();
  Program(Program&&) noexcept;
  ir::CompilationUnit& unit() const;
  std::shared_ptr<ir::CompilationUnit> shared_unit() const;
  // A function of the text by its own name; null when there is none.
  ir::Function* find_function(std::string_view name) const;
  std::vector<std::string> function_names() const;  // in order of definition
  // A class, named tuple, enum or interface of the text; null when there is none, and for modules.
  TypePtr find_class(std::string_view name) const;
  // By qualified name ("__torch__.m.K"), its text loaded when needed; null when there is none.
  TypePtr find_qualified_type(std::string_view name) const;
  ir::Function* find_qualified_function(std::string_view name) const;
  bool is_module_class(std::string_view name) const;
  // The value of an expression at the end of the text: `[1.5, N]`, `Color.RED`, `torch.ones(2)`; how arguments of calls
  // are written on command lines. It is evaluated as construction is. Throws CompileError.
  sconce::Value evaluate(std::string_view expression) const;
  sconce::Value evaluate(syntax::ExprPtr expression) const;  // the same, parsed already
  // More text that sees the names of what was defined before.
  void define(std::string_view source, const ProgramOptions& options = {});
  // Builds an instance of a module class: runs its __init__ with these arguments, gives it a type (shared with equal
  // instances) and compiles forward and the exported methods. An Object value.
  sconce::Value build_module(std::string_view class_name, const std::vector<sconce::Value>& args = {},
                             const std::vector<std::pair<std::string, sconce::Value>>& kwargs = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sconce::script
