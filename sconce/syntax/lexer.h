// Lexer: splits program text into tokens. Indentation becomes `indent` and `dedent` tokens as in Python; the
// indentation of the first line counts as none. Line ends inside of brackets, comments and blank lines leave no token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/syntax/parser.h"

namespace sconce::syntax {

enum class TokenKind : uint8_t {
  eof,
  newline,
  indent,
  dedent,
  ident,
  number,
  string,
  invalid,   // the text cannot be split from here on: Tokens::error says why
  reserved,  // a word that Python reserves, PyTorch's parser does not: lambda, try, from, ...
  // keywords
  def,
  if_,
  elif,
  else_,
  while_,
  for_,
  in,
  not_,
  and_,
  or_,
  is,
  return_,
  raise,
  assert_,
  true_,
  false_,
  none,
  none_type,
  break_,
  continue_,
  del,
  pass,
  class_,
  import,
  with,
  as,
  global,
  // punctuation
  lparen,
  rparen,
  lbracket,
  rbracket,
  lbrace,
  rbrace,
  comma,
  colon,
  semicolon,
  dot,
  ellipsis,
  arrow,
  walrus,
  assign,
  plus,
  minus,
  star,
  slash,
  slash2,
  percent,
  star2,
  at,
  amp,
  pipe,
  caret,
  tilde,
  shl,
  shr,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  plus_eq,
  minus_eq,
  star_eq,
  slash_eq,
  slash2_eq,
  percent_eq,
  star2_eq,
  at_eq,
  amp_eq,
  pipe_eq,
  caret_eq,
  shl_eq,
  shr_eq,
};

// As messages name it: "ident", "newline", "def", "(".
std::string_view kind_text(TokenKind kind);

// A newline, indent or dedent stands where the next line with a token is indented: [line start, first token).
struct Token {
  TokenKind kind;
  uint32_t begin, end;
};

// The text behind "# type:", and the index of the token that follows it.
struct TypeComment {
  uint32_t begin, end;
  uint32_t token;
};

struct Tokens {
  std::vector<Token> tokens;  // the last one is eof or invalid
  std::vector<TypeComment> type_comments;
  std::string error;
};

// The tokens of bytes [begin, end) of a source. `bracketed`: the text stands inside of brackets, so lines do not count.
Tokens lex(const Source& source, uint32_t begin, uint32_t end, Dialect dialect, bool bracketed);

}  // namespace sconce::syntax
