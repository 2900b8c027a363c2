// State dicts of program files: the content of data.pkl of a .pt or .ptl without the code, objects as dicts of those of
// their attributes that are tensors or objects (the result of a __getstate__ stays whole). Classes are neither looked
// up nor compiled, and __setstate__ is not run.
#pragma once

#include "sconce/serialization/file/records.h"
#include "sconce/types/value.h"

namespace sconce {

// Throws Error. A torch.package has several pickles, with all storages in one folder.
Value read_archive_state(const Records& records, const std::string& data = "data.pkl",
                         const std::string& storages = "data/");

}  // namespace sconce
