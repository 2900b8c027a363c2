#include "sconce/tensor/libraries/backend_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

#include "sconce/tensor/backend.h"
#include "sconce/tensor/key_set.h"

namespace sconce {
namespace {

std::mutex mutex;
bool is_tried = false;
std::string why_not;  // of cuda
thread_local bool is_loading = false;

// Returns null, or a text that says why there is no backend; see cuda_backend.cpp.
using Start = const char* (*)(const void* find_backend);

constinit const DeviceQueries* queries_of[kDeviceTypes] = {};

// Beside the library (or program) that this code is in.
std::string library_path() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&load_backend_library), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return (slash == path.npos ? "" : path.substr(0, slash + 1)) + "libsconce_cuda.so";
}

std::string load(const std::string& path) {
  if (path.empty() || ::access(path.c_str(), R_OK) != 0) return "";
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    return why ? why : "libsconce_cuda.so cannot be loaded";
  }
  const auto start = reinterpret_cast<Start>(::dlsym(library, "sconce_cuda_start"));
  if (!start) return "libsconce_cuda.so is of another version";
  const char* why = start(reinterpret_cast<const void*>(&find_backend));
  return why ? why : "";
}

}  // namespace

void load_backend_library(DeviceType type) {
  if (type != DeviceType::cuda || is_loading) return;
  const std::lock_guard lock(mutex);
  if (is_tried) return;
  is_loading = true;
  why_not = load(library_path());
  is_loading = false;
  is_tried = true;
}

const DeviceQueries* find_queries(DeviceType type) {
  if (!find_backend(type)) return nullptr;
  return __atomic_load_n(&queries_of[static_cast<uint8_t>(type)], __ATOMIC_ACQUIRE);
}

void set_queries(DeviceType type, const DeviceQueries* queries) {
  __atomic_store_n(&queries_of[static_cast<uint8_t>(type)], queries, __ATOMIC_RELEASE);
}

std::string why_no_backend(DeviceType type) {
  if (find_backend(type)) return "";
  const std::lock_guard lock(mutex);
  if (type == DeviceType::cuda && !why_not.empty()) return why_not;
  return "this build has no " + std::string(key_name(backend_key(type)));
}

}  // namespace sconce
