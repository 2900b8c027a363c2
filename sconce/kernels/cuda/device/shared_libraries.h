// Shared libraries of CUDA that are opened when first needed: NVRTC, cuBLASLt, cuDNN, cuFFT.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sconce/base/once.h"

namespace sconce::cuda {

// The first of the names that can be opened: in the folders of SCONCE_CUDA_LIBRARIES (separated by colons: wheels of
// pip lie where the system does not look), else where the system looks. Null when there is none.
void* open_shared_library(std::span<const char* const> names);
// "libnvrtc.so.13, libnvrtc.so.12"
std::string joined_names(std::span<const char* const> names);

// A library with functions that are looked for by name; the first that is missing is remembered.
class SharedLibrary {
 public:
  explicit SharedLibrary(std::span<const char* const> names);
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(symbol(name));
  }
  // Empty: it is there, with all functions.
  const std::string& why() const { return why_; }

 private:
  void* symbol(const char* name);
  void* library_;
  std::string name_, why_;
};

void log_library(const char* title, size_t version, const char* without, const std::string& why);

// A library's functions, opened once: `Table` is a struct of pointers with `void find_in(SharedLibrary&)`. What was
// found, or what is done without it, is said once in the log (SCONCE_LOGS=kernels).
template <class Table>
class LibraryTable {
 public:
  LibraryTable(std::initializer_list<const char*> names, const char* title, const char* without)
      : names_(names), title_(title), without_(without) {}
  // Null: there is none, or an older one.
  const Table* find() {
    once_([this] {
      SharedLibrary library(names_);
      table_.find_in(library);
      why_ = library.why();
      log_library(title_, why_.empty() ? table_.version() : 0, why_.empty() ? "" : without_, why_);
    });
    return why_.empty() ? &table_ : nullptr;
  }
  const std::string& why() {
    find();
    return why_;
  }

 private:
  const std::vector<const char*> names_;
  const char *const title_, *const without_;
  Once once_;
  Table table_{};
  std::string why_;
};
}  // namespace sconce::cuda
