#include "extensions.h"

#include <dlfcn.h>
#include <unistd.h>

#include <set>

#include "operator_uses.h"
#include "sconce/dispatch/library.h"

namespace sconce::cli {
namespace {

// The folder of libsconce.so, with its slash.
std::string library_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&load_library), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

bool load_extension(const std::string& space) {
  if (space.empty() || space.find('/') != space.npos) return false;
  const std::string path = library_folder() + "sconce_" + space + ".so";
  if (access(path.c_str(), R_OK) != 0) return false;
  load_library(path);
  return true;
}

bool load_missing_extensions(const std::string& path) {
  std::set<std::string> spaces;
  for (const OperatorUse& use : operators_in_text(FileBytes::map(path))) {
    if (!use.known) spaces.insert(use.name.substr(0, use.name.find("::")));
  }
  bool loaded = false;
  for (const std::string& space : spaces) loaded |= load_extension(space);
  return loaded;
}

}  // namespace sconce::cli
