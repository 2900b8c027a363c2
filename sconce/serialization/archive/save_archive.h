// Archive writer: writes TorchScript archives, which torch.jit.load and load_archive read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

struct SaveOptions {
  std::vector<std::pair<std::string, std::string>> extra_files;  // name, content
  bool lite = false;                                             // with bytecode.pkl, for the lite interpreter
  bool deflate = false;  // code and debug records, as PyTorch does; they are small, and read faster when stored
};

// A module (an object), its code, its tensors. The file is written whole or not at all; the same module gives the same
// bytes. Throws Error.
SCONCE_API void save_archive(const Value& module, const std::string& path, const SaveOptions& options = {});

}  // namespace sconce
