// SharedMemory: the system shared memory extension. Regions of POSIX shared memory that clients have registered by
// name, from which inputs are read and into which outputs are written.
//
// Note [Memory of others]
// A client may change a region, or cut it short, while the server uses it. So regions are not mapped: they are read and
// written as files (pread, pwrite), which fail where a mapping would end the process, and inputs are copied, so that
// what was checked is what is used.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sconce::server {

struct SharedRegion {
  std::string name, key;
  uint64_t offset = 0, byte_size = 0;
};

class SharedMemory {
 public:
  explicit SharedMemory(bool allowed) : allowed_(allowed) {}
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;

  // Everything throws Failure. A name that is taken is refused.
  void add(const SharedRegion& region);
  void remove(const std::string& name);  // not_found, when there is none
  void remove_all();
  // All, or the one of this name.
  std::vector<SharedRegion> list(const std::string& name = {}) const;

  // `offset` counts from the region's own.
  std::string read(const std::string& name, uint64_t offset, uint64_t size) const;
  void write(const std::string& name, uint64_t offset, uint64_t room, std::string_view bytes) const;

 private:
  struct Entry {
    SharedRegion region;
    int file;
  };
  void check_allowed() const;
  const Entry& find(const std::string& name, uint64_t offset, uint64_t size) const;

  const bool allowed_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> regions_;
};

}  // namespace sconce::server
