// JsonWriter: writes JSON text, in order, with the commas where they belong.
//
//   JsonWriter out;
//   out.open('{').key("id").text("a").key("shape").open('[').number(1).number(2).close(']').close('}');
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace sconce::server {

class JsonWriter {
 public:
  JsonWriter& open(char bracket) {
    comma();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& key(std::string_view name) {
    text(name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  // Bytes that are no UTF-8 are replaced by U+FFFD.
  JsonWriter& text(std::string_view text);
  // Finite.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  JsonWriter& number(T v) {
    comma();
    char digits[40];
    const auto done = std::to_chars(digits, digits + sizeof digits, v);
    out_.append(digits, done.ptr);
    return *this;
  }
  JsonWriter& boolean(bool v) {
    comma();
    out_ += v ? "true" : "false";
    return *this;
  }
  // A value that is JSON already.
  JsonWriter& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }

  const std::string& str() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string out_;
  bool first_ = true;
};

}  // namespace sconce::server
