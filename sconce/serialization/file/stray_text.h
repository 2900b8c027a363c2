// Content sniffing: tells text that stands where an archive should from the text of a program.
#pragma once

#include "sconce/serialization/file/file_bytes.h"

namespace sconce {

// What a text is that is no program's: "is a pointer of git-lfs: ...", "is a web page: ...", "is text, and its name is
// that of an archive (.pt)". Empty for what may be a program.
SCONCE_API std::string what_stray_text_is(const FileBytes& file);
// Throws Error for these.
SCONCE_API void check_is_program_text(const FileBytesPtr& file);

}  // namespace sconce
