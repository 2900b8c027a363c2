#include "sconce/types/type_table.h"

#include <mutex>

#include "sconce/base/error.h"
#include "sconce/types/hash.h"

namespace sconce {
namespace {

constexpr size_t kSimpleKinds = static_cast<size_t>(TypeKind::list);

constinit std::mutex mutex;  // of all that follows, of what types know for the table, and of scopes
// Interned types are a binary tree: from the root, each bit of a type's hash, the highest first, says which way to go.
constinit Type* root = nullptr;
constinit Type* bound = nullptr;  // the interned types that end
constinit Type* loose = nullptr;  // nominal types that nobody has adopted

constinit std::atomic<TypePtr> simple_types[kSimpleKinds] = {};

TypePtr remembered(std::atomic<TypePtr>& place, TypeKind kind, ListRef<TypePtr> contained) {
  TypePtr type = place.load(std::memory_order_acquire);
  if (!type) [[unlikely]]
    place.store(type = TypeTable::intern({kind, contained}), std::memory_order_release);
  return type;
}

uint64_t hash_of(const TypeTable::Parts& parts) {
  size_t hash = hash_text(parts.name) + static_cast<size_t>(parts.kind);
  for (TypePtr t : parts.contained) hash = mix_hash(hash ^ reinterpret_cast<uintptr_t>(t));
  if (parts.fields) {
    for (const std::string& field : *parts.fields) hash = mix_hash(hash ^ hash_text(field));
  }
  return mix_hash(hash);
}

}  // namespace

bool TypeTable::is_in(const Type& type, const TypeScope* scope) {
  for (TypePtr c : type.classes_) {
    if (c->scope_ == scope) return true;
  }
  return false;
}

void TypeTable::push(Type*& list, Type* type) {
  type->next_ = list;
  list = type;
}

Type* TypeTable::make_plain(const Parts& parts) { return new Type(parts); }

// Where it is, or would be.
Type** TypeTable::place_of(const Parts& parts, uint64_t hash) {
  const auto is_it = [&](const Type& t) {
    return t.hash_ == hash && t.kind_ == parts.kind && t.contained() == parts.contained && t.name_ == parts.name &&
           (parts.fields ? t.fields_ == *parts.fields : t.fields_.empty());
  };
  Type** place = &root;
  for (uint64_t path = hash; *place && !is_it(**place); path <<= 1) place = &(*place)->below_[path >> 63];
  return place;
}

TypePtr TypeTable::find(const Parts& parts) {
  const std::lock_guard lock(mutex);
  return *place_of(parts, hash_of(parts));
}

TypePtr TypeTable::intern(const Parts& parts, Make make) {
  const uint64_t hash = hash_of(parts);
  const std::lock_guard lock(mutex);
  Type** const place = place_of(parts, hash);
  if (*place) return *place;
  std::unique_ptr<Type> type(make(parts));
  type->hash_ = hash;
  for (TypePtr t : parts.contained) {
    for (TypePtr c : t->classes_) {
      if (is_in(*type, c->scope_)) continue;
      type->classes_.push_back(c);
      ++c->scope_->interned_;  // too many, where there is no memory for the rest, do no harm
    }
  }
  if (!type->classes_.empty()) {
    type->bound_ = true;
    push(bound, type.get());
  }
  return *place = type.release();
}

// Of the tree. Any type below that has nothing below itself can take its place.
void TypeTable::remove(Type* type) noexcept {
  Type** place = &root;
  for (uint64_t path = type->hash_; *place != type; path <<= 1) place = &(*place)->below_[path >> 63];
  Type** last = place;
  while ((*last)->below_[0] || (*last)->below_[1]) last = &(*last)->below_[(*last)->below_[0] ? 0 : 1];
  Type* const by = std::exchange(*last, nullptr);
  if (by == type) return;
  by->below_[0] = type->below_[0];
  by->below_[1] = type->below_[1];
  *place = by;
}

TypePtr TypeTable::keep(Type* type) {
  const std::lock_guard lock(mutex);
  push(loose, type);
  return type;
}

TypePtr TypeTable::own(TypeScope& scope, Type* type) {
  type->scope_ = &scope;
  type->classes_.push_back(type);
  type->bound_ = true;
  push(scope.types_, type);
  return type;
}

void TypeTable::adopt(TypeScope& scope, TypePtr type) {
  const std::lock_guard lock(mutex);
  for (Type** link = &loose; Type* t = *link; link = &t->next_) {
    if (t != type) continue;  // most are adopted as soon as they are made, and stand in front
    *link = t->next_;
    own(scope, t);
    return;
  }
}

void TypeTable::destroy(TypeScope* scope) noexcept {
  {
    const std::lock_guard lock(mutex);
    for (Type** link = &bound; *link && scope->interned_ > 0;) {
      Type* const t = *link;
      if (!is_in(*t, scope)) {
        link = &t->next_;
        continue;
      }
      *link = t->next_;
      remove(t);
      for (TypePtr c : t->classes_) --c->scope_->interned_;
      delete t;
    }
  }
  delete scope;
}

TypePtr TypeTable::list_of(TypePtr element) { return remembered(element->list_, TypeKind::list, {&element, 1}); }
TypePtr TypeTable::optional_of(TypePtr element) {
  return remembered(element->optional_, TypeKind::optional, {&element, 1});
}

TypePtr simple_type(TypeKind kind) {
  SCONCE_ASSERT(kind < TypeKind::list);
  return remembered(simple_types[static_cast<size_t>(kind)], kind, {});
}

TypeScope::~TypeScope() {
  while (types_) delete std::exchange(types_, types_->next_);
}
void TypeScope::adopt(TypePtr type) { TypeTable::adopt(*this, type); }
void destroy(TypeScope* scope) noexcept { TypeTable::destroy(scope); }

}  // namespace sconce
