// Bytecode loader: bytecode tables become functions, that is they are verified, translated, and made methods
// of their classes.
#pragma once

#include "sconce/serialization/lite/lite_translate.h"
#include "sconce/serialization/lite/lite_types.h"

namespace sconce::lite {

// Limits on __setstate__ methods while a file is read, each with a clear error and a test.
inline constexpr size_t kMaxSetStateDepth = 100;       // of calls
inline constexpr size_t kMaxRestoredSlots = 1u << 18;  // attributes that they set, of all objects

// Throws Error; nothing has run then.
// Without `strict`, operators that do not exist are errors when they are called; `missing` gets their names.
SCONCE_API void define_methods(const Tables& tables, int archive_version, const std::string& file,
                               ir::CompilationUnit& unit, Types& types, const FindPlace& find_place, bool strict = true,
                               std::vector<std::string>* missing = nullptr);

}  // namespace sconce::lite
