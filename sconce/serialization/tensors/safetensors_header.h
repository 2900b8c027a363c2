// The header of a safetensors file, as its JSON text says it: nothing is compared with the file yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sconce {

struct SafetensorsHeader {
  struct Tensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    uint64_t begin = 0, end = 0;
  };
  std::vector<Tensor> tensors;                                // in the order of the text
  std::vector<std::pair<std::string, std::string>> metadata;  // likewise
};

// Throws Error for a text that is no such header, or has a key twice; `file` is what errors call it.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file);

}  // namespace sconce
