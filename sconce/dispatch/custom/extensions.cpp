#include "sconce/dispatch/custom/extensions.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "sconce/dispatch/library.h"

namespace sconce {
namespace {

// Part of a file's name that may have come from a hostile file: letters, digits and underscores only.
bool is_plain(std::string_view name) {
  constexpr size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The folder of the library (or program) that this code is in, with a slash.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&load_extension_of), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

bool load_extension_of(std::string_view operator_name) {
  static std::mutex mutex;
  static std::vector<std::string> loaded;
  thread_local bool loading = false;  // a library looks its own operators up while it registers them
  const size_t colons = operator_name.find("::");
  if (loading || colons == operator_name.npos) return false;
  const std::string_view space = operator_name.substr(0, colons);
  if (!is_plain(space)) return false;

  const std::lock_guard lock(mutex);
  if (std::find(loaded.begin(), loaded.end(), space) != loaded.end()) return true;
  static const std::string folder = own_folder();
  const std::string path = folder + "sconce_" + std::string(space) + ".so";
  if (folder.empty() || ::access(path.c_str(), R_OK) != 0) return false;
  struct Guard {
    Guard() { loading = true; }
    ~Guard() { loading = false; }
  } guard;
  load_library(path);
  loaded.emplace_back(space);
  return true;
}

}  // namespace sconce
