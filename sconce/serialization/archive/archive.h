// TorchScript archives: reads .pt files of torch.jit.save, each a module with its code, constants and tensors.
//
//   const Archive a = load_archive("model.pt");
//   Value out = runtime::run(*ir::find_method(a.module.to_object().type(), "forward"), args);
//
// Tensors lie in the mapped file; nothing of it is copied that is not written to. Reading never runs code of the file,
// but for __setstate__ methods of its classes, which run in our interpreter, under the limits of load_budget.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/ir/function.h"
#include "sconce/serialization/file/file_bytes.h"

namespace sconce {

struct Archive {
  std::shared_ptr<ir::CompilationUnit> unit;  // the functions and classes; compiled, may be shared by threads
  Value module;                               // the root object
  int version = 0;
  Device device;  // of a compiled file: where its constants are, and its arguments belong
  std::vector<std::pair<std::string, std::string>> extra_files;  // name, content
  // Operators that its code calls and that do not exist: a call throws Error, which names them all, and can be saved
  // no more.
  std::vector<std::string> missing_operators;
};

struct LoadOptions {
  bool run_setstate = true;  // without, objects of classes that have a __setstate__ stay empty: only to check a file
  bool all_code = false;     // compiles also code that the module does not need
  bool strict = false;       // throws Error when an operator is missing, even if it would never be called
  bool trust = false;        // __setstate__ may call every operator, not only those that the table marks as `loads`
  Limits limits;             // in place of the defaults of load_budget.h
  int8_t device_index = -1;  // of a compiled file for a device: which one; the thread's current one
};

// Throws Error (or CompileError, for the code) with the file's name and what is wrong.
SCONCE_API Archive load_archive(const std::string& path);
SCONCE_API Archive load_archive(FileBytesPtr file, const LoadOptions& options = {});

}  // namespace sconce
