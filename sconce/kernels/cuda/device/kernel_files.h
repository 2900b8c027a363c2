// Kernel files: compiled kernels of earlier processes, in a folder on disk.
//
// The folder is SCONCE_KERNEL_CACHE ("off": none), else sconce/kernels in XDG_CACHE_HOME, else ~/.cache/sconce/kernels;
// it holds SCONCE_KERNEL_CACHE_MB megabytes (1024), the files that were used longest ago go first. A file is written
// beside its place and renamed, so it is there as a whole or not at all, however many processes write. It holds its
// whole key and a hash over everything: a damaged or foreign file is removed, and the kernel compiled again. A folder
// that cannot be written is none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sconce::cuda {

class KernelFiles {
 public:
  // An empty folder: nothing is kept.
  KernelFiles(std::string folder, size_t most_bytes);

  // `key` is everything that decides about the image: options of the compiler and the text.
  std::optional<std::string> find(std::string_view key) const;
  void store(std::string_view key, std::string_view image);
  // Removes the files that were used longest ago until the rest fits.
  void prune() const;
  std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
  size_t most_bytes_;
  size_t stored_bytes_ = 0;  // since the folder was last looked through
  bool is_pruned_ = false;
};

// The folder of the environment.
std::string kernel_folder();
size_t kernel_folder_bytes();

}  // namespace sconce::cuda
