// TextCursor: a scanner, that is a position in a text that is being read, and errors that name it by line and column.
#pragma once

#include <string>
#include <string_view>

#include "sconce/base/error.h"

namespace sconce::ir {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  void set_at(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() { return at_end() ? '\0' : text_[at_++]; }

  // Within a line, and over lines, blank lines and lines of comment only ("# ...").
  void skip_spaces();
  void skip_lines();
  // After spaces.
  bool accept(char c);
  bool accept(std::string_view word);
  void expect(char c);
  void expect(std::string_view word);
  // The longest run of letters, digits and the characters of `also`; may be empty.
  std::string_view word(std::string_view also = "_");
  // The rest of the line, without its newline, which is not taken.
  std::string_view line();
  void end_of_line();

  // Throw Error (value): "graph text, line 3, column 7: expected ')', got 'x'".
  [[noreturn]] void expected(std::string_view what) const;
  template <class... Args>
  [[noreturn]] void fail(std::string_view format, const Args&... args) const {
    fail_here(format_message(format, {ErrorArg(args)...}));
  }

  // Counts nesting for the time of its life; refuses more than 200 levels.
  class Nest {
   public:
    explicit Nest(TextCursor& in);
    ~Nest() { --in_.depth_; }
    Nest(const Nest&) = delete;

   private:
    TextCursor& in_;
  };

 private:
  [[noreturn]] void fail_here(const std::string& message) const;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace sconce::ir
