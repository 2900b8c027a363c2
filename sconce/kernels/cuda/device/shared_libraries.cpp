#include "sconce/kernels/cuda/device/shared_libraries.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sconce/base/logs.h"

namespace sconce::cuda {

void* open_shared_library(std::span<const char* const> names) {
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

std::string joined_names(std::span<const char* const> names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

SharedLibrary::SharedLibrary(std::span<const char* const> names) : library_(open_shared_library(names)) {
  if (!library_) {
    why_ = "none of " + joined_names(names) + " found";
    return;
  }
  const std::string_view first = names.front();
  name_ = first.substr(0, first.find('.'));
}

void* SharedLibrary::symbol(const char* name) {
  if (!why_.empty()) return nullptr;
  void* found = ::dlsym(library_, name);
  if (!found) why_ = name_ + " has no function " + name + ": it is too old";
  return found;
}

void log_library(const char* title, size_t version, const char* without, const std::string& why) {
  if (!is_logged(LogTag::kernels)) return;
  if (why.empty())
    std::fprintf(stderr, "[kernels] %s %zu\n", title, version);
  else
    std::fprintf(stderr, "[kernels] %s: %s\n", without, why.c_str());
}

}  // namespace sconce::cuda
