// Weights: the tensors of an exported program, that is parameters, buffers and constants by their dotted names.
#pragma once

#include <map>
#include <string>

#include "sconce/serialization/exported/exported_json.h"
#include "sconce/serialization/file/records.h"

namespace sconce::exported {

struct Weights {
  // Of the state dict, in the file's order, with whether it is a parameter. Older files do not say: nothing is one.
  std::vector<std::pair<std::string, bool>> state;
  std::map<std::string, Tensor> tensors;  // with the constants; shared tensors are shared again
};

// Of model `model`: tensors as records of their own, which lie in the mapped file, or (older files) torch.save files
// data/weights/<model>.pt and data/constants/<model>.pt. Throws Error.
Weights read_weights(const Records& records, const std::string& model);

// From torch.save files (their bytes) of a state dict and of constants; `file` is what errors start with.
Weights read_pickled_weights(const std::string& state, const std::string& constants, const std::string& file);

}  // namespace sconce::exported
