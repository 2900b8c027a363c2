// Build-time selection: what opgen writes of it beside the records of operators (docs/small.md).
#pragma once

#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/lite/lite_model.h"
#include "sconce/lite/missing_words.h"
#include "sconce/lite/stack_machine.h"
#include "sconce/tensor/backend.h"

namespace sconce::lite {

// What the hooks for tensors of uncommon dtypes are (tensor/limited_dtypes.h) where none of these is selected.
[[noreturn]] void refuse_tensor(DType dtype);
[[noreturn]] void refuse_format(Key format);

// Null where no model of the selection is such a file.
using ReadModel = void (*)(Model& model, const Records& records, bool trust);
extern const ReadModel archive_reader, compiled_reader;

// Lines of the source for errors, read from an archive's debug records; null where a library has none (`places yes`).
using PlacesReader = std::unique_ptr<Places> (*)(const Records& records, const StackProgram& program);
extern const PlacesReader places_reader;

// Classes of C++ that archives may name: those of packed weights. Null without the format quantized.
struct CustomClasses {
  TypePtr (*find)(std::string_view name);                                       // null when there is none
  Value (*call)(TypePtr type, std::string_view method, std::span<Value> args);  // throws Error
  void (*restore)(TypePtr type, std::span<Value> self_and_state);               // __setstate__; throws Error
};
extern const CustomClasses* const custom_classes;

extern const std::span<Op> selected_ops;
extern const OpTerms* const selected_terms;     // of each
extern const uint8_t* const selected_upgraded;  // the last version of archives in which each meant something else, or 0

extern const int lowest_level;              // of instruction sets: a processor with less is refused
extern const char* const selected_dtypes;   // separated by spaces; empty: all
extern const char* const selected_formats;  // the same; empty: none
// Elements to other strides and dtypes; null where no operator makes tensors.
using CopyLoop = void (*)(std::span<const int64_t> sizes, const Operand& out, const Operand& in);
extern const CopyLoop copy_loop;
// What a call of another operator than those says; null where models that name any are refused.
using MissingWords = std::string (*)(const StackProgram& program, std::string_view called);
extern const MissingWords missing_words;
extern const char* const selection_text;  // all lines of it

}  // namespace sconce::lite
