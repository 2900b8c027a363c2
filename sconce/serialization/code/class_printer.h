// Class printer: classes, interfaces, enums and named tuples as text of an archive.
#pragma once

#include "sconce/serialization/code/code_tables.h"
#include "sconce/serialization/code/print_names.h"
#include "sconce/serialization/code/tagged_text.h"

namespace sconce {

// `name`: the last part of the type's name. Throws Error for types that archives cannot express.
TaggedText print_class(TypePtr type, std::string_view name, CodeTables& tables, NameTable& names);

}  // namespace sconce
