#include "sconce/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sconce::syntax {
namespace {

using Kind = TokenKind;
using Word = std::pair<std::string_view, Kind>;

// Sorted, to be searched.
constexpr Word kKeywords[] = {
    {"False", Kind::false_},   {"None", Kind::none},       {"NoneType", Kind::none_type},
    {"True", Kind::true_},     {"and", Kind::and_},        {"as", Kind::as},
    {"assert", Kind::assert_}, {"async", Kind::reserved},  {"await", Kind::reserved},
    {"break", Kind::break_},   {"class", Kind::class_},    {"continue", Kind::continue_},
    {"def", Kind::def},        {"del", Kind::del},         {"elif", Kind::elif},
    {"else", Kind::else_},     {"except", Kind::reserved}, {"finally", Kind::reserved},
    {"for", Kind::for_},       {"from", Kind::reserved},   {"global", Kind::global},
    {"if", Kind::if_},         {"import", Kind::import},   {"in", Kind::in},
    {"is", Kind::is},          {"lambda", Kind::reserved}, {"nonlocal", Kind::reserved},
    {"not", Kind::not_},       {"or", Kind::or_},          {"pass", Kind::pass},
    {"raise", Kind::raise},    {"return", Kind::return_},  {"try", Kind::reserved},
    {"while", Kind::while_},   {"with", Kind::with},       {"yield", Kind::reserved},
};
constexpr size_t kLongestKeyword = 8;

// By their first character, longer ones first: the first that fits is the longest.
constexpr Word kPunctuation[] = {
    {"!=", Kind::ne},       {"%=", Kind::percent_eq}, {"%", Kind::percent},  {"&=", Kind::amp_eq},
    {"&", Kind::amp},       {"(", Kind::lparen},      {")", Kind::rparen},   {"**=", Kind::star2_eq},
    {"**", Kind::star2},    {"*=", Kind::star_eq},    {"*", Kind::star},     {"+=", Kind::plus_eq},
    {"+", Kind::plus},      {",", Kind::comma},       {"->", Kind::arrow},   {"-=", Kind::minus_eq},
    {"-", Kind::minus},     {"...", Kind::ellipsis},  {".", Kind::dot},      {"//=", Kind::slash2_eq},
    {"//", Kind::slash2},   {"/=", Kind::slash_eq},   {"/", Kind::slash},    {":=", Kind::walrus},
    {":", Kind::colon},     {";", Kind::semicolon},   {"<<=", Kind::shl_eq}, {"<<", Kind::shl},
    {"<=", Kind::le},       {"<", Kind::lt},          {"==", Kind::eq},      {"=", Kind::assign},
    {">>=", Kind::shr_eq},  {">>", Kind::shr},        {">=", Kind::ge},      {">", Kind::gt},
    {"@=", Kind::at_eq},    {"@", Kind::at},          {"[", Kind::lbracket}, {"]", Kind::rbracket},
    {"^=", Kind::caret_eq}, {"^", Kind::caret},       {"{", Kind::lbrace},   {"|=", Kind::pipe_eq},
    {"|", Kind::pipe},      {"}", Kind::rbrace},      {"~", Kind::tilde},
};

// Where in kPunctuation a character's tokens start; the end of the table for one that starts none.
constexpr auto kFirstPunctuation = [] {
  std::array<uint8_t, 128> out{};
  out.fill(std::size(kPunctuation));
  for (size_t i = std::size(kPunctuation); i-- > 0;) out[static_cast<unsigned char>(kPunctuation[i].first[0])] = i;
  return out;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  Lexer(const Source& source, uint32_t begin, uint32_t end, Dialect dialect, bool bracketed)
      : text_(std::string_view(source.text()).substr(0, end)),
        pos_(begin),
        python_(dialect == Dialect::python),
        brackets_(bracketed ? 1 : 0),
        bracketed_(bracketed) {}

  Tokens run() {
    if (pos_ == 0 && text_.starts_with("\xef\xbb\xbf")) pos_ = 3;
    if (bracketed_) {
      skip_blanks();
    } else {
      indents_.push_back(skip_lines().first);
    }
    while (step()) {
    }
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool at_end() const { return pos_ >= text_.size(); }
  bool at_line_end() const { return peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }

  void add(Kind kind, size_t begin, size_t end) {
    out_.tokens.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
  bool stop(std::string error, size_t begin, size_t end) {
    out_.error = std::move(error);
    add(Kind::invalid, begin, end);
    return false;
  }

  // Skips blanks, comments and joined lines up to a token, a line end that counts, or the end.
  void skip_blanks() {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\f') {
        ++pos_;
      } else if (c == '#') {
        skip_comment();
      } else if (c == '\\' && peek(1) == '\n') {
        pos_ += 2;
      } else if (c == '\\' && peek(1) == '\r' && peek(2) == '\n') {
        pos_ += 3;
      } else if (at_line_end() && brackets_ > 0) {
        pos_ += c == '\r' ? 2 : 1;
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    const size_t begin = pos_;
    pos_ = std::min(text_.find('\n', pos_), text_.size());
    std::string_view comment = text_.substr(begin + 1, pos_ - begin - 1);
    const size_t word = comment.find_first_not_of(" \t");
    if (word == comment.npos || !comment.substr(word).starts_with("type:")) return;
    comment.remove_prefix(word + 5);
    const size_t from = comment.find_first_not_of(" \t");
    if (from == comment.npos || comment.substr(from).starts_with("ignore")) return;
    // A second comment on the line ends the type.
    const size_t to = std::min(comment.find('#'), comment.size());
    const size_t start = pos_ - comment.size();
    out_.type_comments.push_back({static_cast<uint32_t>(start + from), static_cast<uint32_t>(start + to),
                                  static_cast<uint32_t>(out_.tokens.size())});
  }

  // From the start of a line to the first token of it or of a later line: its indentation and where that line starts.
  std::pair<size_t, size_t> skip_lines() {
    while (true) {
      const size_t start = pos_;
      size_t width = 0;
      for (; peek() == ' ' || peek() == '\t' || peek() == '\f'; ++pos_)
        width = peek() == ' ' ? width + 1 : peek() == '\t' ? (width / 8 + 1) * 8 : 0;
      if (peek() == '#') skip_comment();
      if (at_end()) return {width, start};
      if (!at_line_end()) return {width, start};
      pos_ += peek() == '\r' ? 2 : 1;
    }
  }

  // One token, or those of a line end. False at the end.
  bool step() {
    const size_t before = pos_;
    skip_blanks();
    if (at_end()) return finish();
    if (at_line_end()) {
      pos_ += peek() == '\r' ? 2 : 1;
      return line_end();
    }
    const size_t begin = pos_;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      skip_number();
      add(Kind::number, begin, pos_);
      return true;
    }
    if (const size_t prefix = string_prefix(); prefix != std::string_view::npos) {
      if (skip_string(prefix)) {
        add(Kind::string, begin, pos_);
        return true;
      }
      return invalid(before, begin);
    }
    if (is_letter(c) || (python_ && (c & 0x80))) {
      while (is_letter(peek()) || is_digit(peek()) || (python_ && (peek() & 0x80))) ++pos_;
      add(word_kind(text_.substr(begin, pos_ - begin)), begin, pos_);
      return true;
    }
    const size_t first = (c & 0x80) ? std::size(kPunctuation) : kFirstPunctuation[static_cast<unsigned char>(c)];
    for (size_t i = first; i < std::size(kPunctuation) && kPunctuation[i].first[0] == c; ++i) {
      const auto& [text, kind] = kPunctuation[i];
      if (!text_.substr(pos_).starts_with(text)) continue;
      if (!python_ && (kind == Kind::walrus || kind == Kind::slash2_eq || kind == Kind::at_eq)) continue;
      pos_ += text.size();
      if (kind == Kind::lparen || kind == Kind::lbracket || kind == Kind::lbrace) ++brackets_;
      if ((kind == Kind::rparen || kind == Kind::rbracket || kind == Kind::rbrace) && brackets_ > (bracketed_ ? 1 : 0))
        --brackets_;
      add(kind, begin, pos_);
      return true;
    }
    return invalid(before, begin);
  }
  // PyTorch's parser names the character that follows the last token, a blank perhaps.
  bool invalid(size_t before, size_t begin) {
    const char found = text_[python_ ? begin : before];
    return stop("expected a valid token but found '" + std::string(1, found) + "' here", begin, begin + 1);
  }

  Kind word_kind(std::string_view word) const {
    if (word.size() > kLongestKeyword) return Kind::ident;
    const auto* found = std::lower_bound(std::begin(kKeywords), std::end(kKeywords), word,
                                         [](const Word& k, std::string_view w) { return k.first < w; });
    if (found == std::end(kKeywords) || found->first != word) return Kind::ident;
    if (found->second == (python_ ? Kind::none_type : Kind::reserved)) return Kind::ident;
    return found->second;
  }

  void skip_number() {
    const auto digits = [this](auto is) {
      while (is(peek()) || (peek() == '_' && is(peek(1)))) ++pos_;
    };
    if (peek() == '0' &&
        (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'o' || peek(1) == 'O' || peek(1) == 'b' || peek(1) == 'B')) {
      pos_ += 2;
      digits(is_hex);
      return;
    }
    digits(is_digit);
    if (peek() == '.') {
      ++pos_;
      digits(is_digit);
    }
    if (peek() == 'e' || peek() == 'E') {
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        pos_ += 1 + sign;
        digits(is_digit);
      }
    }
    if (peek() == 'j' || peek() == 'J') ++pos_;
  }

  // The length of a string's prefix (0 without one), npos where no string starts.
  size_t string_prefix() const {
    for (size_t n = 0; n <= (python_ ? 2 : 0); ++n) {
      const char c = peek(n);
      if (c == '"' || c == '\'') return n;
      if (std::string_view("rRbBfFuU").find(c) == std::string_view::npos || c == '\0') break;
    }
    return std::string_view::npos;
  }
  bool skip_string(size_t prefix) {
    const char quote = peek(prefix);
    const bool triple = peek(prefix + 1) == quote && peek(prefix + 2) == quote;
    pos_ += prefix + (triple ? 3 : 1);
    while (!at_end()) {
      const char c = peek();
      if (c == '\\') {
        pos_ += 2;
      } else if (c == '\n' && !triple) {
        return false;
      } else if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        pos_ += triple ? 3 : 1;
        return pos_ <= text_.size();
      } else {
        ++pos_;
      }
    }
    return false;
  }

  bool line_end() {
    const auto [width, start] = skip_lines();
    return indentation(at_end() ? indents_.front() : width, start);
  }
  // The end: the statement is ended, all blocks are closed.
  bool finish() {
    if (!bracketed_ && brackets_ == 0 && !out_.tokens.empty()) {
      const Kind last = out_.tokens.back().kind;
      if (last != Kind::newline && last != Kind::dedent) indentation(indents_.front(), text_.size());
    }
    add(Kind::eof, text_.size(), text_.size());
    return false;
  }
  bool indentation(size_t width, size_t start) {
    if (width > indents_.back()) {
      indents_.push_back(width);
      add(Kind::indent, start, pos_);
      return true;
    }
    add(Kind::newline, start, pos_);
    while (!indents_.empty() && indents_.back() > width) {
      indents_.pop_back();
      add(Kind::dedent, start, pos_);
    }
    if (!indents_.empty() && indents_.back() == width) return true;
    return stop("invalid indent level " + std::to_string(width), start, pos_);
  }

  const std::string_view text_;
  size_t pos_;
  const bool python_;
  int brackets_;
  const bool bracketed_;
  std::vector<size_t> indents_;
  Tokens out_;
};

}  // namespace

std::string_view kind_text(TokenKind kind) {
  switch (kind) {
    case Kind::eof:
      return "eof";
    case Kind::newline:
      return "newline";
    case Kind::indent:
      return "indent";
    case Kind::dedent:
      return "dedent";
    case Kind::ident:
      return "ident";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string_literal";
    case Kind::invalid:
      return "invalid text";
    case Kind::reserved:
      return "keyword";
    default:
      break;
  }
  for (const auto& [text, k] : kKeywords) {
    if (k == kind) return text;
  }
  for (const auto& [text, k] : kPunctuation) {
    if (k == kind) return text;
  }
  return "token";
}

Tokens lex(const Source& source, uint32_t begin, uint32_t end, Dialect dialect, bool bracketed) {
  return Lexer(source, begin, end, dialect, bracketed).run();
}

}  // namespace sconce::syntax
