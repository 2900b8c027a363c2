// Lite-interpreter archives (.ptl): methods as bytecode of a stack machine, in the record bytecode.pkl.
//
// The bytecode is verified (opcodes, operands, stack depths, jump targets, tables), then translated to the code that
// our own interpreter runs: stack slots become registers. Nothing of it is interpreted as it stands in the file.
#pragma once

#include "sconce/serialization/archive.h"

namespace sconce {

// Has the archive bytecode?
class Records;
SCONCE_API bool has_bytecode(const Records& records);
// The module with methods from bytecode.pkl; code/ is not looked at. Functions have no graph. Throws Error.
SCONCE_API Archive load_lite_archive(const std::string& path);
SCONCE_API Archive load_lite_archive(FileBytesPtr file);

// For save_archive: the content of bytecode.pkl for a module's methods; storages of constants go to the table.
class StorageTable;
SCONCE_API std::string write_bytecode(const Value& module, StorageTable& storages);

}  // namespace sconce
