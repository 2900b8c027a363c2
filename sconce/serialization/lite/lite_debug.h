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

#ifdef SCONCE_SMALL
// The same, or null in a small library that was built without places (docs/small.md).
using PlacesReader = FindPlace (*)(const Records& records, Tables& tables);
extern const PlacesReader places_reader;
#endif

}  // namespace sconce::lite
