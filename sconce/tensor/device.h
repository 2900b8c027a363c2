// Device, Layout and MemoryFormat, numbered as in PyTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// privateuse1 is PyTorch's type for a device whose code lies elsewhere; its name in texts is "privateuseone".
enum class DeviceType : int8_t { cpu = 0, cuda = 1, meta = 14, privateuse1 = 20 };
inline constexpr int kDeviceTypes = 21;

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current one
  constexpr Device() = default;
  constexpr Device(DeviceType t, int8_t i = -1) : type(t), index(i) {}
  friend constexpr bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
};

SCONCE_API std::string to_string(Device d);             // "cpu", "cuda:0"
SCONCE_API Device parse_device(std::string_view text);  // throws Error for anything else

enum class Layout : int8_t {
  strided = 0,
  sparse = 1,
  sparse_csr = 2,
  mkldnn = 3,
  sparse_csc = 4,
  sparse_bsr = 5,
  sparse_bsc = 6
};
enum class MemoryFormat : int8_t { contiguous = 0, preserve = 1, channels_last = 2, channels_last_3d = 3 };

SCONCE_API std::string_view memory_format_name(MemoryFormat f);

}  // namespace sconce
