// The state of a program file without its code: what data.pkl of a .pt or .ptl holds, objects as dicts of those
// of their attributes that are tensors or objects (what a __getstate__ gave stays whole). Classes are neither looked up
// nor compiled, and __setstate__ is not run.
#pragma once

#include "sconce/serialization/file/records.h"
#include "sconce/types/value.h"

namespace sconce {

// Throws Error.
Value read_archive_state(const Records& records);

}  // namespace sconce
