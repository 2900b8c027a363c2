#include "sconce/serialization/lite/lite_types.h"

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

constexpr int kMaxTupleDepth = 16;  // named tuples in named tuples

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// The place of the bracket that closes the one at `open`; npos when there is none.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '[';
    depth -= text[i] == ']';
    if (depth == 0) return i;
  }
  return text.npos;
}

}  // namespace

TypePtr Types::find_class(std::string_view name) {
  if (name.starts_with(kCustomClasses)) {
    const TypePtr custom = find_custom_class(name);
    SCONCE_CHECK_AS(not_implemented, custom, "{}: needs the class '{}', which is not registered", file_, name);
    return custom;
  }
  if (const TypePtr known = unit_.find_type(name)) return known;
  const TypePtr made = make_class_type(name);
  made->class_info()->is_module = true;
  unit_.add_type(made);
  return made;
}

TypePtr Types::find(std::string_view name) {
  const auto tuple = tuples_.find(std::string(name));
  if (tuple != tuples_.end()) return tuple->second;
  return name.starts_with("__torch__.") ? find_class(name) : nullptr;
}

// The text with "P[NamedTuple, [...]]" replaced by "P", which is then known.
std::string Types::define_tuples(std::string_view text, int depth) {
  constexpr std::string_view kMark = "[NamedTuple, [";
  SCONCE_CHECK_AS(value, depth <= kMaxTupleDepth, "named tuples are nested more than {} deep", kMaxTupleDepth);
  std::string result;
  for (size_t mark; (mark = text.find(kMark)) != text.npos;) {
    size_t start = mark;
    while (start > 0 && std::string_view("[](), ").find(text[start - 1]) == text.npos) --start;
    const size_t end = closing(text, mark);
    SCONCE_CHECK_AS(value, end != text.npos && end > mark + kMark.size() - 1 && text[end - 1] == ']',
                    "a named tuple does not end: '{}'", text.substr(start));
    const std::string name(text.substr(start, mark - start));
    std::string_view rest = text.substr(mark + kMark.size(), end - 1 - mark - kMark.size());
    std::vector<std::string> fields;
    std::vector<TypePtr> types;
    while (!(rest = trimmed(rest)).empty()) {
      const size_t close = rest.front() == '[' ? closing(rest, 0) : rest.npos;
      const std::string_view field = close == rest.npos ? rest : rest.substr(1, close - 1);
      const size_t comma = field.find(',');
      SCONCE_CHECK_AS(value, close != rest.npos && comma != field.npos, "a field of '{}' is no [name, type]: '{}'",
                      name, rest);
      fields.emplace_back(trimmed(field.substr(0, comma)));
      types.push_back(parse_type(define_tuples(trimmed(field.substr(comma + 1)), depth + 1),
                                 [this](std::string_view n) { return find(n); }));
      rest.remove_prefix(close + 1);
      rest = trimmed(rest);
      if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
    }
    tuples_[name] = named_tuple_type(name, types, fields);
    result += text.substr(0, mark);
    text.remove_prefix(end + 1);
  }
  return result += text;
}

TypePtr Types::parse(std::string_view text) {
  return parse_type(define_tuples(text, 0), [this](std::string_view name) { return find(name); });
}

TypePtr Types::parse_in_schema(std::string_view text) {
  return parse_type(define_tuples(text, 0), [this](std::string_view name) -> TypePtr {
    const auto tuple = tuples_.find(std::string(name));
    if (tuple != tuples_.end()) return tuple->second;
    if (const TypePtr known = unit_.find_type(name)) return known;
    return name.starts_with("__torch__.") ? any_type() : nullptr;
  });
}

}  // namespace sconce::lite
