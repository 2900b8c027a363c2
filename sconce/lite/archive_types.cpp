#include "sconce/lite/archive_types.h"

#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/selected.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {

using namespace std::string_view_literals;

constexpr int kMostNested = 64;  // types in types

// Reads one text.
class TypeReader {
 public:
  TypeReader(ArchiveTypes& types, std::string_view text, bool in_schema)
      : types_(types), text_(text), in_schema_(in_schema) {}

  TypePtr read() {
    const TypePtr type = one();
    if (at_ != text_.size()) wrong();
    return type;
  }

 private:
  [[noreturn, gnu::cold]] void wrong() const {
    fail(ErrorKind::value, "a type cannot be read at column {}: '{}'", {at_ + 1, text_});
  }
  bool accept(const char* word) {
    const size_t size = std::strlen(word);
    if (text_.compare(at_, size, word) != 0) return false;
    at_ += size;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return true;
  }
  void expect(const char* word) {
    if (!accept(word)) wrong();
  }
  std::string_view name() {
    const size_t end = std::min(text_.find_first_of("[](), ?"sv, at_), text_.size());
    if (end == at_) wrong();
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    accept("");  // spaces
    return found;
  }

  TypePtr one() {
    if (++depth_ > kMostNested) wrong();
    TypePtr type = plain();
    for (int suffixes = 0; suffixes < kMostNested; ++suffixes) {
      if (accept("[]"))
        type = list_type(type);
      else if (accept("?"))
        type = optional_type(type);
      else
        break;
    }
    --depth_;
    return type;
  }

  TypePtr plain() {
    std::string_view word = name();
    for (const char* module : {"torch.", "typing.", "builtins."}) {
      if (word.starts_with(module)) word.remove_prefix(std::strlen(module));
    }
    if (accept("[NamedTuple, [")) return named_tuple(word);
    if (const TypePtr simple = simple_type_by_name(word)) return simple;
    if (word == "device"sv) return device_type();
    if (word == "dtype"sv || word == "layout"sv || word == "memory_format"sv || word == "qscheme"sv) return int_type();
    if (at_ < text_.size() && text_[at_] == '[' && text_.compare(at_, 2, "[]"sv) != 0) return with_parts(word);
    if (const TypePtr known = types_.find(word)) return known;
    if (!word.starts_with("__torch__."sv)) fail(ErrorKind::value, "type '{}': unknown type '{}'", {text_, word});
    return in_schema_ ? any_type() : types_.find_class(word);
  }

  TypePtr with_parts(std::string_view word) {
    expect("[");
    std::vector<TypePtr> parts;
    if (!accept("()]")) {
      do {
        parts.push_back(one());
      } while (accept(","));
      expect("]");
    }
    if (word == "Tuple"sv) return tuple_type(parts);
    if (word == "Union"sv && !parts.empty()) return union_type(parts);
    if (word == "Dict"sv && parts.size() == 2) return dict_type(parts[0], parts[1]);
    if (parts.size() != 1) wrong();
    if (word == "List"sv) return list_type(parts[0]);
    if (word == "Optional"sv) return optional_type(parts[0]);
    if (word == "Future"sv) return future_type(parts[0]);
    wrong();
  }

  // [a, Tensor], [b, int]]]
  TypePtr named_tuple(std::string_view word) {
    std::vector<std::string> fields;
    std::vector<TypePtr> parts;
    while (accept("[")) {
      fields.push_back(std::string(name()));
      expect(",");
      parts.push_back(one());
      expect("]");
      accept(",");
    }
    expect("]");
    expect("]");
    const TypePtr type = named_tuple_type(word, parts, fields);
    types_.add(type);
    return type;
  }

  ArchiveTypes& types_;
  const std::string_view text_;
  const bool in_schema_;
  size_t at_ = 0;
  int depth_ = 0;
};

ArchiveTypes::ArchiveTypes() : scope_(make_ref<TypeScope>()) {}

TypePtr ArchiveTypes::find_class(std::string_view name) {
  if (name.starts_with(kCustomClasses)) {
    const TypePtr custom = custom_classes ? custom_classes->find(name) : nullptr;
    if (!custom) fail(ErrorKind::not_implemented, "<model>: needs the class '{}', which is not registered", {name});
    return custom;
  }
  TypePtr type = find(name);
  if (!type) {
    type = make_class_type(name);
    scope_->adopt(type);
    add(type);
  }
  if (!type->is(TypeKind::class_)) fail(ErrorKind::runtime, "<model>: '{}' is no class", {name});
  return type;
}

size_t ArchiveTypes::place_of(std::string_view name) const {
  size_t low = 0, high = named_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (named_[middle]->name() < name)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

TypePtr ArchiveTypes::find(std::string_view name) const {
  const size_t at = place_of(name);
  return at < named_.size() && named_[at]->name() == name ? named_[at] : nullptr;
}

void ArchiveTypes::add(TypePtr type) {
  const size_t at = place_of(type->name());
  if (at == named_.size() || named_[at]->name() != type->name()) {
    named_.push_back(nullptr);
    std::copy_backward(named_.begin() + static_cast<ptrdiff_t>(at), named_.end() - 1, named_.end());
  }
  named_[at] = type;
}

TypePtr ArchiveTypes::parse(std::string_view text, bool in_schema) { return TypeReader(*this, text, in_schema).read(); }

}  // namespace sconce::lite
