#include "server/protocol/json_writer.h"

namespace sconce::server {
namespace {

// How many bytes the character at the beginning has; 0 when it is no UTF-8.
size_t utf8_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto follows = [&](size_t i) { return i < s.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xc2 && c < 0xe0) return follows(1) ? 2 : 0;
  if (c >= 0xe0 && c < 0xf0) {
    if (!follows(1) || !follows(2)) return 0;
    if (c == 0xe0 && byte(1) < 0xa0) return 0;
    if (c == 0xed && byte(1) >= 0xa0) return 0;
    return 3;
  }
  if (c >= 0xf0 && c < 0xf5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (c == 0xf0 && byte(1) < 0x90) return 0;
    if (c == 0xf4 && byte(1) >= 0x90) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

JsonWriter& JsonWriter::text(std::string_view text) {
  comma();
  out_ += '"';
  while (!text.empty()) {
    const char c = text[0];
    const size_t n = utf8_length(text);
    if (n == 0) {
      out_ += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr const char* kDigits = "0123456789abcdef";
      out_ += "\\u00";
      out_ += kDigits[c >> 4 & 15];
      out_ += kDigits[c & 15];
    } else {
      out_ += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  out_ += '"';
  return *this;
}

}  // namespace sconce::server
