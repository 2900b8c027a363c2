// A program that a command reads from a file, and what is in it.
#pragma once

#include <string>
#include <vector>

#include "sconce/frontend/script/program/program.h"

namespace sconce::cli {

struct NamedFunction {
  std::string name;                  // "f", "Class.method"
  ir::Function* function = nullptr;  // null when it cannot be compiled
  std::string error;                 // why
  std::string message;               // why, with the place
};

class ProgramFile {
 public:
  // Throws UsageError when the file cannot be read, CompileError for what stands at the top of it. Functions are
  // compiled when they are needed: one that is refused hides no other.
  explicit ProgramFile(const std::string& path);
  ProgramFile(const std::string& path, const std::string& text);

  script::Program& program() { return program_; }
  // All functions, and the methods of its classes. Beside modules may stand functions that only build them, in more of
  // Python than can be compiled: those come with an error.
  std::vector<NamedFunction> functions();
  // "model.py:2: the import of helper": those that are not followed, since other files are not read.
  std::vector<std::string> skipped_imports() const;
  // Module classes: instances of them are built first.
  std::vector<std::string> modules();
  // Throws UsageError when there is none, CompileError when it cannot be compiled.
  ir::Function& function(const std::string& name);

  // Builds a module: "Net", or "Net(4, bias=False)".
  Value build(const std::string& call);
  // The methods of a module that was built.
  static std::vector<NamedFunction> methods(const Value& module);

 private:
  std::string path_;
  syntax::TreePtr tree_;
  script::Program program_;
};

}  // namespace sconce::cli
