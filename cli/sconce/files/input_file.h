// Files as inputs of a call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "files/picture_options.h"
#include "sconce/types/value.h"

namespace sconce::cli {

struct InputFile {
  std::string path;
  std::string name;  // of one of its tensors; empty: all
};

// The values in a file, with their names ("" where it has none), in its order. What the file is is seen from its
// content. Throws Error with the file's name; UsageError for a file that gives no values, and a name that it has not.
std::vector<std::pair<std::string, Value>> read_input_file(const InputFile& file, const PictureOptions& pictures);

}  // namespace sconce::cli
