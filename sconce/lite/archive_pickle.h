// Pickles of lite archives: what the C++ pickler of PyTorch writes, and `sconce convert`, read as data.
//
// The whole library's reader (serialization/pickle) knows what Python may write, too: objects of unknown classes, NumPy's
// arrays, containers that are filled after others refer to them. Here a container is complete before anything can refer to
// it, so a value's parts are older than itself, and there are no cycles; the limits of pickle_reader.h hold.
#pragma once

#include "sconce/serialization/pickle/pickle_reader.h"

namespace sconce::lite {

// The value that the pickle in `bytes` is; `name` is its name in errors. Throws Error.
Value read_archive_pickle(std::string_view bytes, const std::string& name, PickleContext& context);

}  // namespace sconce::lite
