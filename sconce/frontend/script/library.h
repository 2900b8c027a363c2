// The script library: functions and classes of ours that are written in the language itself (the folder script/),
// embedded as text and compiled when first used, once for the process.
//
//   script/builtins.py          overloads tried after the operators of a name (`2 - x`), compiled into their callers
//   script/torch/nn/functional.py   torch.nn.functional.*, called as functions
//
// A file's functions have qualified names after its path: __torch__.torch.nn.functional.relu. Functions may be defined
// several times: they are overloads, tried in order.
#pragma once

#include <string_view>
#include <vector>

#include "sconce/base/list_ref.h"
#include "sconce/ir/function.h"

namespace sconce::script {

struct LibrarySource {
  std::string_view path;  // relative to script/, "torch/nn/functional.py"
  std::string_view text;
};

// All embedded files (the list is generated).
SCONCE_API ListRef<LibrarySource> library_sources();

// The functions called `name` in the file, in order of definition; empty when there is none, or no such file. They are
// compiled when first called. Thread-safe. Throws Error when the file itself does not parse (a defect of ours).
SCONCE_API std::vector<ir::Function*> library_functions(std::string_view path, std::string_view name);
// The class called `name` in the file; null when there is none.
SCONCE_API TypePtr library_class(std::string_view path, std::string_view name);
// The names of all functions and classes of the file, for suggestions.
SCONCE_API std::vector<std::string> library_names(std::string_view path);
// Is this a function of builtins.py, whose body replaces the call?
bool is_inlined_into_callers(const ir::Function& function);

// Held while library functions are declared and compiled.
class SCONCE_API LibraryLock {
 public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
};

}  // namespace sconce::script
