// Legacy torch.save reader: files of PyTorch 1.5 and older, and of today's _use_new_zipfile_serialization=False: five
// pickles one after the other (a magic number, a version, facts of the machine, the object, the keys of its storages),
// then the bytes of each storage. Older still is a tar file; it is recognised, and refused by name.
#pragma once

#include <string_view>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/types/value.h"

namespace sconce {

bool looks_like_legacy_pickled(std::string_view bytes);
// Throws Error.
Value read_legacy_pickled(const FileBytesPtr& file);

}  // namespace sconce
