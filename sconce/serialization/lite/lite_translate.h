// Bytecode translation: from verified stack code to the register code that our interpreter runs.
#pragma once

#include <memory>

#include "sconce/runtime/bytecode/code.h"
#include "sconce/serialization/lite/lite_verifier.h"

namespace sconce::lite {

// Limit against hostile files, with a clear error and a test: instructions and operands that a method becomes. Some
// instructions of a lite archive become one of ours per value that they touch.
inline constexpr size_t kMaxTranslated = 4'000'000;

// The place in a program that a debug handle means.
struct DebugPlace {
  Range range;
  std::shared_ptr<const ir::InlinedCall> inlined;
};
using FindPlace = std::function<DebugPlace(int64_t handle)>;

struct TranslateContext {
  ir::CompilationUnit* unit = nullptr;
  std::string file;
  std::function<TypePtr(std::string_view text)> find_type;  // of the type table; throws Error
  FindPlace find_place;                                     // null without debug records
  std::vector<std::string> missing;                         // operators that do not exist, for errors
};

// The code of a method. Throws Error: a type that does not fit, too many registers.
std::shared_ptr<runtime::Code> translate(const Method& method, const std::vector<Operator>& operators,
                                         const Verified& verified, const TranslateContext& context);

}  // namespace sconce::lite
