#include "server/protocol/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "server/protocol/failure.h"

namespace sconce::server {
namespace {

constexpr size_t kMaxRegions = 1024;

}  // namespace

SharedMemory::~SharedMemory() { remove_all(); }

void SharedMemory::check_allowed() const {
  if (!allowed_) refuse(Code::forbidden, "shared memory is for clients of this machine: --shared-memory allows it");
}

void SharedMemory::add(const SharedRegion& region) {
  check_allowed();
  if (region.name.empty() || region.name.size() > 255) refuse("a region's name has 1 to 255 characters");
  const std::string key = region.key.starts_with('/') ? region.key : "/" + region.key;
  if (key.size() < 2 || key.size() > 255 || key.find('/', 1) != key.npos || key.find('\0') != key.npos)
    refuse("shared memory region '{}': '{}' is no key of shared memory", region.name, region.key.substr(0, 100));
  if (region.byte_size == 0 || region.offset > UINT64_MAX / 2 || region.byte_size > UINT64_MAX / 2)
    refuse("shared memory region '{}': {} bytes at {} are no region", region.name, region.byte_size, region.offset);
  const std::scoped_lock lock(mutex_);
  if (regions_.contains(region.name)) refuse("shared memory region '{}' is registered already", region.name);
  if (regions_.size() >= kMaxRegions)
    refuse(Code::exhausted, "there are {} shared memory regions already", kMaxRegions);
  const int file = shm_open(key.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) refuse("shared memory region '{}': '{}' cannot be opened: {}", region.name, key, std::strerror(errno));
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) ||
      region.offset + region.byte_size > static_cast<uint64_t>(info.st_size)) {
    close(file);
    refuse("shared memory region '{}': '{}' has {} bytes, too few for {} at {}", region.name, key, info.st_size,
           region.byte_size, region.offset);
  }
  regions_.emplace(region.name, Entry{region, file});
}

void SharedMemory::remove(const std::string& name) {
  check_allowed();
  const std::scoped_lock lock(mutex_);
  const auto at = regions_.find(name);
  if (at == regions_.end()) return;  // as Triton: to remove what is not there is no error
  close(at->second.file);
  regions_.erase(at);
}

void SharedMemory::remove_all() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [name, entry] : regions_) close(entry.file);
  regions_.clear();
}

std::vector<SharedRegion> SharedMemory::list(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  std::vector<SharedRegion> out;
  for (const auto& [key, entry] : regions_) {
    if (name.empty() || name == key) out.push_back(entry.region);
  }
  if (!name.empty() && out.empty())
    refuse(Code::not_found, "there is no shared memory region '{}'", name.substr(0, 100));
  return out;
}

const SharedMemory::Entry& SharedMemory::find(const std::string& name, uint64_t offset, uint64_t size) const {
  check_allowed();
  const auto at = regions_.find(name);
  if (at == regions_.end()) refuse("there is no shared memory region '{}'", name.substr(0, 100));
  const uint64_t there = at->second.region.byte_size;
  if (offset > there || size > there - offset)
    refuse("shared memory region '{}' has {} bytes, too few for {} at {}", name, there, size, offset);
  return at->second;
}

std::string SharedMemory::read(const std::string& name, uint64_t offset, uint64_t size) const {
  const std::scoped_lock lock(mutex_);  // nobody closes the file meanwhile
  const Entry& entry = find(name, offset, size);
  std::string out(size, '\0');
  for (uint64_t done = 0; done < size;) {
    const ssize_t n =
        pread(entry.file, out.data() + done, size - done, static_cast<off_t>(entry.region.offset + offset + done));
    if (n <= 0) refuse("shared memory region '{}' cannot be read: {}", name, n == 0 ? "it ends" : std::strerror(errno));
    done += static_cast<uint64_t>(n);
  }
  return out;
}

void SharedMemory::write(const std::string& name, uint64_t offset, uint64_t room, std::string_view bytes) const {
  if (bytes.size() > room)
    refuse("an output of {} bytes does not fit into {} of region '{}'", bytes.size(), room, name);
  const std::scoped_lock lock(mutex_);
  const Entry& entry = find(name, offset, room);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = pwrite(entry.file, bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(entry.region.offset + offset + done));
    if (n <= 0) refuse("shared memory region '{}' cannot be written: {}", name, std::strerror(errno));
    done += static_cast<size_t>(n);
  }
}

}  // namespace sconce::server
