// JsonReader: a pull parser for JSON (RFC 8259), of bounded depth. Nothing is built: callers take what they expect,
// value by value, and can keep the place of a value to read it later.
//
//   JsonReader in(text);
//   in.object([&](const std::string& key) {
//     if (key == "id") id = in.string(); else in.unknown(key);
//   });
//   in.end();
//
// Everything throws Failure (invalid_argument), which says where the text is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/base/function_ref.h"

namespace sconce::server {

class JsonReader {
 public:
  static constexpr int kMaxDepth = 64;  // of arrays and objects in each other

  explicit JsonReader(std::string_view text) : text_(text), at_(text.data()), end_(text.data() + text.size()) {}

  // The first character of the next value: one of { [ " t f n - 0...9. Throws when there is none.
  char peek();
  // Calls `member` with each key, which has to take the value; `item` for each element of an array.
  void object(FunctionRef<void(const std::string& key)> member);
  void array(FunctionRef<void()> item);
  std::string string();
  bool boolean();
  void null();
  double number();
  // A number without fraction and exponent. Throws when it does not fit.
  int64_t integer();
  uint64_t unsigned_integer();
  // Passes over a value of any kind, and checks that it is one. Gives its text.
  std::string_view skip();
  // There is nothing more.
  void end();

  // What an object should not have.
  [[noreturn]] void unknown(const std::string& key);
  [[noreturn]] void wrong(std::string_view expected);

 private:
  void blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  void take(char c);
  bool took(char c);
  void word(std::string_view text);
  std::string_view number_text();
  uint32_t hex4();
  void deeper() {
    if (++depth_ > kMaxDepth) wrong("at most 64 arrays and objects in each other");
  }

  std::string_view text_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
};

}  // namespace sconce::server
