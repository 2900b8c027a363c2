// Lite archives (.ptl): methods as bytecode of a stack machine, in the record bytecode.pkl.
//
// The bytecode is verified (opcodes, operands, stack depths, jump targets, tables), then translated to the code that
// our own interpreter runs: stack slots become registers. Nothing of it is interpreted as it stands in the file.
#pragma once

#include "sconce/serialization/archive/archive.h"

namespace sconce {

// Whether the archive has bytecode.
class Records;
SCONCE_API bool has_bytecode(const Records& records);
// The module with methods from bytecode.pkl; code/ is not looked at. Functions have no graph. Throws Error.
SCONCE_API Archive load_lite_archive(const std::string& path);
SCONCE_API Archive load_lite_archive(FileBytesPtr file, const LoadOptions& options = {});

// The operators that its bytecode names, each once, in order: "aten::add.Tensor", or as one of its instructions.
// Nothing is looked up: there may be none of that name. Throws Error.
SCONCE_API std::vector<std::string> lite_operators(const FileBytesPtr& file);

// For save_archive: the records of a lite archive beside those of any archive.
class StorageTable;
class SourceMapWriter;
struct LiteRecords {
  std::string bytecode;       // bytecode.pkl
  std::string debug_handles;  // mobile_debug_handles.pkl: a number for each instruction
  std::string debug_places;   // callstack_debug_map.pkl: the place that a number means
  std::string debug_ranges;   // bytecode.debug_pkl: places that no other .debug_pkl has; empty when there are none
};
// The methods of a module, with their callees, as bytecode of version 8. Storages of constants go to the table;
// `ranges` has written the archive's code. Throws Error that names code which the lite interpreter cannot run.
SCONCE_API LiteRecords write_lite_records(const Value& module, StorageTable& storages, SourceMapWriter& ranges);

}  // namespace sconce
