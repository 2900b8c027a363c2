// Safetensors header: the content of its JSON text, not yet compared with the file.
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

// Throws Error for a text that is not such a header, or has a key twice; `file` is its name in errors.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file);

}  // namespace sconce
