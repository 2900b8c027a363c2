#include "sconce/dispatch/schema.h"

#include <charconv>
#include <limits>

#include "sconce/dispatch/binding/schema_words.h"

namespace sconce {
namespace {

// Reads a schema from left to right. Types may carry alias sets, which is why parse_type is not enough here.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    parse_name(schema);
    parse_arguments(schema);
    if (!accept("->")) wrong("'->'");
    parse_returns(schema);
    if (!at_end()) wrong("the end of the schema");
    return schema;
  }

 private:
  struct Parsed {
    TypePtr type;
    std::optional<int32_t> fixed_size;
    std::optional<AliasInfo> alias;
  };

  // Characters

  [[noreturn]] void wrong_at(size_t at, std::string_view wanted) {
    const std::string got = at >= text_.size() ? "the end" : "'" + std::string(text_.substr(at, 1)) + "'";
    fail_as(ErrorKind::value, "schema '{}': column {}: expected {}, got {}", text_, at + 1, wanted, got);
  }
  [[noreturn]] void wrong(std::string_view wanted) {
    skip_spaces();
    wrong_at(at_, wanted);
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool next_is(std::string_view token) {
    skip_spaces();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) wrong("'" + std::string(token) + "'");
  }
  static bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool at_word() {
    skip_spaces();
    return at_ < text_.size() && is_letter(text_[at_]);
  }
  // Letters, digits and underscores; with dots where `dotted`.
  std::string_view word(std::string_view wanted, bool dotted = false) {
    if (!at_word()) wrong(wanted);
    const size_t from = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || (dotted && text_[at_] == '.')))
      ++at_;
    return text_.substr(from, at_ - from);
  }
  int32_t small_integer(std::string_view wanted) {
    skip_spaces();
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 1) wrong(wanted);
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  // Grammar

  void parse_name(Schema& schema) {
    schema.name = word("the name of an operator");
    while (accept("::")) (schema.name += "::") += word("a name after '::'");
    if (accept(".")) schema.overload = word("the name of the overload");
  }

  void parse_arguments(Schema& schema) {
    expect("(");
    bool keyword_only = false;
    if (accept(")")) return;
    do {
      if (schema.is_vararg) wrong("')' after '...'");
      if (accept("...")) {
        schema.is_vararg = true;
      } else if (!keyword_only && accept("*")) {
        keyword_only = true;
      } else {
        schema.arguments.push_back(parse_argument(keyword_only));
      }
    } while (accept(","));
    expect(")");
  }

  Argument parse_argument(bool keyword_only) {
    Argument argument = typed(parse_type());
    argument.name = word("the name of the argument");
    argument.keyword_only = keyword_only;
    if (accept("=")) {
      skip_spaces();
      const size_t value_at = at_;
      argument.default_value = parse_default(plain_type(argument.type), argument.fixed_size);
      argument.default_text = text_.substr(value_at, at_ - value_at);
    }
    return argument;
  }

  static Argument typed(Parsed parsed) {
    Argument argument;
    argument.type = parsed.type;
    argument.fixed_size = parsed.fixed_size;
    argument.alias = std::move(parsed.alias);
    return argument;
  }

  void parse_returns(Schema& schema) {
    if (accept("...")) {
      schema.is_varret = true;
      return;
    }
    if (!accept("(")) {
      schema.returns.push_back(parse_return());
      return;
    }
    schema.single_return = false;
    if (accept(")")) return;
    do {
      if (schema.is_varret) wrong("')' after '...'");
      if (accept("...")) {
        schema.is_varret = true;
      } else {
        schema.returns.push_back(parse_return());
      }
    } while (accept(","));
    expect(")");
  }

  Argument parse_return() {
    Argument result = typed(parse_type());
    if (at_word()) result.name = word("a name");
    return result;
  }

  Parsed parse_type() {
    if (++depth_ > 32) wrong("a type nested at most 32 times");
    Parsed parsed = parse_base();
    parsed.alias = parse_alias();
    while (true) {
      if (accept("[")) {
        if (!accept("]")) {
          parsed.fixed_size = small_integer("']' or the size of the list");
          expect("]");
        }
        parsed.type = list_type(parsed.type);
        std::optional<AliasInfo> inner = std::move(parsed.alias);
        parsed.alias = parse_alias();
        if (inner) {
          if (!parsed.alias) parsed.alias.emplace();
          parsed.alias->contained.push_back(std::move(*inner));
        }
      } else if (accept("?")) {
        parsed.type = optional_type(parsed.type);
      } else {
        --depth_;
        return parsed;
      }
    }
  }

  Parsed parse_base() {
    if (accept("(")) return {tuple_type(parse_types()), {}, {}};
    skip_spaces();
    const size_t from = at_;
    const std::string_view name = word("a type", true);
    if (name == "Dict") {
      expect("(");
      const std::vector<TypePtr> types = parse_types();
      if (types.size() != 2) wrong_at(from, "Dict with a key and a value type");
      return {dict_type(types[0], types[1]), {}, {}};
    }
    if (name == "Future" || name == "RRef" || name == "Await") {
      expect("(");
      const std::vector<TypePtr> types = parse_types();
      if (types.size() != 1) wrong_at(from, "one parameter for '" + std::string(name) + "'");
      if (name == "Future") return {future_type(types[0]), {}, {}};
      return {name == "RRef" ? rref_type(types[0]) : await_type(types[0]), {}, {}};
    }
    if (const TypePtr simple = simple_type_by_name(name)) return {simple, {}, {}};
    if (name.starts_with("__torch__.")) return {class_type(name), {}, {}};
    // A lower-case word is a type variable.
    if (name[0] >= 'a' && name[0] <= 'z' && name.find('.') == std::string_view::npos)
      return {variable_type(name), {}, {}};
    wrong_at(from, "a type; there is no type '" + std::string(name) + "'");
  }

  std::vector<TypePtr> parse_types() {
    std::vector<TypePtr> types;
    if (accept(")")) return types;
    do {
      types.push_back(parse_type().type);
    } while (accept(","));
    expect(")");
    return types;
  }

  // (a), (a!), (a -> *), (a|b), directly behind the type.
  std::optional<AliasInfo> parse_alias() {
    if (at_ >= text_.size() || text_[at_] != '(') return std::nullopt;
    ++at_;
    AliasInfo alias;
    alias.before = parse_sets();
    alias.write = accept("!");
    if (accept("->")) alias.after = parse_sets();
    expect(")");
    return alias;
  }

  std::vector<std::string> parse_sets() {
    std::vector<std::string> sets;
    do {
      sets.emplace_back(accept("*") ? std::string_view("*") : word("the name of an alias set"));
    } while (accept("|"));
    return sets;
  }

  // Defaults

  Value parse_default(TypePtr type, std::optional<int32_t> fixed_size) {
    if (next_is("None")) {
      at_ += 4;
      return Value();
    }
    if (type->is(TypeKind::optional)) return parse_default(type->element(), fixed_size);
    if (type->is(TypeKind::list)) return parse_list_default(type->element(), fixed_size);
    const bool any = type->is(TypeKind::any) || type->is(TypeKind::variable);
    if (next_is("True") || next_is("False")) {
      if (!any && !type->is(TypeKind::bool_) && !type->is(TypeKind::number))
        wrong("a default of type " + type->to_string());
      const bool value = accept("True");
      if (!value) accept("False");
      return value;
    }
    if (next_is("\"") || next_is("'")) {
      if (!any && !type->is(TypeKind::string) && !type->is(TypeKind::device))
        wrong("a default of type " + type->to_string());
      const std::string text = parse_string();
      return type->is(TypeKind::device) ? Value(parse_device(text)) : Value(text);
    }
    if (at_word()) return parse_word_default(type);
    return parse_number(type);
  }

  Value parse_list_default(TypePtr element, std::optional<int32_t> fixed_size) {
    Ref<List> list = make_ref<List>(element);
    if (accept("[")) {
      if (accept("]")) return list;
      do {
        list->append(parse_default(element, {}));
      } while (accept(","));
      expect("]");
    } else {
      // int[2] stride=1
      if (!fixed_size) wrong("'['");
      const Value item = parse_default(element, {});
      for (int32_t i = 0; i < *fixed_size; ++i) list->append(item);
    }
    return list;
  }

  Value parse_word_default(TypePtr type) {
    const size_t from = at_;
    const std::string_view name = word("a default value");
    if (type->is(TypeKind::float_) || type->is(TypeKind::number)) {
      if (name == "inf") return std::numeric_limits<double>::infinity();
      if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
    }
    if (type->is(TypeKind::int_)) {
      if (const std::optional<int64_t> known = named_default(name)) return *known;
    }
    if (type->is(TypeKind::device)) {
      const std::string device(name);
      if (device == "cpu" || device == "cuda" || device == "meta") return parse_device(device);
    }
    wrong_at(from, "a default of type " + type->to_string());
  }

  Value parse_number(TypePtr type) {
    skip_spaces();
    const size_t from = at_;
    const char* const end = text_.data() + text_.size();
    const bool negative_word = text_.substr(at_).starts_with("-inf");
    if (negative_word) {
      at_ += 4;
      return -std::numeric_limits<double>::infinity();
    }
    int64_t whole = 0;
    const std::from_chars_result integer = std::from_chars(text_.data() + at_, end, whole);
    double real = 0;
    const std::from_chars_result floating = std::from_chars(text_.data() + at_, end, real);
    if (floating.ec != std::errc()) wrong("a default of type " + type->to_string());
    const bool is_whole = integer.ec == std::errc() && integer.ptr == floating.ptr;
    at_ = static_cast<size_t>(floating.ptr - text_.data());
    if (type->is(TypeKind::int_)) {
      if (!is_whole) wrong_at(from, "an int");
      return whole;
    }
    if (type->is(TypeKind::float_)) return real;
    if (type->is(TypeKind::complex)) return std::complex<double>(real);
    if (type->is(TypeKind::number) || type->is(TypeKind::any) || type->is(TypeKind::variable)) {
      return is_whole ? Value(whole) : Value(real);
    }
    wrong_at(from, "a default of type " + type->to_string());
  }

  std::string parse_string() {
    const char quote = text_[at_];
    const size_t from = at_++;
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        switch (c) {
          case 'n':
            c = '\n';
            break;
          case 't':
            c = '\t';
            break;
          case 'r':
            c = '\r';
            break;
          case 'f':
            c = '\f';
            break;
          case 'v':
            c = '\v';
            break;
          case '0':
            c = '\0';
            break;
          default:
            break;  // a quote or a backslash stands for itself
        }
      }
      out += c;
    }
    if (at_ == text_.size()) wrong_at(from, "a string that ends");
    ++at_;
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string print_sets(const std::vector<std::string>& sets) {
  std::string out;
  for (const std::string& set : sets) {
    if (!out.empty()) out += "|";
    out += set;
  }
  return out;
}

std::string print_alias(const AliasInfo* alias) {
  if (!alias || alias->before.empty()) return "";
  std::string out = "(" + print_sets(alias->before);
  if (alias->write) out += "!";
  if (!alias->after.empty()) out += " -> " + print_sets(alias->after);
  return out + ")";
}

std::string print_type(TypePtr type, const std::optional<int32_t>& fixed_size, const AliasInfo* alias) {
  if (type->is(TypeKind::optional)) return print_type(type->element(), fixed_size, alias) + "?";
  if (type->is(TypeKind::list)) {
    const AliasInfo* inner = alias && !alias->contained.empty() ? &alias->contained[0] : nullptr;
    return print_type(type->element(), {}, inner) + "[" + (fixed_size ? std::to_string(*fixed_size) : "") + "]" +
           print_alias(alias);
  }
  // The one word that IR text spells in another way.
  if (type->is(TypeKind::future)) return "Future(" + type->element()->to_string() + ")" + print_alias(alias);
  return type->to_string() + print_alias(alias);
}

std::string print_argument(const Argument& argument) {
  std::string out = print_type(argument.type, argument.fixed_size, argument.alias ? &*argument.alias : nullptr);
  if (!argument.name.empty()) out += " " + argument.name;
  if (argument.default_value) out += "=" + argument.default_text;
  return out;
}

bool writes(const AliasInfo& alias) {
  if (alias.write) return true;
  for (const AliasInfo& inner : alias.contained) {
    if (writes(inner)) return true;
  }
  return false;
}

}  // namespace

bool Argument::is_written() const { return alias && writes(*alias); }

bool Schema::is_mutable() const {
  for (const Argument& argument : arguments) {
    if (argument.is_written()) return true;
  }
  return false;
}

std::optional<size_t> Schema::find_argument(std::string_view wanted) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == wanted) return i;
  }
  return std::nullopt;
}

std::string Schema::qualified_name() const { return overload.empty() ? name : name + "." + overload; }

std::string Schema::to_string() const {
  std::string out = qualified_name() + "(";
  const auto separate = [&] {
    if (out.back() != '(') out += ", ";
  };
  bool keyword_only = false;
  for (const Argument& argument : arguments) {
    separate();
    if (argument.keyword_only && !keyword_only) {
      out += "*, ";
      keyword_only = true;
    }
    out += print_argument(argument);
  }
  if (is_vararg) {
    separate();
    out += "...";
  }
  out += ") -> ";
  if (single_return) return out + (is_varret ? std::string("...") : print_argument(returns[0]));
  out += "(";
  for (const Argument& result : returns) {
    separate();
    out += print_argument(result);
  }
  if (is_varret) {
    separate();
    out += "...";
  }
  return out + ")";
}

std::optional<int64_t> named_default(std::string_view name) {
  struct Known {
    char name[18];  // without an address, which a loader would have to fill in
    uint8_t value;
  };
  static constexpr Known kKnown[] = {{"Mean", 1},
                                     {"Sum", 2},
                                     {"contiguous_format", static_cast<uint8_t>(MemoryFormat::contiguous)},
                                     {"preserve_format", static_cast<uint8_t>(MemoryFormat::preserve)},
                                     {"channels_last", static_cast<uint8_t>(MemoryFormat::channels_last)},
                                     {"channels_last_3d", static_cast<uint8_t>(MemoryFormat::channels_last_3d)},
                                     {"strided", static_cast<uint8_t>(Layout::strided)},
                                     {"long", static_cast<uint8_t>(DType::int64)},
                                     {"float", static_cast<uint8_t>(DType::float32)}};
  for (const Known& known : kKnown) {
    if (known.name == name) return known.value;
  }
  DType dtype;
  if (dtype_from_name(name, &dtype)) return static_cast<int64_t>(dtype);
  return std::nullopt;
}

Schema parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

}  // namespace sconce
