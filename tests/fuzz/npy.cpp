#include <cstdlib>

#include "sconce/base/error.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void npy(std::string_view bytes) {
  try {
    read_npy(FileBytes::copy(std::as_bytes(std::span(bytes)), "npy")).to_string();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
