// The table of types: all that are interned, and the owners of those that end (Note [Lifetime of types]).
#pragma once

#include <memory>

#include "sconce/types/type.h"

namespace sconce {

class TypeTable {
 public:
  using Parts = Type::Parts;
  using Make = Type* (*)(const Parts& parts);

  // The one type of these parts, which is made when it is first asked for.
  static TypePtr intern(const Parts& parts, Make make = make_plain);
  static TypePtr find(const Parts& parts);  // null when there is none
  // Takes over a type that is equal to itself alone.
  static TypePtr keep(Type* type);

  // Gives a scope a new one.
  static TypePtr own(TypeScope& scope, Type* type);
  static void adopt(TypeScope& scope, TypePtr type);
  // Deletes a scope with its types and what is interned over them. Takes no memory: programs end where there is none.
  static void destroy(TypeScope* scope) noexcept;
  // Lists and optionals are asked for all the time: their parameter remembers them.
  static TypePtr list_of(TypePtr element);
  static TypePtr optional_of(TypePtr element);

 private:
  static Type* make_plain(const Parts& parts);
  static void push(Type*& list, Type* type);
  static bool is_in(const Type& type, const TypeScope* scope);
  static Type** place_of(const Parts& parts, uint64_t hash);
  static void remove(Type* type) noexcept;
};

}  // namespace sconce
