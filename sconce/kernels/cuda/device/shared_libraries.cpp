#include "sconce/kernels/cuda/device/shared_libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

namespace sconce::cuda {

void* open_shared_library(std::initializer_list<const char*> names) {
  const char* setting = std::getenv("SCONCE_CUDA_LIBRARIES");
  std::string_view folders = setting ? setting : "";
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (folder.empty()) continue;
    for (const char* name : names) {
      if (void* library = ::dlopen((std::string(folder) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

std::string joined_names(std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace sconce::cuda
