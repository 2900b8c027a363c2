// Python's methods of strings, as TorchScript has them: on bytes, with ASCII's classes of characters. An `end` of -1 is
// the end of the string. Where TorchScript differs from Python, its answers count.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sconce/base/budget.h"
#include "sconce/base/numbers.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/generated/string_kernels.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

const std::string& text(const Value& v) { return v.to_string_ref(); }

template <class F>
std::string mapped(std::string s, F f) {
  for (char& c : s) c = f(c);
  return s;
}

// Is the string not empty, and every character of this class?
template <class F>
bool all_of(const std::string& s, F f) {
  return !s.empty() && std::all_of(s.begin(), s.end(), f);
}

// Letters of one case only, and at least one.
template <class F, class G>
bool only(const std::string& s, F wanted, G other) {
  return std::any_of(s.begin(), s.end(), wanted) && std::none_of(s.begin(), s.end(), other);
}

// The bounds of a search, from the front.
struct Bounds {
  int64_t start, end;
};
Bounds bounds_of(const Value* args) {
  const auto n = static_cast<int64_t>(text(args[0]).size());
  const int64_t start = args[2].to_int(), end = args[3].to_int();
  return {start < 0 ? std::max<int64_t>(start + n, 0) : start, end < 0 ? std::max<int64_t>(end + n + 1, 0) : end};
}
// From `start`, `count` characters or as many as there are.
std::string_view part_of(std::string_view s, int64_t start, size_t count) {
  SCONCE_CHECK_AS(index, start <= static_cast<int64_t>(s.size()), "string index {} out of range for {} characters",
                  start, s.size());
  return s.substr(static_cast<size_t>(start), count);
}
// Bounds that hold nothing find only the empty string, at start.
int64_t place(const Value* args, bool last) {
  const auto [start, end] = bounds_of(args);
  const std::string& what = text(args[1]);
  if (end <= start) return what.empty() ? start : -1;
  const std::string_view part = part_of(text(args[0]), start, static_cast<size_t>(end - start));
  const size_t found = last ? part.rfind(what) : part.find(what);
  return found == std::string_view::npos ? -1 : start + static_cast<int64_t>(found);
}
// The range that startswith and endswith look at: an end before start counts as none.
std::string_view bounded(const Value* args) {
  const auto [start, end] = bounds_of(args);
  return part_of(text(args[0]), start, end < start ? std::string_view::npos : static_cast<size_t>(end - start));
}

std::string_view stripped(std::string_view s, std::string_view chars, bool left, bool right) {
  size_t from = 0, to = s.size();
  while (left && from < to && chars.find(s[from]) != std::string_view::npos) ++from;
  while (right && to > from && chars.find(s[to - 1]) != std::string_view::npos) --to;
  return s.substr(from, to - from);
}

Ref<List> strings() { return make_ref<List>(string_type()); }

// Words between runs of white space, of which Python's separators of records are part here.
Ref<List> split_words(std::string_view s) {
  const auto is_space = [](char c) { return boxed::is_space(c) || (c >= 0x1c && c <= 0x1e); };
  auto out = strings();
  for (size_t i = 0; i < s.size();) {
    const size_t from = i;
    while (i < s.size() && !is_space(s[i])) ++i;
    if (i > from) out->append(s.substr(from, i - from));
    while (i < s.size() && is_space(s[i])) ++i;
  }
  return out;
}

void check_separator(std::string_view separator) { SCONCE_CHECK_AS(value, !separator.empty(), "empty separator"); }

std::string padded(const std::string& s, int64_t left, int64_t right, char fill) {
  Budget::charge_memory(static_cast<uint64_t>(std::max<int64_t>(left, 0)) +
                        static_cast<uint64_t>(std::max<int64_t>(right, 0)));
  return std::string(static_cast<size_t>(std::max<int64_t>(left, 0)), fill) + s +
         std::string(static_cast<size_t>(std::max<int64_t>(right, 0)), fill);
}
char fill_of(const Value& v) {
  SCONCE_CHECK_AS(type, text(v).size() == 1, "The fill character must be exactly one character long, got '{}'",
                  text(v));
  return text(v)[0];
}
int64_t missing(const Value* args) {
  return std::max<int64_t>(0, std::max<int64_t>(0, args[1].to_int()) - static_cast<int64_t>(text(args[0]).size()));
}

std::string in_base(int64_t v, unsigned base, const char* prefix) {
  uint64_t rest = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  std::string digits;
  do {
    digits += "0123456789abcdef"[rest % base];
    rest /= base;
  } while (rest > 0);
  std::reverse(digits.begin(), digits.end());
  return (v < 0 ? "-" : "") + std::string(prefix) + digits;
}

std::string shown(const Value& v) { return v.is_string() ? text(v) : v.repr(); }

// One conversion of a % format: flags, width and precision as C has them.
std::string converted(const std::string& flags, char kind, const Value& v) {
  char buffer[512];
  const auto as_double = [&] { return v.to_scalar().to_double(); };
  const auto as_int = [&] {
    return static_cast<long long>(v.to_scalar().is_integral() || v.is_bool()
                                      ? v.to_scalar().to_int()
                                      : numbers::to_integer<int64_t>(as_double()));
  };
  switch (kind) {
    case 'd':
    case 'i':
    case 'u':
      SCONCE_CHECK_AS(type, v.is_number() && !v.is_complex(), "%{} format: a number is required, not {}",
                      std::string(1, kind), v.type()->annotation());
      std::snprintf(buffer, sizeof buffer, ("%" + flags + "lld").c_str(), as_int());
      return buffer;
    case 'x':
    case 'X':
    case 'o':
      SCONCE_CHECK_AS(type, v.is_int() || v.is_bool(), "%{} format: an integer is required, not {}",
                      std::string(1, kind), v.type()->annotation());
      std::snprintf(buffer, sizeof buffer, ("%" + flags + "ll" + kind).c_str(), as_int());
      return buffer;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      SCONCE_CHECK_AS(type, v.is_number() && !v.is_complex(), "%{} format: a number is required, not {}",
                      std::string(1, kind), v.type()->annotation());
      std::snprintf(buffer, sizeof buffer, ("%" + flags + kind).c_str(), as_double());
      return buffer;
    case 'c': {
      const std::string s = v.is_int() ? std::string(1, static_cast<char>(v.to_int())) : shown(v);
      SCONCE_CHECK_AS(type, s.size() == 1, "%c requires int or char, got '{}'", s);
      return s;
    }
    case 's':
    case 'r': {
      const std::string s = kind == 's' ? shown(v) : v.repr();
      std::string out(s.size() + 512, '\0');
      out.resize(static_cast<size_t>(std::snprintf(out.data(), out.size(), ("%" + flags + "s").c_str(), s.c_str())));
      return out;
    }
    default:
      fail_as(ErrorKind::value, "unsupported format character '{}' in a % format", std::string(1, kind));
  }
}

}  // namespace

#define SCONCE_STRING(name) void name(const Op&, KeySet, [[maybe_unused]] Value* args, [[maybe_unused]] Value* returns)

SCONCE_STRING(string_upper) { returns[0] = mapped(text(args[0]), to_upper); }
SCONCE_STRING(string_lower) { returns[0] = mapped(text(args[0]), to_lower); }
SCONCE_STRING(string_swapcase) {
  returns[0] = mapped(text(args[0]), [](char c) { return is_lower(c) ? to_upper(c) : to_lower(c); });
}
SCONCE_STRING(string_capitalize) {
  std::string s = mapped(text(args[0]), to_lower);
  if (!s.empty()) s[0] = to_upper(s[0]);
  returns[0] = s;
}
SCONCE_STRING(string_title) {
  bool inside = false;
  returns[0] = mapped(text(args[0]), [&](char c) {
    const char out = inside ? to_lower(c) : to_upper(c);
    inside = is_letter(c);
    return out;
  });
}
SCONCE_STRING(string_istitle) {
  bool inside = false, some = false, fits = true;
  for (char c : text(args[0])) {
    if (is_upper(c)) fits = fits && !inside, some = true;
    if (is_lower(c)) fits = fits && inside, some = true;
    inside = is_letter(c);
  }
  returns[0] = fits && some;
}
SCONCE_STRING(string_isdigit) { returns[0] = all_of(text(args[0]), is_digit); }
SCONCE_STRING(string_isalpha) { returns[0] = all_of(text(args[0]), is_letter); }
SCONCE_STRING(string_isalnum) {
  returns[0] = all_of(text(args[0]), [](char c) { return is_letter(c) || is_digit(c); });
}
SCONCE_STRING(string_isspace) { returns[0] = all_of(text(args[0]), is_space); }
SCONCE_STRING(string_islower) { returns[0] = only(text(args[0]), is_lower, is_upper); }
SCONCE_STRING(string_isupper) { returns[0] = only(text(args[0]), is_upper, is_lower); }
SCONCE_STRING(string_isprintable) {
  const std::string& s = text(args[0]);
  returns[0] = std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~'; });
}
SCONCE_STRING(string_isidentifier) {
  const std::string& s = text(args[0]);
  // No underscores: TorchScript has the rule of an early Python.
  returns[0] = all_of(s, [](char c) { return is_letter(c) || is_digit(c); }) && !is_digit(s[0]);
}

SCONCE_STRING(string_strip) { returns[0] = stripped(text(args[0]), text(args[1]), true, true); }
SCONCE_STRING(string_lstrip) { returns[0] = stripped(text(args[0]), text(args[1]), true, false); }
SCONCE_STRING(string_rstrip) { returns[0] = stripped(text(args[0]), text(args[1]), false, true); }

SCONCE_STRING(string_find) { returns[0] = place(args, false); }
SCONCE_STRING(string_rfind) { returns[0] = place(args, true); }
SCONCE_STRING(string_index) {
  const int64_t at = place(args, false);
  SCONCE_CHECK_AS(value, at >= 0, "ValueError: substring not found");
  returns[0] = at;
}
SCONCE_STRING(string_rindex) {
  const int64_t at = place(args, true);
  SCONCE_CHECK_AS(value, at >= 0, "ValueError: substring not found");
  returns[0] = at;
}
SCONCE_STRING(string_startswith) { returns[0] = bounded(args).starts_with(text(args[1])); }
SCONCE_STRING(string_endswith) { returns[0] = bounded(args).ends_with(text(args[1])); }
// Those that begin within the bounds, even where they end behind them.
SCONCE_STRING(string_count) {
  const auto [start, end] = bounds_of(args);
  const std::string &s = text(args[0]), &what = text(args[1]);
  int64_t count = 0;
  if (what.empty()) {
    count = std::max<int64_t>(0, std::min(end, static_cast<int64_t>(s.size())) - start + 1);
  } else {
    size_t at = static_cast<size_t>(start);
    for (; (at = s.find(what, at)) != std::string::npos && static_cast<int64_t>(at) < end; at += what.size()) ++count;
  }
  returns[0] = count;
}

SCONCE_STRING(string_replace) {
  const std::string &s = text(args[0]), &from = text(args[1]), &to = text(args[2]);
  int64_t left = args[3].to_int() < 0 ? INT64_MAX : args[3].to_int();
  std::string out;
  size_t at = 0;
  if (from.empty()) {  // between all characters
    for (; at < s.size() && left > 0; ++at, --left) out += to + s[at];
    if (left > 0) out += to;
  } else {
    for (size_t next; left > 0 && (next = s.find(from, at)) != std::string::npos; at = next + from.size(), --left) {
      out.append(s, at, next - at);
      out += to;
    }
  }
  out.append(s, at);
  returns[0] = out;
}
SCONCE_STRING(string_join) {
  const List& list = args[1].to_list();
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += text(args[0]);
    out += text(list.get(i));
  }
  returns[0] = out;
}

SCONCE_STRING(string_split) {
  const std::string& s = text(args[0]);
  if (args[1].is_none()) {  // TorchScript ignores max here
    returns[0] = split_words(s);
    return;
  }
  const int64_t max = args[2].to_int();
  const std::string& separator = text(args[1]);
  check_separator(separator);
  auto out = strings();
  size_t from = 0;
  for (size_t at;
       (max < 0 || static_cast<int64_t>(out->size()) < max) && (at = s.find(separator, from)) != std::string::npos;
       from = at + separator.size())
    out->append(std::string_view(s).substr(from, at - from));
  out->append(std::string_view(s).substr(from));
  returns[0] = std::move(out);
}
SCONCE_STRING(string_rsplit) {
  const std::string &s = text(args[0]), &separator = text(args[1]);
  check_separator(separator);
  const int64_t max = args[2].to_int();
  auto out = strings();
  size_t to = s.size();
  while ((max < 0 || static_cast<int64_t>(out->size()) < max) && to >= separator.size()) {
    const size_t at = s.rfind(separator, to - separator.size());
    if (at == std::string::npos) break;
    out->append(std::string_view(s).substr(at + separator.size(), to - at - separator.size()));
    to = at;
  }
  out->append(std::string_view(s).substr(0, to));
  out->reverse();
  returns[0] = std::move(out);
}
// Every separator ends a line, both of "\r\n" too; those that are kept are items of their own.
SCONCE_STRING(string_splitlines) {
  const std::string& s = text(args[0]);
  auto out = strings();
  for (size_t from = 0; from < s.size();) {
    const size_t to = std::min(s.find_first_of("\n\r\v\f\x1c\x1d\x1e", from), s.size());
    out->append(std::string_view(s).substr(from, to - from));
    if (to < s.size() && args[1].to_bool()) out->append(std::string_view(s).substr(to, 1));
    from = to + 1;
  }
  returns[0] = std::move(out);
}
SCONCE_STRING(string_partition) {
  const std::string &s = text(args[0]), &separator = text(args[1]);
  check_separator(separator);
  const size_t at = s.find(separator);
  const bool found = at != std::string::npos;
  returns[0] = found ? s.substr(0, at) : s;
  returns[1] = found ? separator : std::string();
  returns[2] = found ? s.substr(at + separator.size()) : std::string();
}
SCONCE_STRING(string_rpartition) {
  const std::string &s = text(args[0]), &separator = text(args[1]);
  check_separator(separator);
  const size_t at = s.rfind(separator);
  const bool found = at != std::string::npos;
  returns[0] = found ? s.substr(0, at) : std::string();
  returns[1] = found ? separator : std::string();
  returns[2] = found ? s.substr(at + separator.size()) : s;
}

SCONCE_STRING(string_ljust) { returns[0] = padded(text(args[0]), 0, missing(args), fill_of(args[2])); }
SCONCE_STRING(string_rjust) { returns[0] = padded(text(args[0]), missing(args), 0, fill_of(args[2])); }
SCONCE_STRING(string_center) {
  // As in CPython, the odd one goes to the left when the width is odd.
  const int64_t spaces = missing(args), left = spaces / 2 + (spaces & args[1].to_int() & 1);
  returns[0] = padded(text(args[0]), left, spaces - left, fill_of(args[2]));
}
SCONCE_STRING(string_zfill) { returns[0] = padded(text(args[0]), missing(args), 0, '0'); }  // before a sign, too
SCONCE_STRING(string_expandtabs) {
  const int64_t size = args[1].to_int();
  int64_t column = 0;
  std::string out;
  for (char c : text(args[0])) {
    if (c == '\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  returns[0] = out;
}

SCONCE_STRING(string_ord) {
  const std::string& s = text(args[0]);
  SCONCE_CHECK_AS(type, s.size() == 1, "String for ord() must be 1 character, found {}", s.size());
  returns[0] = static_cast<int64_t>(static_cast<uint8_t>(s[0]));
}
SCONCE_STRING(string_chr) {
  const int64_t code = args[0].to_int();
  SCONCE_CHECK_AS(value, code >= 0 && code < 0x110000, "chr() arg not in range(0x110000), found {}", code);
  returns[0] = std::string(1, static_cast<char>(code));
}
SCONCE_STRING(string_bin) { returns[0] = in_base(args[0].to_int(), 2, "0b"); }
SCONCE_STRING(string_oct) { returns[0] = in_base(args[0].to_int(), 8, "0o"); }
SCONCE_STRING(string_hex) { returns[0] = in_base(args[0].to_int(), 16, "0x"); }
SCONCE_STRING(value_hash) { returns[0] = static_cast<int64_t>(args[0].hash()); }

// The values come as one tuple behind the format: see Note [Variable arguments] in match.cpp.
SCONCE_STRING(string_percent_format) {
  const std::string& format = text(args[0]);
  const Tuple& given = args[1].to_tuple();
  // "%d %d" % (a, b): the tuple's items are the values.
  const Tuple& values = given.items.size() == 1 && given.items[0].is_tuple() ? given.items[0].to_tuple() : given;
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    size_t at = i + 1;
    while (at < format.size() && std::string_view("#0- +.123456789").find(format[at]) != std::string_view::npos) ++at;
    SCONCE_CHECK_AS(value, at < format.size(), "Incomplete format specifier in '{}'", format);
    const std::string flags = format.substr(i + 1, at - i - 1);
    SCONCE_CHECK_AS(value, flags.size() <= 8, "the format '{}' is too wide", flags);
    i = at;
    if (format[at] == '%') {
      out += '%';
      continue;
    }
    SCONCE_CHECK_AS(type, next < values.items.size(), "Too few arguments for format string '{}'", format);
    out += converted(flags, format[at], values.items[next++]);
  }
  SCONCE_CHECK_AS(type, next == values.items.size(), "Too many arguments for format string '{}'", format);
  returns[0] = out;
}

#undef SCONCE_STRING

}  // namespace sconce::boxed
