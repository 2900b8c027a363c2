#include "sconce/api/jit.h"
#include "sconce/serialization/archive.h"

namespace sconce::jit {

Module load(const std::string& path) {
  Archive archive = load_archive(path);
  return Module(std::move(archive.unit), std::move(archive.module));
}

}  // namespace sconce::jit
