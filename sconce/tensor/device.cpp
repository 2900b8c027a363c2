#include "sconce/tensor/device.h"

#include <cstring>

#include "sconce/base/error.h"

namespace sconce {

namespace {

constexpr struct {
  DeviceType type;
  char name[14];  // without an address, which a loader would have to fill in
} kNames[] = {{DeviceType::cpu, "cpu"},
              {DeviceType::cuda, "cuda"},
              {DeviceType::meta, "meta"},
              {DeviceType::privateuse1, "privateuseone"}};

}  // namespace

std::string to_string(Device d) {
  std::string_view text = "unknown";
  for (const auto& [type, name] : kNames) {
    if (type == d.type) text = name;
  }
  return d.index >= 0 ? format_message("{}:{}", {text, d.index}) : std::string(text);
}

Device parse_device(std::string_view text) {
  for (const auto& [type, name] : kNames) {
    const size_t end = std::strlen(name);
    if (!text.starts_with(name)) continue;
    if (text.size() == end) return {type};
    if (text[end] != ':') break;
    const std::string_view digits = text.substr(end + 1);
    int index = digits.empty() || digits.size() > 3 ? -1 : 0;
    for (const char c : digits) index = index < 0 || c < '0' || c > '9' ? -1 : 10 * index + (c - '0');
    SCONCE_CHECK(index >= 0 && index < 128, "invalid device string '{}'", text);
    return {type, static_cast<int8_t>(index)};
  }
  fail("expected one of cpu, cuda, meta as device type, got '{}'", text);
}

std::string_view memory_format_name(MemoryFormat f) {
  switch (f) {
    case MemoryFormat::contiguous:
      return "contiguous_format";
    case MemoryFormat::preserve:
      return "preserve_format";
    case MemoryFormat::channels_last:
      return "channels_last";
    case MemoryFormat::channels_last_3d:
      return "channels_last_3d";
  }
  return "unknown";
}

}  // namespace sconce
