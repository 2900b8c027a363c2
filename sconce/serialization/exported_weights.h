// The tensors of an exported program: parameters, buffers and constants by their dotted names.
#pragma once

#include <map>
#include <string>

#include "sconce/serialization/exported_json.h"
#include "sconce/serialization/records.h"

namespace sconce::exported {

struct Weights {
  std::vector<Payload> payloads;          // of the state dict, in the file's order
  std::map<std::string, Tensor> tensors;  // with the constants; what was one tensor is one again
};

// Of model `model`. Tensors lie in the mapped file. Throws Error.
Weights read_weights(const Records& records, const std::string& model);

}  // namespace sconce::exported
