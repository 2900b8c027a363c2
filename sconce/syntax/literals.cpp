// Literals: numbers, strings with their escapes, f-strings.
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "sconce/base/numbers.h"
#include "sconce/syntax/parser_state.h"

namespace sconce::syntax {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool has(std::string_view prefix, char lower, char upper) {
  return prefix.find(lower) != prefix.npos || prefix.find(upper) != prefix.npos;
}

}  // namespace

ExprPtr Parser::parse_number() {
  const Token token = next();
  std::string digits(text(token));
  std::erase(digits, '_');
  auto* node = make<Constant>(range(token));
  const bool prefixed =
      digits.size() > 1 && digits[0] == '0' && std::string_view("xXoObB").find(digits[1]) != std::string_view::npos;
  if (!prefixed && digits.find_first_of(".eEjJ") != digits.npos) {
    const bool imaginary = digits.back() == 'j' || digits.back() == 'J';
    node->literal = imaginary ? Constant::Literal::imaginary : Constant::Literal::real;
    const char* end = digits.data() + digits.size() - (imaginary ? 1 : 0);
    if (std::from_chars(digits.data(), end, node->real).ec == std::errc::result_out_of_range) {
      // As in Python: too large is infinite, too small is zero.
      node->real = std::strtod(digits.c_str(), nullptr);
    }
    return node;
  }
  node->literal = Constant::Literal::integer;
  int base = 10;
  size_t skip = 0;
  if (prefixed) {
    const char c = digits[1];
    base = c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : 2;
    skip = 2;
  } else if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos) {
    refuse(node->range,
           "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
  }
  uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data() + skip, end, magnitude, base);
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (error == std::errc::result_out_of_range || (error == std::errc() && magnitude > kLimit))
    refuse(node->range, "Integral constant out of range (must fit in a signed 64 bit integer)");
  if (error != std::errc() || stopped != end) refuse(node->range, "invalid number literal '{}'", digits);
  node->integer = static_cast<int64_t>(magnitude);
  if (magnitude == kLimit && !too_large_) too_large_ = node;
  return node;
}

// -1 is one literal, with the place of its digits.
ExprPtr Parser::fold_minus(const Constant* number) {
  auto* node = make<Constant>(number->range);
  node->literal = number->literal;
  node->real = -number->real;
  node->integer = numbers::wrap_neg(number->integer);
  if (number == too_large_) {
    too_large_ = nullptr;
  } else if (number->literal == Constant::Literal::integer && number->integer == std::numeric_limits<int64_t>::min()) {
    too_large_ = node;  // - -9223372036854775808
  }
  return node;
}

// Adjacent strings are one; its place is that of the first.
ExprPtr Parser::parse_strings() {
  const Token first = cur();
  if (in_annotation_ && ahead().kind != Kind::string) {
    const std::string_view written = text(first);
    const size_t quote = written.find_first_of("'\"");
    if (quote == 0 && written.size() > 2 && written.find('\\') == written.npos && written.find('\n') == written.npos &&
        !written.starts_with("''") && !written.starts_with("\"\"")) {
      next();
      return parse_inside(first.begin + 1, first.end - 1, [this] { return parse_expr(); });
    }
  }
  StringParts parts;
  while (is(Kind::string)) {
    const Token token = cur();
    add_string(token, parts);
    next();
  }
  const auto string = [&](std::string text) {
    auto* node = make<Constant>(range(first));
    node->literal = Constant::Literal::string;
    node->string = std::move(text);
    return node;
  };
  if (!parts.formats) return string(std::move(parts.texts[0]));
  auto* node = make<Format>(range(first));
  const auto add_value = [&](ExprPtr value) {
    node->text += "{}";
    node->values.push_back(value);
    adopt(node, value);
  };
  for (size_t i = 0; i < parts.texts.size(); ++i) {
    if (i > 0) add_value(parts.values[i - 1]);
    // "{}" stands for a value, so where it is meant itself it is one.
    std::string_view text = parts.texts[i];
    for (size_t mark = text.find("{}"); mark != text.npos; mark = text.find("{}")) {
      node->text += text.substr(0, mark);
      add_value(string("{}"));
      text.remove_prefix(mark + 2);
    }
    node->text += text;
  }
  return node;
}

void Parser::add_string(const Token& token, StringParts& out) {
  const std::string_view written = text(token);
  const size_t quote = written.find_first_of("'\"");
  const std::string_view prefix = written.substr(0, quote);
  const size_t quotes = written.substr(quote).starts_with("'''") || written.substr(quote).starts_with("\"\"\"") ? 3 : 1;
  const auto begin = static_cast<uint32_t>(token.begin + quote + quotes);
  const auto end = static_cast<uint32_t>(token.end - quotes);
  if (has(prefix, 'b', 'B')) refuse(range(token), "bytes literals aren't supported");
  const bool raw = has(prefix, 'r', 'R');
  if (has(prefix, 'f', 'F')) {
    out.formats = true;
    add_format(begin, end, raw, out);
  } else if (raw) {
    out.texts.back() += source_->text().substr(begin, end - begin);
  } else {
    unescape(begin, end, out.texts.back());
  }
}

// f"a{b}c{{"  =>  texts "a", "c{", values b
void Parser::add_format(uint32_t begin, uint32_t end, bool raw, StringParts& out) {
  const std::string& source = source_->text();
  const auto literal = [&](uint32_t from, uint32_t to) {
    if (raw) {
      out.texts.back() += source.substr(from, to - from);
    } else {
      unescape(from, to, out.texts.back());
    }
  };
  uint32_t from = begin;
  for (uint32_t i = begin; i < end;) {
    const char c = source[i];
    if (c == '\\' && !raw) {
      i += 2;
      continue;
    }
    if (c != '{' && c != '}') {
      ++i;
      continue;
    }
    literal(from, i);
    if (i + 1 < end && source[i + 1] == c) {
      out.texts.back() += c;
      i += 2;
    } else if (c == '}') {
      refuse(range(i, i + 1), "f-string: single '}' is not allowed");
    } else {
      uint32_t close = i + 1;
      char quote = '\0';
      for (int brackets = 0; close < end; ++close) {
        const char d = source[close];
        if (quote) {
          if (d == quote) quote = '\0';
        } else if (d == '\'' || d == '"') {
          quote = d;
        } else if (d == '(' || d == '[' || d == '{') {
          ++brackets;
        } else if (d == '}' && brackets == 0) {
          break;
        } else if (d == ')' || d == ']' || d == '}') {
          --brackets;
        } else if (d == '!' && brackets == 0 && source[close + 1] != '=') {
          refuse(range(close, close + 1), "Don't support conversion in JoinedStr");
        }
      }
      if (close >= end) refuse(range(i, i + 1), "f-string: expecting '}'");
      out.values.push_back(parse_format_value(i + 1, close));
      out.texts.emplace_back();
      i = close + 1;
    }
    from = i;
  }
  literal(from, end);
}

ExprPtr Parser::parse_format_value(uint32_t begin, uint32_t end) {
  return parse_inside(begin, end, [this] {
    ExprPtr value = parse_tuple();
    if (is(Kind::colon) || is(Kind::walrus)) refuse(range(cur()), "Don't support formatting in JoinedStr");
    if (is(Kind::assign)) refuse(range(cur()), "Don't support '=' in JoinedStr");
    return value;
  });
}

void Parser::unescape(uint32_t begin, uint32_t end, std::string& out) const {
  const std::string& source = source_->text();
  // A code point in Python, a byte in archives.
  const auto append = [&](uint32_t code) {
    if (python()) {
      append_utf8(out, code);
    } else {
      out += static_cast<char>(code);
    }
  };
  const auto hex = [&](uint32_t& at, int count) {
    uint32_t code = 0;
    const char* first = source.data() + std::min(at, end);
    const char* last = source.data() + std::min<uint32_t>(at + static_cast<uint32_t>(count), end);
    const auto [stopped, error] = std::from_chars(first, last, code, 16);
    if (error != std::errc() || stopped != first + count)
      refuse(range(at - 2, at), "invalid escape: {} hexadecimal digits are expected", count);
    at += static_cast<uint32_t>(count);
    return code;
  };
  for (uint32_t i = begin; i < end;) {
    const char c = source[i];
    if (c != '\\' || i + 1 >= end) {
      out += c;
      ++i;
      continue;
    }
    const uint32_t at = i;
    const char e = source[i + 1];
    i += 2;
    switch (e) {
      case '\n':
        break;
      case '\r':
        if (i < end && source[i] == '\n') ++i;
        break;
      case '\\':
      case '\'':
      case '"':
        out += e;
        break;
      case 'a':
        out += '\a';
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
      case 'v':
        out += '\v';
        break;
      case 'x':
        append(hex(i, 2));
        break;
      case 'u':
      case 'U': {
        const uint32_t code = hex(i, e == 'u' ? 4 : 8);
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
          refuse(range(at, i), "illegal Unicode character in a string");
        append_utf8(out, code);
        break;
      }
      case 'N':
        refuse(range(at, i), "the escape \\N{...} isn't supported in strings");
      default:
        if (e >= '0' && e <= '7') {
          uint32_t code = static_cast<uint32_t>(e - '0');
          for (int n = 1; n < 3 && i < end && source[i] >= '0' && source[i] <= '7'; ++n)
            code = code * 8 + static_cast<uint32_t>(source[i++] - '0');
          append(code);
        } else {
          // Not an escape: both characters stand.
          out += '\\';
          out += e;
        }
    }
  }
}

}  // namespace sconce::syntax
