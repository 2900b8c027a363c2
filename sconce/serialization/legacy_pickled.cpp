#include "sconce/serialization/legacy_pickled.h"

namespace sconce {
namespace {

using namespace std::string_view_literals;

// LONG1 of 0x1950a86a20f9469cfc6c, which opens every such file.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr size_t kFrameSize = 9;  // FRAME, which protocols 4 and 5 begin with, and the length of the frame

bool is_tar(std::string_view bytes) {
  constexpr size_t kTarMark = 257;
  if (bytes.size() < 512 || bytes.substr(kTarMark, 5) != "ustar") return false;
  const std::string_view first = bytes.substr(0, bytes.find('\0'));
  return first == "sys_info" || first == "pickle" || first == "tensors" || first == "storages";
}

}  // namespace

bool looks_like_legacy_pickled(std::string_view bytes) {
  if (is_tar(bytes)) return true;
  if (bytes.size() < 2 || bytes[0] != '\x80') return false;
  bytes.remove_prefix(2);
  if (bytes.starts_with('\x95') && bytes.size() >= kFrameSize) bytes.remove_prefix(kFrameSize);
  return bytes.starts_with(kMagic);
}

}  // namespace sconce
