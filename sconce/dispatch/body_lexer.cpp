#include "sconce/dispatch/body_lexer.h"

#include <cstdint>

#include "sconce/base/error.h"

namespace sconce::body {
namespace {

constexpr std::string_view kSymbols[] = {"**=", "//=", "<<=", ">>=", "**", "//", "<<", ">>", "<=", ">=", "==",
                                         "!=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", "+",
                                         "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
                                         "=",   "(",   ")",   "[",   "]",  ",",  ":",  ".",  ";"};

bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, int line, int column) : text_(text), line_(line), column_(column) {}

  std::vector<Token> run() {
    bool line_start = true;
    while (true) {
      if (line_start && depth_ == 0) {
        if (!indentation()) break;
        line_start = false;
      }
      skip_blanks();
      if (at_ == text_.size()) break;
      const char c = text_[at_];
      if (c == '\n') {
        if (depth_ == 0) {
          add(TokenKind::newline, "");
          line_start = true;
        }
        advance(1);
      } else if (c == '\\' && peek(1) == '\n') {
        advance(2);
      } else {
        token();
      }
    }
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::newline) add(TokenKind::newline, "");
    for (size_t i = 1; i < indents_.size(); ++i) add(TokenKind::dedent, "");
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void advance(size_t count) {
    for (; count > 0; --count, ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        column_ = 1;
      } else {
        ++column_;
      }
    }
  }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_, column_}); }

  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || (depth_ > 0 && text_[at_] == '\n'))) {
      advance(1);
    }
    if (peek(0) == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') advance(1);
      if (depth_ > 0) skip_blanks();
    }
  }

  // At the start of a line: skips empty ones and compares the indentation. False at the end of the text.
  bool indentation() {
    while (true) {
      int width = 0;
      while (peek(0) == ' ' || peek(0) == '\t') {
        if (peek(0) == '\t') fail_at(line_, column_, "indent with spaces, not with tabs");
        ++width;
        advance(1);
      }
      skip_blanks();
      if (at_ == text_.size()) return false;
      if (text_[at_] == '\n') {
        advance(1);
        continue;
      }
      if (indents_.empty()) indents_.push_back(width);
      if (width > indents_.back()) {
        indents_.push_back(width);
        add(TokenKind::indent, "");
      }
      while (width < indents_.back()) {
        indents_.pop_back();
        if (indents_.empty() || width > indents_.back()) fail_at(line_, column_, "indented unlike any line above");
        add(TokenKind::dedent, "");
      }
      return true;
    }
  }

  void token() {
    const char c = text_[at_];
    const bool formatted = c == 'f' && (peek(1) == '"' || peek(1) == '\'');
    if (c == '"' || c == '\'' || formatted) {
      string(formatted);
    } else if (is_letter(c)) {
      size_t n = 1;
      while (is_letter(peek(n)) || is_digit(peek(n))) ++n;
      add(TokenKind::word, std::string(text_.substr(at_, n)));
      advance(n);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else {
      symbol();
    }
  }

  void number() {
    size_t n = 0;
    while (is_digit(peek(n)) || peek(n) == '_') ++n;
    if (peek(n) == '.') {
      ++n;
      while (is_digit(peek(n))) ++n;
    }
    if (peek(n) == 'e' || peek(n) == 'E') {
      size_t e = n + 1;
      if (peek(e) == '+' || peek(e) == '-') ++e;
      if (is_digit(peek(e))) {
        while (is_digit(peek(e))) ++e;
        n = e;
      }
    }
    if (peek(n) == 'j') ++n;
    if (is_letter(peek(n))) fail_at(line_, column_ + static_cast<int>(n), "a number cannot be followed by a letter");
    std::string text(text_.substr(at_, n));
    std::erase(text, '_');
    add(TokenKind::number, std::move(text));
    advance(n);
  }

  void string(bool formatted) {
    const int line = line_, column = column_;
    advance(formatted);
    const char quote = text_[at_];
    advance(1);
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\n') fail_at(line, column, "the string does not end on its line");
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        advance(1);
        c = text_[at_];
        switch (c) {
          case 'n':
            c = '\n';
            break;
          case 't':
            c = '\t';
            break;
          case '\\':
          case '\'':
          case '"':
            break;
          default:
            fail_at(line_, column_, format_message("unknown escape '\\{}'", {std::string_view(&c, 1)}));
        }
      }
      out += c;
      advance(1);
    }
    if (at_ == text_.size()) fail_at(line, column, "the string does not end");
    advance(1);
    tokens_.push_back({formatted ? TokenKind::format : TokenKind::string, std::move(out), line, column});
  }

  void symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (!text_.substr(at_).starts_with(symbol)) continue;
      if (symbol == "(" || symbol == "[") ++depth_;
      if ((symbol == ")" || symbol == "]") && depth_ > 0) --depth_;
      add(TokenKind::symbol, std::string(symbol));
      advance(symbol.size());
      return;
    }
    fail_at(line_, column_, format_message("'{}' is not part of the language", {text_.substr(at_, 1)}));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_, column_;
  int depth_ = 0;  // of open brackets: newlines inside do not count
  std::vector<int> indents_;
  std::vector<Token> tokens_;
};

}  // namespace

void fail_at(int line, int column, std::string_view message) {
  fail_as(ErrorKind::value, "line {}, column {}: {}", line, column, message);
}

std::vector<Token> split(std::string_view text, int first_line, int first_column) {
  return Lexer(text, first_line, first_column).run();
}

}  // namespace sconce::body
