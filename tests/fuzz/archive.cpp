#include "sconce/serialization/archive/archive.h"

#include <cstdlib>

#include "sconce/ir/verifier.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void archive(std::string_view bytes) {
  const FileBytesPtr file = FileBytes::copy(std::as_bytes(std::span(bytes)), "archive");
  try {
    const Archive loaded = load_archive(file);
    for (sconce::ir::Function* f : loaded.unit->functions()) sconce::ir::verify(*f->graph());
    flatten_tensors(loaded.module);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
