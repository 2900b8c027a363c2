#include "sconce/types/type.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/text/packed_texts.h"
#include "sconce/types/tensor_facts.h"
#include "sconce/types/type_table.h"

namespace sconce {

std::string facts_text(const TensorFacts& facts);  // tensor_facts.cpp

namespace {

constexpr size_t kSimpleKinds = static_cast<size_t>(TypeKind::list);

// What IR text calls the kinds, in their order; what stands before the name of an interface or enum.
constexpr char kNames[] =
    "Any\0Tensor\0int\0float\0complex\0bool\0Scalar\0str\0NoneType\0Device\0Generator\0Stream\0Storage\0Capsule\0"
    "PyObject\0list\0tuple\0AnyClassType\0AnyEnumType\0"
    "SymInt\0SymFloat\0SymBool\0ScalarType\0Layout\0MemoryFormat\0QScheme\0Dimname\0DeviceIndex\0"
    "List\0Optional\0Tuple\0Dict\0Union\0Future\0RRef\0Await\0\0InterfaceType<\0Enum<\0Function\0";
static_assert(std::count(std::begin(kNames), std::end(kNames), '\0') == static_cast<int>(TypeKind::variable) + 1);
const char* name_of(TypeKind kind) { return nth_text(kNames, static_cast<size_t>(kind)); }

// The kind behind the words that only schemas use.
TypeKind plain_kind(TypeKind kind) {
  static constexpr TypeKind kPlain[] = {TypeKind::int_, TypeKind::float_, TypeKind::bool_,
                                        TypeKind::int_, TypeKind::int_,   TypeKind::int_,
                                        TypeKind::int_, TypeKind::string, TypeKind::int_};
  return kind < TypeKind::sym_int || kind > TypeKind::device_index
             ? kind
             : kPlain[static_cast<size_t>(kind) - static_cast<size_t>(TypeKind::sym_int)];
}

}  // namespace

Type::Type(const Parts& parts) : kind_(parts.kind), contained_(parts.contained) {
  name_.append(parts.name);
  if (parts.fields) fields_.swap(*parts.fields);
}
Type::~Type() = default;

void Type::retain_scopes() const noexcept {
  for (TypePtr c : classes_) c->scope_->count.retain();
}
void Type::release_scopes() const noexcept {
  // The first to go may take the type with it: all are read before.
  const auto release_from = [this](const auto& self, size_t at) noexcept -> void {
    TypeScope* scope = classes_[at]->scope_;
    if (at + 1 < classes_.size()) self(self, at + 1);
    release(scope);
  };
  if (!classes_.empty()) release_from(release_from, 0);
}

TypePtr simple_type_by_name(std::string_view name) {
  const char* known = kNames;
  for (size_t kind = 0; kind < kSimpleKinds; ++kind) {
    if (name == known) return simple_type(static_cast<TypeKind>(kind));
    known = nth_text(known, 1);
  }
  if (name == "None") return none_type();
  if (name == "number") return number_type();
  return nullptr;
}

TypePtr list_type(TypePtr element) { return TypeTable::list_of(element); }

TypePtr optional_type(TypePtr element) {
  if (element->is(TypeKind::optional) || element->is(TypeKind::none)) return element;
  if (element->is(TypeKind::union_)) return union_type({element, none_type()});
  return TypeTable::optional_of(element);
}

static TypePtr interned(TypeKind kind, ListRef<TypePtr> contained, std::string_view name = {}) {
  return TypeTable::intern({kind, contained, name});
}
TypePtr tuple_type(ListRef<TypePtr> elements) { return interned(TypeKind::tuple, elements); }
TypePtr dict_type(TypePtr key, TypePtr value) { return interned(TypeKind::dict, {key, value}); }
TypePtr future_type(TypePtr element) { return interned(TypeKind::future, {element}); }
TypePtr rref_type(TypePtr element) { return interned(TypeKind::rref, {element}); }
TypePtr await_type(TypePtr element) { return interned(TypeKind::await, {element}); }
TypePtr variable_type(std::string_view name) { return interned(TypeKind::variable, {}, name); }
TypePtr function_type(std::string_view name) { return interned(TypeKind::function, {}, name); }

// Members of a union have one order, PyTorch's: by kind, then by their text.
static std::string place_in_union(TypePtr type) {
  using enum TypeKind;
  static constexpr TypeKind kOrder[] = {any,    enum_,  any_enum, tensor,    storage,   tuple,    list,
                                        dict,   number, float_,   complex,   future,    await,    rref,
                                        int_,   none,   string,   generator, bool_,     optional, variable,
                                        device, stream, function, class_,    py_object, capsule,  interface};
  size_t place = 0;
  while (place < std::size(kOrder) && !type->is(kOrder[place])) ++place;
  std::string text(1, static_cast<char>(place + 1));
  type->print(text, false);
  return text;
}

// Unless a member covers it; it may cover members.
static void add_member(TypeList& members, TypePtr type) {
  const bool is_optional = type->is(TypeKind::optional);
  if (is_optional || type->is(TypeKind::union_)) {
    for (TypePtr t : type->contained()) add_member(members, t);
    if (!is_optional) return;
    type = none_type();
  }
  for (size_t i = members.size(); i-- > 0;) {
    if (is_subtype(type, members[i])) return;
    if (is_subtype(members[i], type)) members.erase(i);
  }
  const std::string place = place_in_union(type);
  size_t at = 0;
  while (at < members.size() && std::strcmp(place_in_union(members[at]).c_str(), place.c_str()) <= 0) ++at;
  members.insert(at, type);
}

TypePtr union_type(ListRef<TypePtr> types) {
  SCONCE_CHECK_AS(type, !types.empty(), "a union needs at least one type");
  TypeList members;
  for (TypePtr type : types) add_member(members, type);
  // All numbers together are Scalar, which covers them.
  int numbers = 0;
  for (TypePtr t : members) numbers += t->is(TypeKind::int_) || t->is(TypeKind::float_) || t->is(TypeKind::complex);
  if (numbers == 3) add_member(members, number_type());
  if (members.size() == 1) return members[0];
  const bool none_first = members[0]->is(TypeKind::none);
  if (members.size() == 2 && (none_first || members[1]->is(TypeKind::none))) return optional_type(members[none_first]);
  return interned(TypeKind::union_, members);
}

TypePtr named_tuple_type(std::string_view name, ListRef<TypePtr> elements, std::vector<std::string> fields) {
  SCONCE_CHECK_AS(type, elements.size() == fields.size(), "named tuple '{}' has {} fields but {} types", name,
                  fields.size(), elements.size());
  return TypeTable::intern({TypeKind::tuple, elements, name, &fields});
}

TypePtr plain_type(TypePtr type) {
  const TypeKind kind = type->kind(), plain = plain_kind(kind);
  if (plain != kind) return simple_type(plain);
  if (kind < TypeKind::list || kind > TypeKind::dict || !type->fields().empty()) return type;
  TypeList parts;
  for (TypePtr t : type->contained()) parts.push_back(plain_type(t));
  if (kind == TypeKind::list) return list_type(parts[0]);
  if (kind == TypeKind::optional) return optional_type(parts[0]);
  return interned(kind, parts);
}

namespace {

#ifdef SCONCE_SMALL  // whose programs know nothing of tensors before they run
constexpr bool is_subtype_of_facts(const TensorFacts*, const TensorFacts*) { return true; }
#else
// Everything that `b` says, `a` says too.
bool is_subtype_of_facts(const TensorFacts* a, const TensorFacts* b) {
  if (!b) return true;
  TensorFacts wanted = *b;
  wanted.inferred = false;
  if (wanted == TensorFacts()) return true;
  if (!a) return false;
  TensorFacts common = common_facts(*a, wanted);
  return common == wanted;
}
#endif

}  // namespace

bool is_subtype(TypePtr a, TypePtr b) {
  using enum TypeKind;
  const TypeKind kind = b->kind();
  if (a == b || kind == any) return true;
  if (a->is(optional) || a->is(union_)) {
    for (TypePtr t : a->contained()) {
      if (!is_subtype(t, b)) return false;
    }
    return a->is(union_) || is_subtype(none_type(), b);
  }
  if (kind == optional || kind == union_) {
    for (TypePtr t : b->contained()) {
      if (is_subtype(a, t)) return true;
    }
    return kind == optional && a->is(none);
  }
  if (kind == number) {
    const TypeKind plain = plain_kind(a->kind());
    return plain == int_ || plain == float_ || plain == complex;
  }
  if (kind >= any_list && kind <= any_enum) {
    static constexpr TypeKind kWanted[] = {list, tuple, class_, enum_};
    return a->is(kWanted[static_cast<size_t>(kind) - static_cast<size_t>(any_list)]);
  }
  if (kind == tensor && a->is(tensor)) return is_subtype_of_facts(a->tensor_facts(), b->tensor_facts());
  if (kind == tuple || kind == future || kind == rref || kind == await) {
    const ListRef<TypePtr> from = a->contained(), to = b->contained();
    if (!a->is(kind) || !b->fields().empty() || from.size() != to.size()) return false;
    for (size_t i = 0; i < to.size(); ++i) {
      if (!is_subtype(from[i], to[i])) return false;
    }
    return true;
  }
  // Lists are invariant, but facts of the elements may be forgotten.
  if (kind == list && a->is(list) && a->element()->is(tensor) && b->element() == tensor_type()) return true;
  return plain_type(a) == b;
}

std::string Type::to_string() const {
  std::string out;
  print(out, false);
  return out;
}

std::string Type::annotation() const {
  std::string out;
  print(out, true);
  return out;
}

void Type::print(std::string& out, bool as_python) const {
  using enum TypeKind;
  if (!as_python && (is(list) || is(optional))) {
    element()->print(out, false);
    out += is(list) ? "[]" : "?";
    return;
  }
#ifndef SCONCE_SMALL
  if (tensor_facts_) {
    out += !as_python ? facts_text(*tensor_facts_) : tensor_facts_->inferred ? "Tensor (inferred)" : "Tensor";
    return;
  }
#endif
  const char* word = name_of(as_python ? plain_kind(kind_) : kind_);
  if ((kind_ >= class_ && !is(function)) || (as_python && is(tuple) && !name_.empty())) {
    const bool is_wrapped = !as_python && *word != '\0';
    if (is_wrapped) out += word;
    out += name_.c_str() + (is_wrapped && is(interface) ? name_.rfind('.') + 1 : 0);
    if (is_wrapped) out += ">";
    return;
  }
  if (as_python && is(number)) word = "number";
  if (!as_python && is(tuple)) word = fields_.empty() ? "" : "NamedTuple";
  out += word;
  if (kind_ < list || is(function)) return;
  const bool is_square = as_python || is(future);
  out += is_square ? "[" : "(";
  if (as_python && is(tuple) && contained_.empty()) out += "()";
  for (size_t i = 0; i < contained_.size(); ++i) {
    if (i != 0) out += ", ";
    if (!as_python && !fields_.empty()) {
      out += fields_[i].c_str();
      out += " : ";
    }
    contained_[i]->print(out, as_python);
  }
  out += is_square ? "]" : ")";
}

}  // namespace sconce
