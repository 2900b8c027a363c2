#include "sconce/types/type.h"

#include <algorithm>
#include <mutex>

#include "sconce/base/error.h"
#include "sconce/types/class_info.h"
#include "sconce/types/hash.h"
#include "sconce/types/tensor_facts.h"

namespace sconce {
namespace {

constexpr int kSimpleKinds = static_cast<int>(TypeKind::list);

// What IR text calls a kind, and the kind behind the words that only schemas use.
struct KindRow {
  char name[13];
  TypeKind plain;
};
constexpr KindRow kKinds[] = {
    {"Any", TypeKind::any},
    {"Tensor", TypeKind::tensor},
    {"int", TypeKind::int_},
    {"float", TypeKind::float_},
    {"complex", TypeKind::complex},
    {"bool", TypeKind::bool_},
    {"Scalar", TypeKind::number},
    {"str", TypeKind::string},
    {"NoneType", TypeKind::none},
    {"Device", TypeKind::device},
    {"Generator", TypeKind::generator},
    {"Stream", TypeKind::stream},
    {"Storage", TypeKind::storage},
    {"Capsule", TypeKind::capsule},
    {"PyObject", TypeKind::py_object},
    {"list", TypeKind::any_list},
    {"tuple", TypeKind::any_tuple},
    {"AnyClassType", TypeKind::any_class},
    {"AnyEnumType", TypeKind::any_enum},
    {"SymInt", TypeKind::int_},
    {"SymFloat", TypeKind::float_},
    {"SymBool", TypeKind::bool_},
    {"ScalarType", TypeKind::int_},
    {"Layout", TypeKind::int_},
    {"MemoryFormat", TypeKind::int_},
    {"QScheme", TypeKind::int_},
    {"Dimname", TypeKind::string},
    {"DeviceIndex", TypeKind::int_},
    {"List", TypeKind::list},
    {"Optional", TypeKind::optional},
    {"Tuple", TypeKind::tuple},
    {"Dict", TypeKind::dict},
    {"Union", TypeKind::union_},
    {"Future", TypeKind::future},
    {"RRef", TypeKind::rref},
    {"Await", TypeKind::await},
    {"", TypeKind::class_},
    {"", TypeKind::interface},
    {"", TypeKind::enum_},
    {"Function", TypeKind::function},
    {"", TypeKind::variable},
};
static_assert(std::size(kKinds) == static_cast<size_t>(TypeKind::variable) + 1);
constexpr const KindRow& row_of(TypeKind kind) { return kKinds[static_cast<size_t>(kind)]; }

struct ClassType final : Type {
  explicit ClassType(std::string_view name) : Type({TypeKind::class_, {}, name, {}}) { class_info_ = &info; }
  ClassInfo info;
};
struct InterfaceType final : Type {
  explicit InterfaceType(std::string_view name) : Type({TypeKind::interface, {}, name, {}}) { interface_info_ = &info; }
  InterfaceInfo info;
};
struct EnumType final : Type {
  EnumType(std::string_view name, TypePtr value) : Type({TypeKind::enum_, {value}, name, {}}) { enum_info_ = &info; }
  EnumInfo info;
};
struct RefinedType final : Type {
  explicit RefinedType(const TensorFacts& known) : Type({TypeKind::tensor, {}, {}, {}}), facts(known) {
    tensor_facts_ = &facts;
  }
  TensorFacts facts;
};

}  // namespace

std::string facts_text(const TensorFacts& facts);  // tensor_facts.cpp

// Owns the types that live forever, and knows all that are interned: a hash table over what they are made of.
class TypeTable {
 public:
  using Parts = Type::Parts;

  static TypeTable& get() {
    static TypeTable& table = *new TypeTable;
    return table;
  }

  TypePtr simple(TypeKind kind) const { return &simple_[static_cast<int>(kind)]; }

  TypePtr intern(const Parts& parts) {
    const int64_t hash = hash_of(parts);
    const std::lock_guard lock(mutex_);
    if (const TypePtr known = find(parts, hash)) return known;
    std::unique_ptr<Type> type(new Type(parts));
    // A hash that a scope knows and the table does not, because there was no memory for the rest, does no harm.
    for (TypePtr t : parts.contained) {
      for (TypeScope* scope : t->scopes_) {
        if (is_in(*type, scope)) continue;
        type->bound_ = true;
        type->scopes_.push_back(scope);
        scope->hashes_.push_back(hash);
      }
    }
    return insert(std::move(type), hash);
  }

  // The class of this name that the process has once.
  TypePtr shared_class(std::string_view name) {
    const Parts parts = {TypeKind::class_, {}, name, {}};
    const int64_t hash = hash_of(parts);
    const std::lock_guard lock(mutex_);
    const TypePtr known = find(parts, hash);
    return known ? known : insert(std::make_unique<ClassType>(name), hash);
  }
  TypePtr find_class(std::string_view name) {
    const Parts parts = {TypeKind::class_, {}, name, {}};
    const std::lock_guard lock(mutex_);
    return find(parts, hash_of(parts));
  }

  TypePtr refined(const TensorFacts& facts) {
    const std::lock_guard lock(mutex_);
    for (TypePtr type = refined_; type; type = type->next_) {
      if (*type->tensor_facts() == facts) return type;
    }
    return push(refined_, std::make_unique<RefinedType>(facts));
  }

  // A type that is equal to itself alone.
  TypePtr nominal(std::unique_ptr<Type> type) {
    const std::lock_guard lock(mutex_);
    return push(loose_, std::move(type));
  }

  // Without memory for it the type is gone.
  void adopt(TypeScope& scope, TypePtr type) {
    const std::lock_guard lock(mutex_);
    Type** link = &loose_;  // most are adopted as soon as they are made, and stand in front
    while (*link != type) {
      if (!*link) return;
      link = &(*link)->next_;
    }
    std::unique_ptr<Type> mine = pop(*link);
    mine->scopes_.push_back(&scope);
    mine->bound_ = true;
    push(scope.types_, std::move(mine));
  }

  // Deletes a scope with its types and what is interned over them. Takes no memory: programs end where there is none.
  void destroy(TypeScope* scope) noexcept {
    {
      const std::lock_guard lock(mutex_);
      for (const int64_t hash : scope->hashes_) {
        for (Type** link = &bucket(hash); *link;) {
          if (!is_in(**link, scope)) {
            link = &(*link)->next_;
          } else {
            pop(*link);
            --count_;
          }
        }
      }
    }
    delete scope;
  }

  // Lists and optionals are asked for all the time: their parameter remembers them.
  TypePtr remembered(std::atomic<TypePtr>& place, TypeKind kind, TypePtr element) {
    TypePtr type = place.load(std::memory_order_acquire);
    if (!type) place.store(type = intern({kind, {element}, {}, {}}), std::memory_order_release);
    return type;
  }
  TypePtr list_of(TypePtr element) { return remembered(element->list_, TypeKind::list, element); }
  TypePtr optional_of(TypePtr element) { return remembered(element->optional_, TypeKind::optional, element); }

  static std::unique_ptr<Type> pop(Type*& link) {
    std::unique_ptr<Type> first(link);
    link = first->next_;
    return first;
  }

 private:
  TypeTable() {
    for (int kind = 0; kind < kSimpleKinds; ++kind) simple_[kind].kind_ = static_cast<TypeKind>(kind);
  }

  static TypePtr push(Type*& list, std::unique_ptr<Type> type) {
    type->next_ = list;
    return list = type.release();
  }

  static bool is_in(const Type& type, const TypeScope* scope) {
    for (const TypeScope* s : type.scopes_) {
      if (s == scope) return true;
    }
    return false;
  }

  static int64_t hash_of(const Parts& parts) {
    size_t hash = static_cast<size_t>(parts.kind);
    const auto add = [&](size_t part) { hash = mix_hash(hash ^ part); };
    for (TypePtr t : parts.contained) add(reinterpret_cast<uintptr_t>(t));
    add(std::hash<std::string_view>()(parts.name));
    for (const std::string& field : parts.fields) add(std::hash<std::string_view>()(field));
    return static_cast<int64_t>(hash);
  }

  Type*& bucket(int64_t hash) { return buckets_[static_cast<size_t>(hash) & (slots_ - 1)]; }

  TypePtr find(const Parts& parts, int64_t hash) {
    if (count_ == slots_) grow();
    for (TypePtr t = bucket(hash); t; t = t->next_) {
      if (t->hash_ == hash && t->kind_ == parts.kind && t->contained() == parts.contained && t->name_ == parts.name &&
          ListRef<std::string>(t->fields_) == parts.fields) {
        return t;
      }
    }
    return nullptr;
  }
  TypePtr insert(std::unique_ptr<Type> type, int64_t hash) {
    type->hash_ = hash;
    ++count_;
    return push(bucket(hash), std::move(type));
  }
  void grow() {
    const size_t wider = slots_ ? 2 * slots_ : 64;
    const std::unique_ptr<Type*[]> old = std::exchange(buckets_, std::unique_ptr<Type*[]>(new Type*[wider]()));
    const size_t before = std::exchange(slots_, wider);
    for (size_t i = 0; i < before; ++i) {
      for (Type* type = old[i]; type;) {
        Type*& to = bucket(type->hash_);
        Type* next = std::exchange(type->next_, to);
        to = std::exchange(type, next);
      }
    }
  }

  std::mutex mutex_;  // also of the lists in scopes
  Type simple_[kSimpleKinds];
  std::unique_ptr<Type*[]> buckets_;
  size_t slots_ = 0, count_ = 0;
  Type* loose_ = nullptr;  // nominal types that nobody has adopted
  Type* refined_ = nullptr;
};

Type::Type(const Parts& parts)
    : kind_(parts.kind),
      contained_(parts.contained),
      name_(parts.name),
      fields_(parts.fields.begin(), parts.fields.end()) {}
Type::~Type() = default;

void Type::retain_scopes() const noexcept {
  for (TypeScope* scope : scopes_) scope->count.retain();
}
void Type::release_scopes() const noexcept {
  // The first to go may take the type with it: all are read before.
  const auto release_from = [this](const auto& self, size_t at) noexcept -> void {
    TypeScope* scope = scopes_[at];
    if (at + 1 < scopes_.size()) self(self, at + 1);
    release(scope);
  };
  if (!scopes_.empty()) release_from(release_from, 0);
}

TypeScope::TypeScope() {
  TypeTable::get();  // made here: the end of a scope must not need memory
}
TypeScope::~TypeScope() {
  while (types_) TypeTable::pop(types_);
}
void TypeScope::adopt(TypePtr type) { TypeTable::get().adopt(*this, type); }

void TypeScope::close() {
  for (TypePtr type = types_; type; type = type->next_) {
    if (ClassInfo* info = type->class_info()) {
      info->methods.clear();
      info->statics.clear();
      info->properties.clear();
      info->forward_pre_hooks.clear();
      info->forward_hooks.clear();
      info->constants.clear();
    }
    if (EnumInfo* info = type->enum_info()) info->members.clear();
    if (InterfaceInfo* info = type->interface_info()) info->methods.clear();
  }
}

void destroy(TypeScope* scope) noexcept { TypeTable::get().destroy(scope); }

TypePtr simple_type(TypeKind kind) {
  SCONCE_ASSERT(kind < TypeKind::list);
  return TypeTable::get().simple(kind);
}

TypePtr simple_type_by_name(std::string_view name) {
  for (int kind = 0; kind < kSimpleKinds; ++kind) {
    if (name == kKinds[kind].name) return simple_type(static_cast<TypeKind>(kind));
  }
  if (name == "None") return none_type();
  if (name == "number") return number_type();
  return nullptr;
}

TypePtr list_type(TypePtr element) { return TypeTable::get().list_of(element); }

TypePtr optional_type(TypePtr element) {
  if (element->is(TypeKind::optional) || element->is(TypeKind::none)) return element;
  if (element->is(TypeKind::union_)) return union_type({element, none_type()});
  return TypeTable::get().optional_of(element);
}

static TypePtr interned(TypeKind kind, ListRef<TypePtr> contained, std::string_view name = {},
                        ListRef<std::string> fields = {}) {
  return TypeTable::get().intern({kind, contained, name, fields});
}
TypePtr tuple_type(ListRef<TypePtr> elements) { return interned(TypeKind::tuple, elements); }
TypePtr dict_type(TypePtr key, TypePtr value) { return interned(TypeKind::dict, {key, value}); }
TypePtr future_type(TypePtr element) { return interned(TypeKind::future, {element}); }
TypePtr rref_type(TypePtr element) { return interned(TypeKind::rref, {element}); }
TypePtr await_type(TypePtr element) { return interned(TypeKind::await, {element}); }
TypePtr variable_type(std::string_view name) { return interned(TypeKind::variable, {}, name); }
TypePtr function_type(std::string_view name) { return interned(TypeKind::function, {}, name); }

// Members of a union have one order, PyTorch's: by kind, then by their text.
static bool comes_before(TypePtr a, TypePtr b) {
  using enum TypeKind;
  static constexpr TypeKind kOrder[] = {any,    enum_,  any_enum, tensor,    storage,   tuple,    list,
                                        dict,   number, float_,   complex,   future,    await,    rref,
                                        int_,   none,   string,   generator, bool_,     optional, variable,
                                        device, stream, function, class_,    py_object, capsule,  interface};
  const auto place = [](TypePtr t) { return std::find(std::begin(kOrder), std::end(kOrder), t->kind()); };
  return place(a) != place(b) ? place(a) < place(b) : a->to_string() < b->to_string();
}

TypePtr union_type(ListRef<TypePtr> members) {
  TypeList flat;
  for (TypePtr member : members) {
    const bool is_optional = member->is(TypeKind::optional);
    flat.append(is_optional || member->is(TypeKind::union_) ? member->contained() : ListRef<TypePtr>(&member, 1));
    if (is_optional) flat.push_back(none_type());
  }
  // All numbers together are Scalar, which covers them.
  unsigned numbers = 0;
  for (TypePtr t : flat) {
    numbers |= t->is(TypeKind::int_) ? 1 : t->is(TypeKind::float_) ? 2 : t->is(TypeKind::complex) ? 4 : 0;
  }
  if (numbers == 7) flat.push_back(number_type());

  TypeList kept;  // in order
  for (size_t i = 0; i < flat.size(); ++i) {
    bool covered = false;
    for (size_t j = 0; j < flat.size() && !covered; ++j) {
      covered = j != i && is_subtype(flat[i], flat[j]) && (flat[i] != flat[j] || j < i);
    }
    if (covered) continue;
    const auto at = std::upper_bound(kept.begin(), kept.end(), flat[i], comes_before);
    kept.insert(static_cast<size_t>(at - kept.begin()), flat[i]);
  }
  SCONCE_CHECK_AS(type, !kept.empty(), "a union needs at least one type");
  if (kept.size() == 1) return kept[0];
  for (size_t i = 0; i < 2 && kept.size() == 2; ++i) {
    if (kept[i]->is(TypeKind::none)) return optional_type(kept[1 - i]);
  }
  return interned(TypeKind::union_, kept);
}

TypePtr named_tuple_type(std::string_view name, ListRef<TypePtr> elements, ListRef<std::string> fields) {
  SCONCE_CHECK_AS(type, elements.size() == fields.size(), "named tuple '{}' has {} fields but {} types", name,
                  fields.size(), elements.size());
  return interned(TypeKind::tuple, elements, name, fields);
}

TypePtr refined_tensor_type(const TensorFacts& facts) {
  const TensorFacts nothing;
  return facts == nothing ? tensor_type() : TypeTable::get().refined(facts);
}

TypePtr make_class_type(std::string_view name) { return TypeTable::get().nominal(std::make_unique<ClassType>(name)); }
TypePtr make_interface_type(std::string_view name) {
  return TypeTable::get().nominal(std::make_unique<InterfaceType>(name));
}
TypePtr make_enum_type(std::string_view name, TypePtr value) {
  return TypeTable::get().nominal(std::make_unique<EnumType>(name, value));
}
TypePtr class_type(std::string_view name) { return TypeTable::get().shared_class(name); }
TypePtr find_class_type(std::string_view name) { return TypeTable::get().find_class(name); }

TypePtr plain_type(TypePtr type) {
  const TypeKind kind = type->kind(), plain = row_of(kind).plain;
  if (plain != kind) return simple_type(plain);
  if (kind == TypeKind::list) return list_type(plain_type(type->element()));
  if (kind == TypeKind::optional) return optional_type(plain_type(type->element()));
  if ((kind != TypeKind::dict && kind != TypeKind::tuple) || !type->fields().empty()) return type;
  TypeList parts;
  for (TypePtr t : type->contained()) parts.push_back(plain_type(t));
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
  if (a == b || b->is(TypeKind::any)) return true;
  if (a->is(TypeKind::optional) && !is_subtype(none_type(), b)) return false;
  if (a->is(TypeKind::optional) || a->is(TypeKind::union_)) {
    for (TypePtr t : a->contained()) {
      if (!is_subtype(t, b)) return false;
    }
    return true;
  }
  switch (b->kind()) {
    case TypeKind::optional:
      if (a->is(TypeKind::none)) return true;
      [[fallthrough]];
    case TypeKind::union_:
      for (TypePtr t : b->contained()) {
        if (is_subtype(a, t)) return true;
      }
      return false;
    case TypeKind::number: {
      const TypeKind plain = row_of(a->kind()).plain;
      return plain == TypeKind::int_ || plain == TypeKind::float_ || plain == TypeKind::complex;
    }
    case TypeKind::any_list:
      return a->is(TypeKind::list);
    case TypeKind::any_tuple:
      return a->is(TypeKind::tuple);
    case TypeKind::any_class:
      return a->is(TypeKind::class_);
    case TypeKind::any_enum:
      return a->is(TypeKind::enum_);
    case TypeKind::tensor:
      return a->is(TypeKind::tensor) && is_subtype_of_facts(a->tensor_facts(), b->tensor_facts());
    case TypeKind::list:  // invariant, but facts of the elements may be forgotten
      if (a->is(TypeKind::list) && a->element()->is(TypeKind::tensor) && b->element() == tensor_type()) return true;
      return plain_type(a) == b;
    case TypeKind::tuple:
    case TypeKind::future:
    case TypeKind::rref:
    case TypeKind::await: {
      const ListRef<TypePtr> from = a->contained(), to = b->contained();
      if (a->kind() != b->kind() || !b->fields().empty() || from.size() != to.size()) return false;
      for (size_t i = 0; i < to.size(); ++i) {
        if (!is_subtype(from[i], to[i])) return false;
      }
      return true;
    }
    default:
      return plain_type(a) == b;
  }
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
  const char* word = row_of(kind_).name;
  switch (kind_) {
    case TypeKind::list:
    case TypeKind::optional:
      if (as_python) break;
      element()->print(out, false);
      out += is(TypeKind::list) ? "[]" : "?";
      return;
    case TypeKind::tuple:
      if (!as_python) {
        word = fields_.empty() ? "" : "NamedTuple";
      } else if (!name_.empty()) {
        out += name_;
        return;
      } else if (contained_.empty()) {
        out += "Tuple[()]";
        return;
      }
      break;
    case TypeKind::enum_:
    case TypeKind::interface:
      if (!as_python) {
        const size_t from = is(TypeKind::enum_) ? 0 : name_.rfind('.') + 1;
        out += is(TypeKind::enum_) ? "Enum<" : "InterfaceType<";
        out.append(name_.data() + from, name_.size() - from);
        out += '>';
        return;
      }
      [[fallthrough]];
    case TypeKind::class_:
    case TypeKind::variable:
      out += name_;
      return;
#ifndef SCONCE_SMALL
    case TypeKind::tensor:
      if (!tensor_facts_) break;
      out += !as_python ? facts_text(*tensor_facts_) : tensor_facts_->inferred ? "Tensor (inferred)" : "Tensor";
      return;
#endif
    case TypeKind::number:
      if (as_python) word = "number";
      break;
    default:
      if (as_python) word = row_of(row_of(kind_).plain).name;
  }
  out += word;
  if (kind_ < TypeKind::list || is(TypeKind::function)) return;
  const bool square = as_python || is(TypeKind::future);
  out += square ? '[' : '(';
  for (size_t i = 0; i < contained_.size(); ++i) {
    if (i != 0) out += ", ";
    if (!as_python && !fields_.empty()) {
      out += fields_[i];
      out += " : ";
    }
    contained_[i]->print(out, as_python);
  }
  out += square ? ']' : ')';
}

}  // namespace sconce
