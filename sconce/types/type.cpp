#include "sconce/types/type.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/types/class_info.h"
#include "sconce/types/tensor_facts.h"

namespace sconce {
namespace {

constexpr int kSimpleKinds = static_cast<int>(TypeKind::list);

struct SimpleName {
  const char* ir;
  const char* python;
};
constexpr SimpleName kSimpleNames[kSimpleKinds] = {
    {"Any", "Any"},
    {"Tensor", "Tensor"},
    {"int", "int"},
    {"float", "float"},
    {"complex", "complex"},
    {"bool", "bool"},
    {"Scalar", "number"},
    {"str", "str"},
    {"NoneType", "NoneType"},
    {"Device", "Device"},
    {"Generator", "Generator"},
    {"Stream", "Stream"},
    {"Storage", "Storage"},
    {"Capsule", "Capsule"},
    {"PyObject", "PyObject"},
    {"list", "list"},
    {"tuple", "tuple"},
    {"AnyClassType", "AnyClassType"},
    {"AnyEnumType", "AnyEnumType"},
    {"SymInt", "int"},
    {"SymFloat", "float"},
    {"SymBool", "bool"},
    {"ScalarType", "int"},
    {"Layout", "int"},
    {"MemoryFormat", "int"},
    {"QScheme", "int"},
    {"Dimname", "str"},
    {"DeviceIndex", "int"},
};

std::string joined(ListRef<TypePtr> types, std::string (Type::*print)() const) {
  std::string out;
  for (TypePtr t : types) {
    if (!out.empty()) out += ", ";
    out += (t->*print)();
  }
  return out;
}

}  // namespace

std::string facts_text(const TensorFacts& facts);  // tensor_facts.cpp

// Owns the types that live forever, and knows all that are interned. Keys spell the kind, the addresses of the
// parameters and the names, so equal keys are equal types.
class TypeTable {
 public:
  static TypeTable& get() {
    static TypeTable& table = *new TypeTable;
    return table;
  }

  TypePtr simple(TypeKind kind) const { return simple_[static_cast<int>(kind)]; }

  TypePtr intern(TypeKind kind, ListRef<TypePtr> contained, std::string_view name = {},
                 ListRef<std::string> fields = {}) {
    std::string key(1, static_cast<char>(kind));
    key.append(reinterpret_cast<const char*>(contained.data()), contained.size() * sizeof(TypePtr));
    key += name;
    for (const std::string& field : fields) (key += '\0') += field;
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second.get();
    std::unique_ptr<Type> type(new Type);
    type->kind_ = kind;
    type->contained_ = contained.vec();
    type->name_ = name;
    type->fields_ = fields.vec();
    // A key that a scope knows and the table does not, because there was no memory for the rest, does no harm.
    for (TypePtr t : contained) {
      for (TypeScope* scope : t->scopes_) bind(*type, *scope, key);
    }
    return by_key_.emplace(std::move(key), std::move(type)).first->second.get();
  }

  void adopt(TypeScope& scope, TypePtr type) {
    const std::lock_guard lock(mutex_);
    const auto found = find_loose(type);
    if (found == loose_.rend()) return;
    Type& mine = **found;
    scope.types_.emplace_back();
    try {
      mine.scopes_.push_back(&scope);
    } catch (...) {
      scope.types_.pop_back();
      throw;
    }
    mine.bound_ = true;
    scope.types_.back() = std::move(*found);
    loose_.erase(found.base() - 1);
  }
  // A type that nobody could adopt.
  void forget(TypePtr type) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = find_loose(type); found != loose_.rend()) loose_.erase(found.base() - 1);
  }

  // Deletes a scope with its types and what is interned over them. Takes no memory: programs end where there is none.
  void destroy(TypeScope* scope) noexcept {
    const Type* taken = nullptr;  // a list: the place where a type remembers List[type] leads to the next
    {
      const std::lock_guard lock(mutex_);
      for (const std::string& key : scope->keys_) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) continue;  // it went with another scope
        found->second->list_.store(taken, std::memory_order_relaxed);
        taken = found->second.release();
        by_key_.erase(found);
      }
    }
    delete scope;
    while (taken) {
      const std::unique_ptr<const Type> gone(taken);
      taken = gone->list_.load(std::memory_order_relaxed);
    }
  }

  // A type that is equal to itself alone.
  TypePtr nominal(TypeKind kind, std::string_view name, ListRef<TypePtr> contained = {}) {
    std::unique_ptr<Type> type = make_nominal(kind, name, contained);
    const std::lock_guard lock(mutex_);
    const TypePtr made = type.get();
    loose_.push_back(std::move(type));
    return made;
  }

  TypePtr refined(const TensorFacts& facts) {
    const std::lock_guard lock(mutex_);
    for (TypePtr type : refined_) {
      if (*type->tensor_facts() == facts) return type;
    }
    Type& type = add(TypeKind::tensor);
    type.tensor_facts_ = std::make_unique<TensorFacts>(facts);
    refined_.push_back(&type);
    return &type;
  }

  // The class of this name that the process has once.
  TypePtr shared_class(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = classes_.find(std::string(name)); found != classes_.end()) return found->second;
    const TypePtr type = types_.emplace_back(make_nominal(TypeKind::class_, name, {})).get();
    return classes_.emplace(name, type).first->second;
  }
  TypePtr find_class(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = classes_.find(std::string(name));
    return found == classes_.end() ? nullptr : found->second;
  }

  // Lists and optionals are asked for all the time: their parameter remembers them.
  TypePtr list_of(TypePtr element) {
    TypePtr type = element->list_.load(std::memory_order_acquire);
    if (!type) element->list_.store(type = intern(TypeKind::list, {element}), std::memory_order_release);
    return type;
  }
  TypePtr optional_of(TypePtr element) {
    TypePtr type = element->optional_.load(std::memory_order_acquire);
    if (!type) element->optional_.store(type = intern(TypeKind::optional, {element}), std::memory_order_release);
    return type;
  }

 private:
  TypeTable() {
    for (int kind = 0; kind < kSimpleKinds; ++kind) simple_[kind] = &add(static_cast<TypeKind>(kind));
  }
  Type& add(TypeKind kind) {
    types_.push_back(std::unique_ptr<Type>(new Type));
    types_.back()->kind_ = kind;
    return *types_.back();
  }

  // From the back: most are adopted as soon as they are made.
  std::vector<std::unique_ptr<Type>>::reverse_iterator find_loose(TypePtr type) {
    return std::find_if(loose_.rbegin(), loose_.rend(), [&](const auto& t) { return t.get() == type; });
  }

  static std::unique_ptr<Type> make_nominal(TypeKind kind, std::string_view name, ListRef<TypePtr> contained) {
    std::unique_ptr<Type> type(new Type);
    type->kind_ = kind;
    type->contained_ = contained.vec();
    type->name_ = name;
    if (kind == TypeKind::class_) type->class_info_ = std::make_unique<ClassInfo>();
    if (kind == TypeKind::interface) type->interface_info_ = std::make_unique<InterfaceInfo>();
    if (kind == TypeKind::enum_) type->enum_info_ = std::make_unique<EnumInfo>();
    return type;
  }

  static void bind(Type& type, TypeScope& scope, const std::string& key) {
    if (std::find(type.scopes_.begin(), type.scopes_.end(), &scope) != type.scopes_.end()) return;
    type.bound_ = true;
    type.scopes_.push_back(&scope);
    scope.keys_.push_back(key);
  }

  std::mutex mutex_;  // also of the lists in scopes
  std::vector<std::unique_ptr<Type>> types_;
  TypePtr simple_[kSimpleKinds];
  std::unordered_map<std::string, std::unique_ptr<Type>> by_key_;
  std::vector<std::unique_ptr<Type>> loose_;  // nominal types that nobody has adopted
  std::unordered_map<std::string, TypePtr> classes_;
  std::vector<TypePtr> refined_;
};

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
TypeScope::~TypeScope() = default;
void TypeScope::adopt(TypePtr type) {
  try {
    TypeTable::get().adopt(*this, type);
  } catch (...) {
    TypeTable::get().forget(type);
    throw;
  }
}

void TypeScope::close() {
  for (const std::unique_ptr<Type>& type : types_) {
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
    if (name == kSimpleNames[kind].ir) return simple_type(static_cast<TypeKind>(kind));
  }
  if (name == "None") return none_type();
  if (name == "number") return number_type();
  return nullptr;
}

TypePtr list_type(TypePtr element) { return TypeTable::get().list_of(element); }

TypePtr optional_type(TypePtr element) {
  if (element->is(TypeKind::optional) || element->is(TypeKind::none)) return element;
  if (element->is(TypeKind::union_)) {
    std::vector<TypePtr> members = element->contained().vec();
    members.push_back(none_type());
    return union_type(members);
  }
  return TypeTable::get().optional_of(element);
}

TypePtr tuple_type(ListRef<TypePtr> elements) { return TypeTable::get().intern(TypeKind::tuple, elements); }
TypePtr dict_type(TypePtr key, TypePtr value) { return TypeTable::get().intern(TypeKind::dict, {key, value}); }
TypePtr future_type(TypePtr element) { return TypeTable::get().intern(TypeKind::future, {element}); }
TypePtr rref_type(TypePtr element) { return TypeTable::get().intern(TypeKind::rref, {element}); }
TypePtr await_type(TypePtr element) { return TypeTable::get().intern(TypeKind::await, {element}); }
TypePtr variable_type(std::string_view name) { return TypeTable::get().intern(TypeKind::variable, {}, name); }
TypePtr function_type(std::string_view name) { return TypeTable::get().intern(TypeKind::function, {}, name); }

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
  std::vector<TypePtr> flat;
  for (TypePtr member : members) {
    if (member->is(TypeKind::union_)) {
      flat.insert(flat.end(), member->contained().begin(), member->contained().end());
    } else if (member->is(TypeKind::optional)) {
      flat.push_back(member->element());
      flat.push_back(none_type());
    } else {
      flat.push_back(member);
    }
  }
  std::vector<TypePtr> kept;
  for (size_t i = 0; i < flat.size(); ++i) {
    bool covered = false;
    for (size_t j = 0; j < flat.size() && !covered; ++j) {
      covered = j != i && is_subtype(flat[i], flat[j]) && (flat[i] != flat[j] || j < i);
    }
    if (!covered) kept.push_back(flat[i]);
  }
  SCONCE_CHECK_AS(type, !kept.empty(), "a union needs at least one type");
  // All numbers together are Scalar.
  const auto is_number = [](TypePtr t) { return t == int_type() || t == float_type() || t == complex_type(); };
  if (std::count_if(kept.begin(), kept.end(), is_number) == 3) {
    std::erase_if(kept, is_number);
    kept.push_back(number_type());
  }
  if (kept.size() == 1) return kept[0];
  if (kept.size() == 2 && kept[0]->is(TypeKind::none)) return optional_type(kept[1]);
  if (kept.size() == 2 && kept[1]->is(TypeKind::none)) return optional_type(kept[0]);
  std::vector<TypePtr> sorted;
  for (TypePtr t : kept) sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), t, comes_before), t);
  return TypeTable::get().intern(TypeKind::union_, sorted);
}

TypePtr named_tuple_type(std::string_view name, ListRef<TypePtr> elements, ListRef<std::string> fields) {
  SCONCE_CHECK_AS(type, elements.size() == fields.size(), "named tuple '{}' has {} fields but {} types", name,
                  fields.size(), elements.size());
  return TypeTable::get().intern(TypeKind::tuple, elements, name, fields);
}

TypePtr refined_tensor_type(const TensorFacts& facts) {
  return facts == TensorFacts() ? tensor_type() : TypeTable::get().refined(facts);
}

TypePtr make_class_type(std::string_view name) { return TypeTable::get().nominal(TypeKind::class_, name); }
TypePtr make_interface_type(std::string_view name) { return TypeTable::get().nominal(TypeKind::interface, name); }
TypePtr make_enum_type(std::string_view name, TypePtr value) {
  return TypeTable::get().nominal(TypeKind::enum_, name, {value});
}
TypePtr class_type(std::string_view name) { return TypeTable::get().shared_class(name); }
TypePtr find_class_type(std::string_view name) { return TypeTable::get().find_class(name); }

TypePtr plain_type(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::sym_int:
    case TypeKind::scalar_type:
    case TypeKind::layout:
    case TypeKind::memory_format:
    case TypeKind::qscheme:
    case TypeKind::device_index:
      return int_type();
    case TypeKind::sym_float:
      return float_type();
    case TypeKind::sym_bool:
      return bool_type();
    case TypeKind::dimname:
      return string_type();
    case TypeKind::list:
      return list_type(plain_type(type->element()));
    case TypeKind::optional:
      return optional_type(plain_type(type->element()));
    case TypeKind::dict:
      return dict_type(plain_type(type->contained()[0]), plain_type(type->contained()[1]));
    case TypeKind::tuple: {
      if (!type->fields().empty()) return type;
      std::vector<TypePtr> elements;
      for (TypePtr t : type->contained()) elements.push_back(plain_type(t));
      return tuple_type(elements);
    }
    default:
      return type;
  }
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
  if (a->is(TypeKind::optional)) return is_subtype(none_type(), b) && is_subtype(a->element(), b);
  if (a->is(TypeKind::union_)) {
    return std::all_of(a->contained().begin(), a->contained().end(), [&](TypePtr t) { return is_subtype(t, b); });
  }
  const auto all_elements = [&] {
    const ListRef<TypePtr> from = a->contained(), to = b->contained();
    return from.size() == to.size() && std::equal(from.begin(), from.end(), to.begin(), is_subtype);
  };
  switch (b->kind()) {
    case TypeKind::optional:
      return a->is(TypeKind::none) || is_subtype(a, b->element());
    case TypeKind::union_:
      return std::any_of(b->contained().begin(), b->contained().end(), [&](TypePtr t) { return is_subtype(a, t); });
    case TypeKind::number: {
      const TypePtr plain = plain_type(a);
      return plain == int_type() || plain == float_type() || plain == complex_type();
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
      return a->is(TypeKind::tuple) && b->fields().empty() && all_elements();
    case TypeKind::future:
    case TypeKind::rref:
    case TypeKind::await:
      return a->kind() == b->kind() && all_elements();
    default:
      return plain_type(a) == b;
  }
}

std::string Type::to_string() const {
  const auto wrap = [&](const char* word) { return word + ("(" + joined(contained_, &Type::to_string)) + ")"; };
  switch (kind_) {
    case TypeKind::list:
      return element()->to_string() + "[]";
    case TypeKind::optional:
      return element()->to_string() + "?";
    case TypeKind::tuple: {
      if (fields_.empty()) return wrap("");
      std::string out = "NamedTuple(";
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (i != 0) out += ", ";
        out += fields_[i] + " : " + contained_[i]->to_string();
      }
      return out + ")";
    }
    case TypeKind::dict:
      return wrap("Dict");
    case TypeKind::union_:
      return wrap("Union");
    case TypeKind::future:
      return "Future[" + element()->to_string() + "]";
    case TypeKind::rref:
      return wrap("RRef");
    case TypeKind::await:
      return wrap("Await");
    case TypeKind::enum_:
      return "Enum<" + name_ + ">";
    case TypeKind::function:
      return "Function";
    case TypeKind::interface:
      return "InterfaceType<" + name_.substr(name_.rfind('.') + 1) + ">";
    case TypeKind::class_:
    case TypeKind::variable:
      return name_;
#ifndef SCONCE_SMALL
    case TypeKind::tensor:
      return tensor_facts_ ? facts_text(*tensor_facts_) : "Tensor";
#endif
    default:
      return kSimpleNames[static_cast<int>(kind_)].ir;
  }
}

std::string Type::annotation() const {
  const auto wrap = [&](const char* word) { return word + ("[" + joined(contained_, &Type::annotation)) + "]"; };
  switch (kind_) {
    case TypeKind::list:
      return wrap("List");
    case TypeKind::optional:
      return wrap("Optional");
    case TypeKind::tuple:
      return !name_.empty() ? name_ : contained_.empty() ? "Tuple[()]" : wrap("Tuple");
    case TypeKind::dict:
      return wrap("Dict");
    case TypeKind::union_:
      return wrap("Union");
    case TypeKind::future:
      return wrap("Future");
    case TypeKind::rref:
      return wrap("RRef");
    case TypeKind::await:
      return wrap("Await");
    case TypeKind::function:
      return "Function";
    case TypeKind::enum_:
    case TypeKind::class_:
    case TypeKind::interface:
    case TypeKind::variable:
      return name_;
#ifndef SCONCE_SMALL
    case TypeKind::tensor:
      return tensor_facts_ && tensor_facts_->inferred ? "Tensor (inferred)" : "Tensor";
#endif
    default:
      return kSimpleNames[static_cast<int>(kind_)].python;
  }
}

}  // namespace sconce
