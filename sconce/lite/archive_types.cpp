#include "sconce/lite/archive_types.h"

#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/lite/selected.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {

using namespace std::string_view_literals;

constexpr int kMostNested = 64;  // types in types

// Words that mean a type of another name; in front of words; of types with parameters.
constexpr struct {
  char name[14];
  TypeKind kind;
} kOtherNames[] = {{"device", TypeKind::device},
                   {"dtype", TypeKind::int_},
                   {"layout", TypeKind::int_},
                   {"memory_format", TypeKind::int_},
                   {"qscheme", TypeKind::int_}};
constexpr char kModules[][10] = {"torch.", "typing.", "builtins."};
constexpr char kWithParts[][9] = {"Tuple", "Union", "Dict", "List", "Optional", "Future"};

// Reads one text.
class TypeReader {
 public:
  TypeReader(ArchiveTypes& types, std::string_view text, bool in_schema)
      : types_(types), text_(text), left_(text), in_schema_(in_schema) {}

  TypePtr read() {
    const TypePtr type = one();
    if (!left_.empty()) wrong();
    return type;
  }

 private:
  [[noreturn, gnu::cold]] void wrong() const {
    fail_as(ErrorKind::value, "a type cannot be read at column {}: '{}'", text_.size() - left_.size() + 1, text_);
  }
  bool accept(const char* word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(std::strlen(word));
    while (left_.starts_with(' ')) left_.remove_prefix(1);
    return true;
  }
  void expect(const char* word) {
    if (!accept(word)) wrong();
  }
  static std::string_view name_in(std::string_view text) { return text.substr(0, text.find_first_of("[](), ?"sv)); }
  std::string_view name() {
    const std::string_view found = name_in(left_);
    if (found.empty()) wrong();
    left_.remove_prefix(found.size());
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
    for (const char* module : kModules) {
      if (word.starts_with(module)) word.remove_prefix(std::strlen(module));
    }
    if (accept("[NamedTuple, [")) return named_tuple(word);
    if (const TypePtr simple = simple_type_by_name(word)) return simple;
    for (const auto& other : kOtherNames) {
      if (word == other.name) return simple_type(other.kind);
    }
    if (left_.starts_with('[') && !left_.starts_with("[]")) return with_parts(word);
    if (const TypePtr known = types_.find(word)) return known;
    if (!word.starts_with("__torch__.")) fail_as(ErrorKind::value, "type '{}': unknown type '{}'", text_, word);
    return in_schema_ ? any_type() : types_.find_class(word);
  }

  TypePtr with_parts(std::string_view word) {
    expect("[");
    TypeList parts;
    if (!accept("()]")) {
      do {
        parts.push_back(one());
      } while (accept(","));
      expect("]");
    }
    size_t kind = 0;
    while (kind < std::size(kWithParts) && word != kWithParts[kind]) ++kind;
    // Of tuples any number, of unions at least one.
    if (kind > 0 && (kind == 1 ? parts.empty() : parts.size() != (kind == 2 ? 2 : 1))) wrong();
    switch (kind) {
      case 0:
        return tuple_type(parts);
      case 1:
        return union_type(parts);
      case 2:
        return dict_type(parts[0], parts[1]);
      case 3:
        return list_type(parts[0]);
      case 4:
        return optional_type(parts[0]);
      case 5:
        return future_type(parts[0]);
      default:
        wrong();
    }
  }

  // [a, Tensor], [b, int]]]
  TypePtr named_tuple(std::string_view word) {
    Dims names;  // where they are in the text
    TypeList parts;
    while (accept("[")) {
      names.push_back(name().data() - text_.data());
      expect(",");
      parts.push_back(one());
      expect("]");
      accept(",");
    }
    expect("]");
    expect("]");
    std::vector<std::string> fields(names.size());
    const int64_t* at = names.data();
    for (std::string& field : fields) field += name_in(text_.substr(static_cast<size_t>(*at++)));
    const TypePtr type = named_tuple_type(word, parts, std::move(fields));
    types_.add(type);
    return type;
  }

  ArchiveTypes& types_;
  const std::string_view text_;
  std::string_view left_;
  const bool in_schema_;
  int depth_ = 0;
};

ArchiveTypes::ArchiveTypes() : scope_(make_ref<TypeScope>()) {}

TypePtr ArchiveTypes::find_class(std::string_view name) {
  if (name.starts_with(kCustomClasses)) {
    const TypePtr custom = custom_classes ? custom_classes->find(name) : nullptr;
    if (!custom) fail_as(ErrorKind::not_implemented, "<model>: needs the class '{}', which is not registered", name);
    return custom;
  }
  TypePtr type = find(name);
  if (!type) {
    type = make_class_type(name, *scope_);
    add(type);
  }
  if (!type->is(TypeKind::class_)) fail("<model>: '{}' is no class", name);
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
  if (at == named_.size() || named_[at]->name() != type->name()) named_.insert(at, type);
  named_[at] = type;
}

TypePtr ArchiveTypes::parse(std::string_view text, bool in_schema) { return TypeReader(*this, text, in_schema).read(); }

}  // namespace sconce::lite
