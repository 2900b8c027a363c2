// Libraries of custom operators that ship with Sconce and lie beside libsconce.so: sconce_<namespace>.so.
#pragma once

#include <string>

namespace sconce::cli {

// Loads the library for operators "space::...". False when there is none.
bool load_extension(const std::string& space);
// Loads those whose operators a program calls and nobody has defined. True when there was one: loading the program is
// worth another try.
bool load_missing_extensions(const std::string& path);

}  // namespace sconce::cli
