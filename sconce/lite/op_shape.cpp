#include "sconce/lite/op_shape.h"

#include <algorithm>
#include <cstdlib>

#include "sconce/dispatch/binding/schema_words.h"
#include "sconce/types/containers.h"

namespace sconce::lite {
namespace {

using namespace std::string_view_literals;

// The next part of a list, up to a comma or the parenthesis that closes it.
std::string_view next_part(std::string_view& text) {
  int depth = 0;
  bool quoted = false;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && (c == ',' || c == ')')) break;
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
  }
  std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end, text.size()));
  if (text.starts_with(',')) text.remove_prefix(1);
  if (text.starts_with(' ')) text.remove_prefix(1);
  return part;
}

std::string_view arguments_of(std::string_view schema) { return schema.substr(schema.find('(') + 1); }

bool is_argument(std::string_view part) { return part != "*"sv && part != "..."sv; }

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

// A number or a word, as a value of a type without `?` and `[]`.
Value item_of(std::string_view type, std::string_view text) {
  if (text == "None"sv) return {};
  if (text == "True"sv || text == "False"sv) return text == "True"sv;
  if (text.starts_with('"')) return unquoted(text.substr(1, text.size() - 2));
  char* end = nullptr;  // at a comma or parenthesis of the schema, if all of it is a number
  const double real = std::strtod(text.data(), &end);  // also reads inf and nan
  const bool is_whole = text.find_first_not_of("-0123456789"sv) == text.npos;
  if (end == text.data() + text.size() && (type == "float"sv || !is_whole)) return real;
  if (is_whole) return static_cast<int64_t>(std::strtoll(text.data(), nullptr, 10));
  if (const std::optional<int64_t> known = named_default(text)) return *known;
  return parse_device(text);
}

}  // namespace

OpShape::OpShape(const Op& op) {
  std::string_view text = arguments_of(op.info.schema);
  bool keyword_only = false;
  while (!text.starts_with(')')) {
    const std::string_view part = next_part(text);
    keyword_only |= part == "*"sv;
    is_vararg |= part == "..."sv;
    if (!is_argument(part)) continue;
    ++arguments;
    out += keyword_only && part.find("!)"sv) != part.npos;
  }
  text.remove_prefix(std::string_view(") -> ").size());
  makes_tensor = text.find("Tensor"sv) != text.npos;
  is_varret = text.find("..."sv) != text.npos;
  if (!text.starts_with('(')) {
    returns = is_varret ? 0 : 1;
    return;
  }
  text.remove_prefix(1);
  while (!text.empty() && !text.starts_with(')')) returns += is_argument(next_part(text));
}

OpArgument::OpArgument(const Op& op, size_t index) {
  std::string_view text = arguments_of(op.info.schema), part;
  for (size_t at = 0; at <= index; at += is_argument(part)) part = next_part(text);
  const size_t equals = std::min(part.find('='), part.size());
  default_text = part.substr(std::min(equals + 1, part.size()));
  part = part.substr(0, equals);
  const size_t space = part.rfind(' ');
  type = part.substr(0, space);
  name = part.substr(space + 1);
}

Value OpArgument::default_value() const {
  std::string_view element = type, rest = default_text;
  if (element.ends_with('?')) element.remove_suffix(1);
  const size_t open = element.find('[');
  if (open == element.npos || rest == "None"sv) return item_of(element, rest);
  const int repeated = std::atoi(element.data() + open + 1);  // int[2] stride=1
  element = element.substr(0, open);
  Value made = new_list(element == "float"sv ? float_type() : element == "bool"sv ? bool_type() : int_type());
  List& list = made.to_list();
  if (rest.starts_with('[')) {
    rest.remove_prefix(1);
    for (rest.remove_suffix(1); !rest.empty();) list.append(item_of(element, next_part(rest)));
  } else {
    for (int i = 0; i < repeated; ++i) list.append(item_of(element, rest));
  }
  return made;
}

}  // namespace sconce::lite
