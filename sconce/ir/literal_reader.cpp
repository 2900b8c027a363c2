// Reader of IR literals: the inverse of literal_text.
#include <charconv>
#include <cmath>
#include <limits>

#include "sconce/ir/literal.h"
#include "sconce/types/class_info.h"

namespace sconce::ir {
namespace {

using sconce::Value;

Value read_string(TextCursor& in) {
  static constexpr std::string_view kPlain = "\n\t\f\v\b\a\r\\\"'", kEscaped = "ntfvbar\\\"'";
  std::string out;
  in.expect('"');
  while (in.peek() != '"') {
    if (in.at_end() || in.peek() == '\n') in.expected("'\"' at the end of the string");
    char c = in.take();
    if (c == '\\') {
      if (in.peek() >= '0' && in.peek() <= '7') {
        int code = 0;
        for (int i = 0; i < 3 && in.peek() >= '0' && in.peek() <= '7'; ++i) code = code * 8 + (in.take() - '0');
        c = static_cast<char>(code);
      } else {
        const size_t i = kEscaped.find(in.peek());
        if (in.at_end() || i == kEscaped.npos) in.expected("an escape sequence");
        in.take();
        c = kPlain[i];
      }
    }
    out += c;
  }
  in.take();
  return Value(out);
}

// The characters that a number may have: -1.5e+20, inf, nan.
std::string_view number_text(TextCursor& in) {
  const size_t from = in.at();
  if (in.peek() == '-' || in.peek() == '+') in.take();
  while (true) {
    in.word(".");
    const char before = in.at() > from ? in.text()[in.at() - 1] : '\0';
    const bool exponent = (before == 'e' || before == 'E') && (in.peek() == '+' || in.peek() == '-');
    if (!exponent) break;
    in.take();
  }
  return in.text().substr(from, in.at() - from);
}

bool parse_double(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::result_out_of_range) {
    // Too small or too large: as strtod reads it.
    out = std::strtod(std::string(text).c_str(), nullptr);
  }
  return error != std::errc::invalid_argument && end == text.data() + text.size() && !text.empty();
}

Value read_number(TextCursor& in, TypePtr type) {
  const size_t from = in.at();
  std::string_view text = number_text(in);
  const auto wrong = [&](std::string_view what) {
    in.set_at(from);
    in.expected(what);
  };
  double real = 0;
  if (text.ends_with('j')) {
    if (!parse_double(text.substr(0, text.size() - 1), real)) wrong("a number");
    return Value(std::complex<double>(0, real));
  }
  // A real part, when an imaginary one follows: 1.+2.j
  if ((in.peek() == '+' || in.peek() == '-') && parse_double(text, real)) {
    const std::string_view imag = number_text(in);
    double i = 0;
    if (!imag.ends_with('j') || !parse_double(imag.substr(0, imag.size() - 1), i)) wrong("a complex number");
    return Value(std::complex<double>(real, i));
  }
  int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  const TypeKind kind = type ? type->kind() : TypeKind::any;
  if (whole && kind != TypeKind::float_ && kind != TypeKind::complex) {
    if (kind != TypeKind::bool_) return Value(integer);
    if (integer != 0 && integer != 1) wrong("a bool, 0 or 1");
    return Value(integer == 1);
  }
  if (!parse_double(text, real)) wrong("a value");
  if (kind == TypeKind::int_ || kind == TypeKind::bool_) wrong("a value of type " + type->to_string());
  return kind == TypeKind::complex ? Value(std::complex<double>(real, 0)) : Value(real);
}

// The type of the elements where the text does not say it: of the first one, or of all when they differ.
TypePtr common_type(const std::vector<Value>& items) {
  if (items.empty()) return tensor_type();
  std::vector<TypePtr> types;
  for (const Value& v : items) types.push_back(v.is_tensor() ? tensor_type() : v.type());
  return union_type(types);
}

Value read_list(TextCursor& in, TypePtr type, const FindType& find) {
  const TextCursor::Nest nest(in);
  const TypePtr element = type && type->is(TypeKind::list) ? type->element() : nullptr;
  std::vector<Value> items;
  in.expect('[');
  if (!in.accept(']')) {
    do {
      items.push_back(read_literal(in, element, find));
    } while (in.accept(','));
    in.expect(']');
  }
  auto list = make_ref<List>(element ? element : common_type(items));
  for (Value& v : items) list->append(std::move(v));
  return Value(std::move(list));
}

Value read_tuple(TextCursor& in, TypePtr type, const FindType& find) {
  const TextCursor::Nest nest(in);
  const bool typed = type && type->is(TypeKind::tuple);
  std::vector<Value> items;
  in.expect('(');
  while (!in.accept(')')) {
    const TypePtr element =
        typed && items.size() < type->contained().size() ? type->contained()[items.size()] : nullptr;
    items.push_back(read_literal(in, element, find));
    if (!in.accept(',')) {
      in.expect(')');
      break;
    }
  }
  if (typed && items.size() != type->contained().size()) {
    in.fail("{} takes {} elements, got {}", type->to_string(), type->contained().size(), items.size());
  }
  const bool named = typed && !type->fields().empty();
  return Value(make_ref<Tuple>(std::move(items), named ? type : nullptr));
}

Value read_dict(TextCursor& in, TypePtr type, const FindType& find) {
  const TextCursor::Nest nest(in);
  const bool typed = type && type->is(TypeKind::dict);
  std::vector<Value> keys, values;
  in.expect('{');
  if (!in.accept('}')) {
    do {
      keys.push_back(read_literal(in, typed ? type->contained()[0] : nullptr, find));
      in.expect(':');
      values.push_back(read_literal(in, typed ? type->contained()[1] : nullptr, find));
    } while (in.accept(','));
    in.expect('}');
  }
  auto dict = typed ? make_ref<Dict>(type->contained()[0], type->contained()[1])
                    : make_ref<Dict>(common_type(keys), common_type(values));
  for (size_t i = 0; i < keys.size(); ++i) dict->set(std::move(keys[i]), std::move(values[i]));
  return Value(std::move(dict));
}

Value read_enum(TextCursor& in, TypePtr type) {
  const std::string_view text = in.word("_.");
  const size_t dot = text.rfind('.');
  if (dot == text.npos || text.substr(0, dot) != type->name()) in.expected("a member of " + type->name());
  const std::string member(text.substr(dot + 1));
  if (const Value* known = type->enum_info()->find(member)) return *known;
  // The text does not tell the member's own value.
  Value made(make_ref<EnumValue>(type, member, Value()));
  type->enum_info()->members.emplace_back(member, made);
  return made;
}

}  // namespace

Value read_literal(TextCursor& in, TypePtr type, const FindType& find) {
  if (type && type->is(TypeKind::optional)) {
    if (in.accept("None")) return Value();
    return read_literal(in, type->element(), find);
  }
  const TypeKind kind = type ? type->kind() : TypeKind::any;
  if (kind == TypeKind::tensor) return Value(read_tensor_literal(in, type));
  in.skip_spaces();
  if (in.rest().starts_with("<")) in.fail("'{}' stands for a value that the text does not have", in.line());
  if (in.accept("annotate(")) {
    const TypePtr annotated = read_type(in, find);
    in.expect(',');
    Value v = read_literal(in, annotated, find);
    in.expect(')');
    return v;
  }
  switch (in.peek()) {
    case '"': {
      const size_t from = in.at();
      Value v = read_string(in);
      if (kind != TypeKind::device) return v;
      try {
        return Value(parse_device(v.to_string_ref()));
      } catch (const Error& e) {
        in.set_at(from);
        in.fail("{}", e.message());
      }
    }
    case '[':
      return read_list(in, type, find);
    case '(':
      return read_tuple(in, type, find);
    case '{':
      if (kind == TypeKind::dict) return read_dict(in, type, find);
      return Value(read_tensor_literal(in, tensor_type()));
    default:
      break;
  }
  if (kind == TypeKind::enum_) return read_enum(in, type);
  if (in.accept("None")) return Value();
  if (in.accept("True")) return Value(true);
  if (in.accept("False")) return Value(false);
  return read_number(in, type);
}

TypePtr read_type(TextCursor& in, const FindType& find) {
  in.skip_spaces();
  const size_t from = in.at();
  int depth = 0;
  while (!in.at_end()) {
    const char c = in.peek();
    if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '=' || c == '\n')) break;
    if (c == '(' || c == '[' || c == '<' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '>' || c == '}') --depth;
    in.take();
  }
  std::string_view text = in.text().substr(from, in.at() - from);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty()) in.expected("a type");
  try {
    return parse_type(text, find);
  } catch (const Error& e) {
    in.set_at(from);
    constexpr size_t kMaxMessage = 1000;  // it repeats the type's text
    in.fail("{}", e.message().substr(0, kMaxMessage));
  }
}

}  // namespace sconce::ir
