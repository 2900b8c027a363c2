#include "sconce/lite/op_shape.h"

#include <algorithm>
#include <cstdlib>

#include "sconce/base/text/find_text.h"
#include "sconce/dispatch/binding/schema_words.h"
#include "sconce/types/containers.h"

namespace sconce::lite {
namespace {

using namespace std::string_view_literals;

// The next part of a list, up to a comma or what closes the list.
std::string_view next_part(const char*& at) {
  const char* const from = at;
  int depth = 0;
  for (bool quoted = false;; ++at) {
    quoted ^= *at == '"';
    if (quoted) continue;
    const bool closes = *at == ')' || *at == ']';
    if (depth == 0 && (*at == ',' || closes)) break;
    depth += (*at == '(' || *at == '[') - closes;
  }
  const std::string_view part(from, static_cast<size_t>(at - from));
  if (*at == ',') at += at[1] == ' ' ? 2 : 1;
  return part;
}

std::string unquoted(std::string_view text) {
  constexpr std::string_view kLetters = "nrtfv", kMeant = "\n\r\t\f\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const size_t letter = kLetters.find(text[++i]);
    out += letter == kLetters.npos ? text[i] : kMeant[letter];
  }
  return out;
}

// A number or a word, as a value of a type that begins so; a text of the schema, which goes on behind it.
Value item_of(char type, std::string_view text) {
  if (text[0] == 'N') return {};  // None
  if (text[0] == 'T' || text[0] == 'F') return text[0] == 'T';
  if (text[0] == '"') return unquoted(text.substr(1, text.size() - 2));
  char* end = nullptr;
  const int64_t whole = std::strtoll(text.data(), &end, 10);
  if (end == text.data() + text.size() && type != 'f') return whole;
  const double real = std::strtod(text.data(), &end);  // also reads inf and nan
  if (end == text.data() + text.size()) return real;
  if (const std::optional<int64_t> known = named_default(text)) return *known;
  return parse_device(text);
}

}  // namespace

OpArguments::OpArguments(const Op& op) : rest(op.info.schema) {
  while (*rest++ != '(') {
  }
}

bool OpArguments::next() {
  while (*rest != ')') {
    std::string_view part = next_part(rest);
    if (part == "*"sv) {
      keyword_only = true;
    } else if (part == "..."sv) {
      is_vararg = true;
    } else {
      const size_t equals = std::min(part.find('='), part.size());
      default_text = part.substr(std::min(equals + 1, part.size()));
      part = part.substr(0, equals);
      const size_t space = part.rfind(' ');
      type = part.substr(0, space);
      name = part.substr(space + 1);
      return true;
    }
  }
  return false;
}

OpShape::OpShape(const Op& op) {
  OpArguments a(op);
  while (a.next()) {
    ++arguments;
    out += a.keyword_only && a.type.ends_with("!)"sv);
  }
  is_vararg = a.is_vararg;
  const char* at = a.rest + std::string_view(") -> ").size();
  const std::string_view results = at;
  makes_tensor = has_text(results, "Tensor"sv);
  is_varret = has_text(results, "..."sv);
  if (*at != '(') {
    returns = is_varret ? 0 : 1;
    return;
  }
  ++at;
  while (*at != ')') returns += next_part(at) != "..."sv;
}

Value OpArguments::default_value() const {
  const size_t open = type.find('[');
  const char* at = default_text.data();
  if (open == type.npos || *at == 'N') return item_of(type[0], default_text);
  Value made = new_list(type[0] == 'f' ? float_type() : type[0] == 'b' ? bool_type() : int_type());
  List& list = made.to_list();
  if (*at == '[') {
    for (++at; *at != ']';) list.append(item_of(type[0], next_part(at)));
  } else {
    for (char i = type[open + 1]; i > '0'; --i) list.append(item_of(type[0], default_text));  // int[2] stride=1
  }
  return made;
}

}  // namespace sconce::lite
