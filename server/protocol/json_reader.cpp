#include "server/protocol/json_reader.h"

#include <charconv>

#include "server/protocol/failure.h"

namespace sconce::server {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

}  // namespace

void JsonReader::wrong(std::string_view expected) {
  const size_t at = static_cast<size_t>(at_ - text_.data());
  if (at_ == end_) refuse("the JSON ends at byte {}: expected {}", at, expected);
  refuse("the JSON is wrong at byte {}: expected {}", at, expected);
}
void JsonReader::unknown(const std::string& key) {
  refuse("the JSON has a member '{}' that is not known here", key.substr(0, 100));
}

char JsonReader::peek() {
  blanks();
  if (at_ == end_) wrong("a value");
  if (*at_ == ']' || *at_ == '}' || *at_ == ',' || *at_ == ':') wrong("a value");
  return *at_;
}
void JsonReader::take(char c) {
  blanks();
  if (at_ == end_ || *at_ != c) wrong(std::string("'") + c + "'");
  ++at_;
}
bool JsonReader::took(char c) {
  blanks();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}
void JsonReader::word(std::string_view text) {
  if (static_cast<size_t>(end_ - at_) < text.size() || std::string_view(at_, text.size()) != text) wrong(text);
  at_ += text.size();
}

void JsonReader::object(FunctionRef<void(const std::string&)> member) {
  take('{');
  deeper();
  if (!took('}')) {
    do {
      blanks();
      const std::string key = string();
      take(':');
      peek();
      member(key);
    } while (took(','));
    take('}');
  }
  --depth_;
}

void JsonReader::array(FunctionRef<void()> item) {
  take('[');
  deeper();
  if (!took(']')) {
    do {
      peek();
      item();
    } while (took(','));
    take(']');
  }
  --depth_;
}

uint32_t JsonReader::hex4() {
  uint32_t v = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    if (at_ == end_) wrong("four hexadecimal digits");
    const char c = *at_;
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) wrong("four hexadecimal digits");
    v = v << 4 | static_cast<uint32_t>(digit);
  }
  return v;
}

std::string JsonReader::string() {
  if (at_ == end_ || *at_ != '"') wrong("a string");
  ++at_;
  std::string out;
  for (;;) {
    const char* start = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
    out.append(start, at_);
    if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) wrong("the end of a string");
    if (*at_++ == '"') return out;
    if (at_ == end_) wrong("an escaped character");
    switch (*at_++) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case '/':
        out += '/';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        uint32_t c = hex4();
        if (c >= 0xd800 && c < 0xdc00) {
          if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') wrong("the second half of a surrogate pair");
          at_ += 2;
          const uint32_t low = hex4();
          if (low < 0xdc00 || low > 0xdfff) wrong("the second half of a surrogate pair");
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        } else if (c >= 0xdc00 && c < 0xe000) {
          wrong("no second half of a surrogate pair alone");
        }
        append_utf8(out, c);
        break;
      }
      default:
        --at_;
        wrong("an escaped character");
    }
  }
}

bool JsonReader::boolean() {
  const char c = peek();
  if (c == 't') return word("true"), true;
  if (c == 'f') return word("false"), false;
  wrong("true or false");
}
void JsonReader::null() {
  if (peek() != 'n') wrong("null");
  word("null");
}

std::string_view JsonReader::number_text() {
  blanks();
  const char* start = at_;
  if (at_ != end_ && *at_ == '-') ++at_;
  if (at_ == end_ || !is_digit(*at_)) wrong("a number");
  if (*at_ == '0') {
    ++at_;
  } else {
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  if (at_ != end_ && *at_ == '.') {
    ++at_;
    if (at_ == end_ || !is_digit(*at_)) wrong("a digit");
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (at_ == end_ || !is_digit(*at_)) wrong("a digit");
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  return {start, static_cast<size_t>(at_ - start)};
}

double JsonReader::number() {
  const std::string_view text = number_text();
  double v = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), v);
  if (done.ec != std::errc()) wrong("a number that a double can hold");
  return v;
}
int64_t JsonReader::integer() {
  const std::string_view text = number_text();
  int64_t v = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), v);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) wrong("an integer of 64 bits");
  return v;
}
uint64_t JsonReader::unsigned_integer() {
  const std::string_view text = number_text();
  uint64_t v = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), v);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) wrong("an integer from 0 that has 64 bits");
  return v;
}

std::string_view JsonReader::skip() {
  const char c = peek();
  const char* start = at_;
  switch (c) {
    case '{':
      object([&](const std::string&) { skip(); });
      break;
    case '[':
      array([&] { skip(); });
      break;
    case '"':
      string();
      break;
    case 't':
    case 'f':
      boolean();
      break;
    case 'n':
      null();
      break;
    default:
      number_text();
  }
  return {start, static_cast<size_t>(at_ - start)};
}

void JsonReader::end() {
  blanks();
  if (at_ != end_) wrong("the end");
}

}  // namespace sconce::server
