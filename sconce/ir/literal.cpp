#include "sconce/ir/literal.h"

#include <cmath>

#include <fmt/format.h>

#include "sconce/types/class_info.h"

namespace sconce::ir {
namespace {

// Whole numbers below 1e10 end in a point; the others have the 17 digits that every double needs.
std::string float_text(double v) {
  if (std::isfinite(v) && std::abs(v) < 1e10 && v == std::trunc(v)) return fmt::format("{:.0f}.", v);
  return fmt::format("{:.17g}", v);
}

std::string complex_text(std::complex<double> v) {
  const std::string imag = float_text(v.imag());
  return float_text(v.real()) + (imag[0] == '-' ? "" : "+") + imag + "j";
}

// Element types that the elements do not tell have to be written out.
bool is_told_by_members(TypePtr element) {
  return !element->is(TypeKind::optional) && !element->is(TypeKind::union_) && !element->is(TypeKind::any) &&
         !element->is(TypeKind::interface);
}

std::string list_text(const List& list, bool top) {
  std::string items;
  for (size_t i = 0; i < list.size(); ++i) items += (i ? ", " : "") + nested_literal_text(list.get(i));
  std::string text = "[" + items + "]";
  const TypePtr element = list.element_type();
  const bool plain = top && (list.is_ints() || list.is_doubles());
  if (plain || (!list.empty() && is_told_by_members(element))) return text;
  return "annotate(" + list_type(element)->annotation() + ", " + text + ")";
}

std::string dict_text(const Dict& dict) {
  std::string items;
  dict.for_each([&](const sconce::Value& key, const sconce::Value& value) {
    items += (items.empty() ? "" : ", ") + nested_literal_text(key) + ": " + nested_literal_text(value);
  });
  if (dict.size() != 0 && is_told_by_members(dict.value_type())) return "{" + items + "}";
  return "annotate(" + dict_type(dict.key_type(), dict.value_type())->annotation() + ", {" + items + "})";
}

std::string tuple_text(const Tuple& tuple) {
  std::string items;
  for (size_t i = 0; i < tuple.items.size(); ++i) items += (i ? ", " : "") + nested_literal_text(tuple.items[i]);
  return "(" + items + (tuple.items.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string quoted(std::string_view text) {
  static constexpr std::string_view kPlain = "\n\t\f\v\b\a\r\\\"'", kEscaped = "ntfvbar\\\"'";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const size_t i = kPlain.find(c); i != kPlain.npos) {
      (out += '\\') += kEscaped[i];
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", byte);
    }
  }
  return out += '"';
}

std::string literal_text(const sconce::Value& v) {
  if (v.is_bool()) return v.to_bool() ? "1" : "0";
  if (v.is_list()) return list_text(v.to_list(), true);
  return nested_literal_text(v);
}

std::string nested_literal_text(const sconce::Value& v) {
  switch (v.tag()) {
    case Tag::none:
      return "None";
    case Tag::boolean:
      return v.to_bool() ? "True" : "False";
    case Tag::integer:
      return std::to_string(v.to_int());
    case Tag::real:
      return float_text(v.to_double());
    case Tag::complex:
      return complex_text(v.to_complex());
    case Tag::string:
      return quoted(v.to_string_ref());
    case Tag::device:
      return quoted(to_string(v.to_device()));
    case Tag::tensor:
      return tensor_literal_text(v.to_tensor());
    case Tag::list:
      return list_text(v.to_list(), false);
    case Tag::dict:
      return dict_text(v.to_dict());
    case Tag::tuple:
      return tuple_text(v.to_tuple());
    case Tag::enum_:
      return v.to_enum().type->name() + "." + v.to_enum().name;
    default:
      return "<" + v.type()->to_string() + " object>";
  }
}

}  // namespace sconce::ir
