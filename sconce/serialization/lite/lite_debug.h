// Debug information of bytecode: the debug records of a lite archive.
#pragma once

#include "sconce/serialization/lite/lite_translate.h"

namespace sconce {
class Records;
}

namespace sconce::lite {

// Gives the methods their debug handles and returns the places of these. Null when the archive has no debug records, or
// broken ones: those know no places.
FindPlace read_debug_places(const Records& records, Tables& tables);

}  // namespace sconce::lite
