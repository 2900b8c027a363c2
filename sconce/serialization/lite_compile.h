// From graphs to the bytecode of the lite interpreter.
#pragma once

#include "sconce/ir/function.h"
#include "sconce/serialization/lite_tables.h"

namespace sconce::lite {

inline constexpr int64_t kWrittenBytecode = 8;

// What methods need beside their own code: methods that they call by name, through an interface.
using CalledMethods = std::vector<std::string>;

// The tables of a method; what it calls is inlined. Adds the names of methods that it calls all the same. Throws Error
// that names what the lite interpreter cannot do (fork, with, script classes).
Method compile_method(ir::Function& function, CalledMethods& called);

// A type as type tables write it.
std::string type_text(TypePtr type);

// The value that bytecode.pkl is the pickle of.
Value pickle_of(const Tables& tables);

}  // namespace sconce::lite
