// Ahead-of-time compilation: calls of a module or function, recorded and written as a compiled file (.scx).
#pragma once

#include <string>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/ir/function.h"

namespace sconce {

// The arguments of one call, as programs give them; the file is good for calls whose tensors have the same dtypes and
// sizes and whose other arguments have the same values.
struct ExampleCall {
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> kwargs;
};

struct CompiledFileOptions {
  // Keeps weights as kernels of this machine's level read them, beside the weights themselves: the file is up to
  // three times as large, and loads without packing them.
  bool packed_weights = true;
};

// The device of a call's tensors is that of the file (the module has to be there, too): the file is put on the same
// kind of device when it is loaded.
//
// Freezes the module (None: `method` is a function of the unit), so that attributes are constants, runs `method` once
// with each of the calls, and writes what it did. The file is read again and run before this returns: its results have
// the bits of the recorded ones. Throws Error: for a module in training mode, and when a call cannot be repeated by a
// list of operators (elements decide, attributes are written), with the reason.
SCONCE_API void compile_to_file(ir::CompilationUnit& unit, const Value& module, const std::string& method,
                                const std::vector<ExampleCall>& calls, const std::string& path,
                                const CompiledFileOptions& options = {});

}  // namespace sconce
