#include "sconce/serialization/code/print_literals.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sconce/ir/literal.h"

namespace sconce {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The text is read as a sum (2.5-1.j), which keeps neither the sign of a zero nor NaN.
std::optional<std::string> print_complex(std::complex<double> v) {
  const auto survives = [](double part) { return std::isfinite(part) && !(part == 0 && std::signbit(part)); };
  if (!survives(v.real()) || !survives(v.imag())) return std::nullopt;
  const std::string imaginary = print_float(v.imag());
  return print_float(v.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

// Does a display of members of this type have the type that is meant?
bool is_told_by_members(TypePtr element) {
  return !element->is(TypeKind::optional) && !element->is(TypeKind::union_) && !element->is(TypeKind::any) &&
         !element->is(TypeKind::interface) && !element->is(TypeKind::number);
}

std::optional<std::string> joined(const std::vector<Value>& items, const TypeText& type_text) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto item = print_literal(items[i], type_text);
    if (!item) return std::nullopt;
    out += (i ? ", " : "") + *item;
  }
  return out;
}

std::string annotated(TypePtr type, const std::string& text, bool told, const TypeText& type_text) {
  return told ? text : "annotate(" + type_text(type) + ", " + text + ")";
}

std::optional<std::string> print_list(const List& list, const TypeText& type_text) {
  const auto items = joined(list.values(), type_text);
  if (!items) return std::nullopt;
  const TypePtr element = list.element_type();
  return annotated(list_type(element), "[" + *items + "]", !list.empty() && is_told_by_members(element), type_text);
}

std::optional<std::string> print_dict(const Dict& dict, const TypeText& type_text) {
  std::string items;
  for (const auto& [key, value] : dict.items()) {
    const auto k = print_literal(key, type_text), v = print_literal(value, type_text);
    if (!k || !v) return std::nullopt;
    items += (items.empty() ? "" : ", ") + *k + ": " + *v;
  }
  const bool told = dict.size() != 0 && is_told_by_members(dict.value_type());
  return annotated(dict_type(dict.key_type(), dict.value_type()), "{" + items + "}", told, type_text);
}

std::optional<std::string> print_tuple(const Tuple& tuple, const TypeText& type_text) {
  const auto items = joined(tuple.items, type_text);
  if (!items) return std::nullopt;
  if (tuple.named_type && !tuple.named_type->name().empty()) return type_text(tuple.named_type) + "(" + *items + ")";
  return "(" + *items + (tuple.items.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string print_float(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (std::abs(v) < 1e10 && v == std::trunc(v)) return fmt::format("{:.0f}.", v);
  std::string text = fmt::format("{:.17g}", v);
  if (text.find_first_of(".e") == text.npos) text += '.';
  return text;
}

std::string print_string(std::string_view text) {
  // A carriage return is known by its number only.
  std::string out = "\"";
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('\r', start), text.size());
    const std::string part = ir::quoted(text.substr(start, end - start));
    out.append(part, 1, part.size() - 2);
    if (end < text.size()) out += "\\015";
    start = end + 1;
  }
  return out + "\"";
}

std::optional<std::string> print_literal(const Value& v, const TypeText& type_text) {
  switch (v.tag()) {
    case Tag::none:
      return "None";
    case Tag::boolean:
      return v.to_bool() ? "True" : "False";
    case Tag::integer:
      return std::to_string(v.to_int());
    case Tag::real:
      return print_float(v.to_double());
    case Tag::complex:
      return print_complex(v.to_complex());
    case Tag::string:
      return is_ascii(v.to_string_ref()) ? std::optional(print_string(v.to_string_ref())) : std::nullopt;
    case Tag::device:
      return "torch.device(\"" + to_string(v.to_device()) + "\")";
    case Tag::list:
      return print_list(v.to_list(), type_text);
    case Tag::dict:
      return print_dict(v.to_dict(), type_text);
    case Tag::tuple:
      return print_tuple(v.to_tuple(), type_text);
    case Tag::enum_:
      return type_text(v.to_enum().type) + "." + v.to_enum().name;
    default:
      return std::nullopt;
  }
}

}  // namespace sconce
