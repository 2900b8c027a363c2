// parse_type: one recursive parser for both spellings, since they never contradict each other.
#include <charconv>

#include "sconce/base/error.h"
#include "sconce/types/tensor_facts.h"
#include "sconce/types/type.h"

namespace sconce {
namespace {

constexpr int kMaxDepth = 64;

class TypeParser {
 public:
  TypeParser(std::string_view text, const FindType& find) : text_(text), find_(find) {}

  TypePtr parse() {
    const TypePtr type = parse_one();
    if (!at_end()) wrong("the end of the type");
    return type;
  }

 private:
  [[noreturn]] void wrong(std::string_view wanted) {
    skip_spaces();
    fail_as(ErrorKind::value, "type '{}': column {}: expected {}, got {}", text_, at_ + 1, wanted,
            at_ == text_.size() ? std::string("the end") : "'" + std::string(1, text_[at_]) + "'");
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool accept(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong("'" + std::string(1, c) + "'");
  }
  std::string_view word() {
    skip_spaces();
    const size_t from = at_;
    const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || (at_ > from && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.')))) {
      ++at_;
    }
    if (at_ == from) wrong("a type");
    return text_.substr(from, at_ - from);
  }

  TypePtr parse_one() {
    SCONCE_CHECK_AS(value, ++depth_ <= kMaxDepth, "type '{}': nested more than {} times", text_, kMaxDepth);
    TypePtr type = accept('(') ? tuple_type(list_until(')')) : parse_named();
    for (int suffixes = 0;; ++suffixes) {
      SCONCE_CHECK_AS(value, suffixes <= kMaxDepth, "type '{}': nested more than {} times", text_, kMaxDepth);
      if (accept('?')) {
        type = optional_type(type);
      } else if (accept('[')) {
        expect(']');
        type = list_type(type);
      } else {
        --depth_;
        return type;
      }
    }
  }

  std::vector<TypePtr> list_until(char close) {
    std::vector<TypePtr> types;
    if (accept(close)) return types;
    do {
      types.push_back(parse_one());
    } while (accept(','));
    expect(close);
    return types;
  }

  std::vector<TypePtr> parameters(size_t count) {
    if (!accept('[')) expect('(');
    const char close = text_[at_ - 1] == '[' ? ']' : ')';
    std::vector<TypePtr> types = list_until(close);
    if (types.size() != count) {
      fail_as(ErrorKind::value, "type '{}': column {}: expected {} parameters, got {}", text_, at_, count,
              types.size());
    }
    return types;
  }

  TypePtr parse_named() {
    const size_t from = at_;
    std::string_view name = word();
    for (std::string_view module : {"torch.", "typing.", "builtins."}) {
      if (name.starts_with(module)) name.remove_prefix(module.size());
    }
    if (name == "List") return list_type(parameters(1)[0]);
    if (name == "Optional") return optional_type(parameters(1)[0]);
    if (name == "Future" || name == "futures.Future") return future_type(parameters(1)[0]);
    if (name == "RRef") return rref_type(parameters(1)[0]);
    if (name == "Await") return await_type(parameters(1)[0]);
    if (name == "Dict") {
      const std::vector<TypePtr> types = parameters(2);
      return dict_type(types[0], types[1]);
    }
    if (name == "Union") {
      if (!accept('[')) expect('(');
      const std::vector<TypePtr> members = list_until(text_[at_ - 1] == '[' ? ']' : ')');
      if (members.empty()) wrong("the members of the union");
      return union_type(members);
    }
    if (name == "Tuple") {
      expect('[');
      if (accept('(')) {
        expect(')');
        expect(']');
        return tuple_type({});
      }
      const std::vector<TypePtr> elements = list_until(']');
      if (elements.empty()) wrong("'()' or types");
      return tuple_type(elements);
    }
    if (name == "NamedTuple") return parse_named_tuple();
    if (name == "Enum") {
      expect('<');
      const std::string_view enum_name = word();
      expect('>');
      const TypePtr type = find_ ? find_(enum_name) : nullptr;
      SCONCE_CHECK_AS(value, type && type->is(TypeKind::enum_), "type '{}': there is no enum '{}'", text_, enum_name);
      return type;
    }
    if (name == "InterfaceType") {
      expect('<');
      const std::string_view interface_name = word();
      expect('>');
      const TypePtr type = find_ ? find_(interface_name) : nullptr;
      SCONCE_CHECK_AS(value, type && type->is(TypeKind::interface), "type '{}': there is no interface '{}'", text_,
                      interface_name);
      return type;
    }
    if (name == "Function") return function_type("");
    if (TypePtr tensor = parse_tensor(name)) return tensor;
    if (TypePtr simple = simple_type_by_name(name)) return simple;
    if (name == "device") return device_type();
    if (name == "dtype" || name == "layout" || name == "memory_format" || name == "qscheme") return int_type();
    if (TypePtr type = find_ ? find_(name) : nullptr) return type;
    if (name.starts_with("__torch__.")) return class_type(name);
    fail_as(ErrorKind::value, "type '{}': column {}: unknown type '{}'", text_, from + 1, name);
  }

  // Float(2, *, strides=[3, 1], requires_grad=0, device=cpu), Tensor(requires_grad=1), FloatTensor; null for other
  // names and for Tensor alone.
  TypePtr parse_tensor(std::string_view name) {
    TensorFacts facts;
    const bool ranked = !name.ends_with("Tensor");
    if (!ranked) name.remove_suffix(6);
    for (const DType t : kAllDTypes) {
      if (dtype_legacy_name(t) == name) facts.dtype = t;
    }
    if (!facts.dtype && (ranked || !name.empty())) return nullptr;
    if (accept('(')) {
      if (ranked) facts.sizes.emplace();
      if (!accept(')')) {
        do {
          parse_fact(facts);
        } while (accept(','));
        expect(')');
      }
      const size_t sizes = facts.sizes ? facts.sizes->size() : 0,
                   strides = facts.strides ? facts.strides->size() : sizes;
      SCONCE_CHECK_AS(value, sizes == strides, "type '{}': {} sizes and {} strides", text_, sizes, strides);
    } else if (ranked) {
      return nullptr;
    }
    if (accept('[')) {
      if (!accept(']')) {
        if (word() != "Undefined") wrong("'Undefined'");
        expect(']');
        facts.undefined = true;
      } else {
        return list_type(refined_tensor_type(facts));
      }
    }
    return refined_tensor_type(facts);
  }

  void parse_fact(TensorFacts& facts) {
    skip_spaces();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '*' || c == '-' || (c >= '0' && c <= '9') || text_.substr(at_).starts_with("SS(")) {
      if (!facts.sizes) facts.sizes.emplace();
      facts.sizes->push_back(parse_size());
      return;
    }
    const std::string_view key = word();
    expect('=');
    if (key == "strides") {
      facts.strides.emplace();
      expect('[');
      if (accept(']')) return;
      do {
        facts.strides->push_back(parse_size());
      } while (accept(','));
      expect(']');
    } else if (key == "requires_grad") {
      facts.requires_grad = parse_size() != 0;
    } else if (key == "device") {
      skip_spaces();
      const size_t from = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') ++at_;
      facts.device = parse_device(text_.substr(from, at_ - from));
    } else {
      fail_as(ErrorKind::value, "type '{}': a tensor type has no '{}'", text_, key);
    }
  }

  int64_t parse_size() {
    if (accept('*')) return TensorFacts::kUnknown;
    skip_spaces();
    const bool symbol = text_.substr(at_).starts_with("SS(");
    if (symbol) at_ += 3;
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc() || (symbol ? n >= TensorFacts::kUnknown : n < 0)) wrong("a size");
    at_ = static_cast<size_t>(end - text_.data());
    if (symbol) expect(')');
    return n;
  }

  // IR text shows the defaults of a named tuple's fields; a constructor gives all of them, so the type does
  // not keep them.
  void skip_default() {
    for (int depth = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ')')) return;
      depth += c == '(' || c == '[' || c == '{';
      depth -= c == ')' || c == ']' || c == '}';
    }
  }

  TypePtr parse_named_tuple() {
    std::vector<TypePtr> types;
    std::vector<std::string> fields;
    expect('(');
    do {
      fields.emplace_back(word());
      expect(':');
      types.push_back(parse_one());
      if (accept('=')) skip_default();
    } while (accept(','));
    expect(')');
    return named_tuple_type("", types, fields);
  }

  std::string_view text_;
  const FindType& find_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

TypePtr parse_type(std::string_view text, const FindType& find) { return TypeParser(text, find).parse(); }

}  // namespace sconce
