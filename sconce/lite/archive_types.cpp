#include "sconce/lite/archive_types.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/selected.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {

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
  [[noreturn]] void wrong() const {
    fail_as(ErrorKind::value, "a type cannot be read at column {}: '{}'", at_ + 1, text_);
  }
  bool accept(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) wrong();
  }
  std::string_view name() {
    const size_t end = std::min(text_.find_first_of("[](), ?", at_), text_.size());
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
    for (const std::string_view module : {"torch.", "typing.", "builtins."}) {
      if (word.starts_with(module)) word.remove_prefix(module.size());
    }
    if (accept("[NamedTuple, [")) return named_tuple(word);
    if (const TypePtr simple = simple_type_by_name(word)) return simple;
    if (word == "device") return device_type();
    if (word == "dtype" || word == "layout" || word == "memory_format" || word == "qscheme") return int_type();
    if (text_.substr(at_).starts_with("[") && !text_.substr(at_).starts_with("[]")) return with_parts(word);
    if (const TypePtr known = types_.find(word)) return known;
    if (!word.starts_with("__torch__.")) fail_as(ErrorKind::value, "type '{}': unknown type '{}'", text_, word);
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
    if (word == "Tuple") return tuple_type(parts);
    if (word == "Union" && !parts.empty()) return union_type(parts);
    if (word == "Dict" && parts.size() == 2) return dict_type(parts[0], parts[1]);
    if (parts.size() != 1) wrong();
    if (word == "List") return list_type(parts[0]);
    if (word == "Optional") return optional_type(parts[0]);
    if (word == "Future") return future_type(parts[0]);
    wrong();
  }

  // [a, Tensor], [b, int]]]
  TypePtr named_tuple(std::string_view word) {
    std::vector<std::string> fields;
    std::vector<TypePtr> parts;
    while (accept("[")) {
      fields.emplace_back(name());
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
    SCONCE_CHECK_AS(not_implemented, custom, "<model>: needs the class '{}', which is not registered", name);
    return custom;
  }
  TypePtr type = find(name);
  if (!type) {
    type = make_class_type(name);
    scope_->adopt(type);
    add(type);
  }
  SCONCE_CHECK(type->is(TypeKind::class_), "<model>: '{}' is no class", name);
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
