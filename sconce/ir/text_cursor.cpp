#include "sconce/ir/text_cursor.h"

#include <algorithm>

namespace sconce::ir {
namespace {
constexpr int kMaxDepth = 200;
bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
}  // namespace

void TextCursor::skip_spaces() {
  while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++at_;
}

void TextCursor::skip_lines() {
  while (true) {
    skip_spaces();
    if (peek() == '#') line();
    if (peek() != '\n') return;
    ++at_;
  }
}

bool TextCursor::accept(char c) {
  skip_spaces();
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool TextCursor::accept(std::string_view word) {
  skip_spaces();
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void TextCursor::expect(char c) {
  if (!accept(c)) expected("'" + std::string(1, c) + "'");
}

void TextCursor::expect(std::string_view word) {
  if (!accept(word)) expected("'" + std::string(word) + "'");
}

std::string_view TextCursor::word(std::string_view also) {
  const size_t from = at_;
  while (!at_end() && (is_letter_or_digit(peek()) || also.find(peek()) != also.npos)) ++at_;
  return text_.substr(from, at_ - from);
}

std::string_view TextCursor::line() {
  const size_t from = at_;
  at_ = std::min(text_.find('\n', at_), text_.size());
  return text_.substr(from, at_ - from);
}

void TextCursor::end_of_line() {
  skip_spaces();
  if (!at_end() && peek() != '\n') expected("the end of the line");
}

void TextCursor::expected(std::string_view what) const {
  const std::string got = at_end()         ? "the end of the text"
                          : peek() == '\n' ? "the end of the line"
                                           : "'" + std::string(1, peek()) + "'";
  fail("expected {}, got {}", what, got);
}

void TextCursor::fail_here(const std::string& message) const {
  const std::string_view before = text_.substr(0, at_);
  const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t column = at_ - (before.rfind('\n') + 1);  // npos + 1 is 0
  fail_as(ErrorKind::value, "graph text, line {}, column {}: {}", line + 1, column + 1, message);
}

TextCursor::Nest::Nest(TextCursor& in) : in_(in) {
  if (in.depth_ == kMaxDepth) in.fail("nested more than {} times", kMaxDepth);
  ++in.depth_;
}

}  // namespace sconce::ir
