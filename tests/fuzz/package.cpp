#include "sconce/serialization/archive/package.h"

#include <cstdlib>

#include "sconce/ir/verifier.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void package(std::string_view bytes) {
  const FileBytesPtr file = FileBytes::copy(std::as_bytes(std::span(bytes)), "package");
  try {
    for (const PackageContent::Module& m : read_package(Records(file)).modules) {
      const Archive loaded = load_package(file, m.name);
      for (sconce::ir::Function* f : loaded.unit->functions()) sconce::ir::verify(*f->graph());
    }
    read_tensors(file);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
