// Double mapping: the second device's memory is one range of bytes, mapped once for show and once for
// use. See second_device.h.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace sconce::testing {

class DeviceMemory {
 public:
  static DeviceMemory& instance();

  // First fit, 64-byte aligned; the address is the one that tensors carry. Throws Error when all is taken.
  void* allocate(size_t nbytes);
  void release(void* shown) noexcept;
  // Where the device's own functions find an address that tensors carry; null stays null. Throws Error for any other.
  void* inside(const void* shown) const;

  std::string take_touch();
  size_t allocated();

 private:
  DeviceMemory();

  std::mutex mutex_;
  char *shown_, *used_;
  std::map<size_t, size_t> free_, taken_;  // offset => bytes
};

}  // namespace sconce::testing
