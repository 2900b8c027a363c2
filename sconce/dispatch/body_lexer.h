// Splits a body into tokens. Indentation becomes `indent` and `dedent` tokens as in Python; what the first line is
// indented by counts as none, so that a body can stand indented in a table or in C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sconce::body {

enum class TokenKind : uint8_t { word, number, string, format, symbol, newline, indent, dedent, end };

struct Token {
  TokenKind kind;
  std::string text;  // a string without its quotes, escapes undone; of a format string the raw inside
  int line, column;
};

// Throws Error ("line 2, column 8: ...").
std::vector<Token> split(std::string_view text, int first_line = 1, int first_column = 1);
[[noreturn]] void fail_at(int line, int column, std::string_view message);

}  // namespace sconce::body
