// Lite bytecode compiler: from graphs to the bytecode of the lite interpreter.
#pragma once

#include "sconce/ir/function.h"
#include "sconce/serialization/lite/lite_tables.h"

namespace sconce::lite {

inline constexpr int64_t kWrittenBytecode = 8;

// Where instructions come from.
struct WrittenPlace {
  std::string kind;  // of the node
  Range range;
  std::shared_ptr<const ir::InlinedCall> inlined;
};

// The results of compiling methods beside their tables.
struct Compiled {
  std::vector<std::string> called;   // methods that are called by name, through an interface
  std::vector<WrittenPlace> places;  // debug handles are indices
};

// The tables of a method; its callees are inlined. Throws Error that names code which the lite interpreter cannot run
// (fork, with, script classes).
Method compile_method(ir::Function& function, Compiled& compiled);

// A type as type tables write it.
std::string type_text(TypePtr type);

// The values that bytecode.pkl and mobile_debug_handles.pkl are the pickles of.
Value pickle_of(const Tables& tables);
Value handles_of(const Tables& tables);

}  // namespace sconce::lite
