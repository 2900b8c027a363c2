// Build-time selection: what opgen writes of it beside the records of operators (docs/small.md).
#pragma once

#include "sconce/lite/lite_model.h"
#include "sconce/tensor/backend.h"

namespace sconce::lite {

// Null where no model of the selection is such a file.
using ReadModel = void (*)(Model& model, const FileBytesPtr& file, bool trust);
extern const ReadModel archive_reader, compiled_reader;

extern const int lowest_level;              // of instruction sets: a processor with less is refused
extern const char* const selected_dtypes;   // separated by spaces; empty: all
extern const char* const selected_formats;  // the same; empty: none
// Elements to other strides and dtypes; null where no operator makes tensors.
using CopyLoop = void (*)(std::span<const int64_t> sizes, const Operand& out, const Operand& in);
extern const CopyLoop copy_loop;
extern const bool allows_missing;         // models that name other operators load all the same
extern const char* const selection_text;  // all lines of it

}  // namespace sconce::lite
