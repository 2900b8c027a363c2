#include "sconce/tensor/memory/mapped_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace sconce {
namespace {

struct Files {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes;  // by the first address
};
// Never destroyed: modules may live until the process ends.
Files& files() {
  static Files& all = *new Files;
  return all;
}

bool is_in_file(uintptr_t begin, uintptr_t end) {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  auto after = all.bytes.upper_bound(begin);
  if (after == all.bytes.begin()) return false;
  --after;
  return end <= after->first + after->second;
}

// Bits of an entry of pagemap (Linux, Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62, kOfFile = uint64_t{1} << 61;

class PageMap {
 public:
  PageMap() : file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (file_ >= 0) ::close(file_);
  }
  PageMap(const PageMap&) = delete;
  // Entries of the pages from `first` on; false where the system does not tell.
  bool read(uintptr_t first, std::vector<uint64_t>& entries) const {
    const size_t bytes = entries.size() * sizeof(uint64_t);
    const auto at = static_cast<off_t>(first * sizeof(uint64_t));
    return file_ >= 0 && ::pread(file_, entries.data(), bytes, at) == static_cast<ssize_t>(bytes);
  }

 private:
  int file_;
};

}  // namespace

void add_mapped_file(const void* begin, size_t bytes) {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  all.bytes[reinterpret_cast<uintptr_t>(begin)] = bytes;
}

void remove_mapped_file(const void* begin) {
  Files& all = files();
  const std::lock_guard lock(all.mutex);
  all.bytes.erase(reinterpret_cast<uintptr_t>(begin));
}

size_t give_back_pages(const void* begin, size_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<uintptr_t>(begin);
  if (!is_in_file(from, from + bytes)) return 0;
  const uintptr_t end = (from + bytes) / page;
  constexpr uintptr_t kAtOnce = 4096;
  const PageMap map;
  std::vector<uint64_t> entries;
  size_t given = 0;
  for (uintptr_t at = (from + page - 1) / page; at < end; at += entries.size()) {
    entries.resize(std::min(end - at, kAtOnce));
    if (!map.read(at, entries)) return given;
    const auto is_clean = [](uint64_t entry) {
      return (entry & (kPresent | kSwapped | kOfFile)) == (kPresent | kOfFile);
    };
    for (size_t i = 0; i < entries.size();) {
      size_t run = i;
      while (run < entries.size() && is_clean(entries[run])) ++run;
      if (run != i && ::madvise(reinterpret_cast<void*>((at + i) * page), (run - i) * page, MADV_DONTNEED) == 0)
        given += (run - i) * page;
      i = std::max(run, i + 1);
    }
  }
  return given;
}

}  // namespace sconce
