// Type: the static type of a value of a program. Types are interned: equality is pointer equality.
//
//   int_type(), tensor_type(), list_type(int_type()), optional_type(tensor_type()),
//   parse_type("Dict[str, Tensor]"), ...
//
// `to_string` prints a type as TorchScript's IR does ("Tensor", "int[]", "Dict(str, Tensor)", "int?"), `annotation` as
// Python source does ("List[int]", "Optional[int]"), the schema printer as operator schemas do.
//
// Note [Lifetime of types]
// A type without classes in it lives forever. The classes, interfaces and enums of a program, and every type that
// contains one of them ("bound" types), live in a TypeScope, as long as it. Two kinds of owners share a scope: the
// program (its CompilationUnit), and each value with a bound type, through a TypeRef, so that an object may outlive its
// program. A TypePtr owns nothing: it is good while the program lives, or a value of the type. A type over classes of
// two programs goes with the first of them; a value that has it owns both scopes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/list_ref.h"
#include "sconce/base/ref.h"
#include "sconce/base/small_vector.h"

namespace sconce {

enum class TypeKind : uint8_t {
  // without parameters
  any,
  tensor,
  int_,
  float_,
  complex,
  bool_,
  number,
  string,
  none,
  device,
  generator,
  stream,
  storage,
  capsule,
  py_object,
  any_list,
  any_tuple,
  any_class,
  any_enum,
  // integers (or strings) by another name in schemas; each is a subtype of what it stands for
  sym_int,
  sym_float,
  sym_bool,
  scalar_type,
  layout,
  memory_format,
  qscheme,
  dimname,
  device_index,
  // with parameters
  list,
  optional,
  tuple,
  dict,
  union_,
  future,
  rref,
  await,
  class_,
  interface,
  enum_,
  function,
  variable,
};

class Type;
using TypePtr = const Type*;
using TypeList = SmallVector<TypePtr, 2>;

// The members of a class, interface or enum: class_info.h.
struct ClassLayout;
struct ClassInfo;
struct InterfaceInfo;
struct EnumInfo;
// The static knowledge of a tensor: tensor_facts.h.
struct TensorFacts;
class TypeScope;

class SCONCE_API Type {
 public:
  TypeKind kind() const { return kind_; }
  bool is(TypeKind k) const { return kind_ == k; }
  // The parameters: element of a list, optional, future; key and value of a dict; elements of a tuple; members
  // of a union.
  ListRef<TypePtr> contained() const { return contained_; }
  TypePtr element() const { return contained_[0]; }
  // Qualified name of a class, named tuple, interface or enum; the letter of a type variable; otherwise empty.
  const std::string& name() const { return name_; }
  // Field names of a named tuple; otherwise empty.
  const std::vector<std::string>& fields() const { return fields_; }
  // The class's attributes and methods; null unless kind is class_. Likewise of an interface and an enum. Lite
  // libraries know the layout of classes alone.
  ClassLayout* class_layout() const { return class_layout_; }
  ClassInfo* class_info() const { return class_info_; }
  InterfaceInfo* interface_info() const { return interface_info_; }
  EnumInfo* enum_info() const { return enum_info_; }
  // Of a refined tensor type; null for Tensor itself and all other kinds.
  const TensorFacts* tensor_facts() const { return tensor_facts_; }
  // Does it end with a program (Note [Lifetime of types])?
  bool is_bound() const { return bound_; }

  std::string to_string() const;                       // as IR text
  std::string annotation() const;                      // as Python source
  void print(std::string& out, bool as_python) const;  // either, behind what is there

  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  virtual ~Type();

 protected:
  // What a type is made of, and an interned one found by.
  struct Parts {
    TypeKind kind;
    ListRef<TypePtr> contained = {};
    std::string_view name = {};
    std::vector<std::string>* fields = nullptr;  // null: none; a new type takes them
  };
  explicit Type(const Parts& parts);

  // Members of the types derived from this one, which the linker leaves out where nobody makes such types.
  ClassLayout* class_layout_ = nullptr;
  ClassInfo* class_info_ = nullptr;
  InterfaceInfo* interface_info_ = nullptr;
  EnumInfo* enum_info_ = nullptr;
  TensorFacts* tensor_facts_ = nullptr;

 private:
  friend class TypeTable;
  friend class TypeScope;
  friend class TypeRef;
  void retain_scopes() const noexcept;
  void release_scopes() const noexcept;

  const TypeKind kind_;
  bool bound_ = false;
  const TypeList contained_;
  std::string name_;
  std::vector<std::string> fields_;
  // List[this] and Optional[this], once they were asked for.
  mutable std::atomic<TypePtr> list_{nullptr};
  mutable std::atomic<TypePtr> optional_{nullptr};
  // For the table of types.
  TypeScope* scope_ = nullptr;  // whose class it is
  TypeList classes_;            // of a bound type: one in it of each scope
  Type* next_ = nullptr;        // in a list of those that may end
  Type* below_[2] = {};         // of an interned type, as its hash
  uint64_t hash_ = 0;
};

// A type that lives as long as its holder: what values have. For types that live forever it does nothing.
class TypeRef {
 public:
  TypeRef() = default;
  TypeRef(TypePtr type) noexcept : type_(type) {
    if (type_ && type_->is_bound()) type_->retain_scopes();
  }
  TypeRef(const TypeRef& other) noexcept : TypeRef(other.type_) {}
  TypeRef(TypeRef&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {}
  TypeRef& operator=(TypeRef other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~TypeRef() {
    if (type_ && type_->is_bound()) type_->release_scopes();
  }
  operator TypePtr() const { return type_; }
  TypePtr operator->() const { return type_; }

 private:
  TypePtr type_ = nullptr;
};

// Owns the types of a program. Counted: the last owner deletes them.
class SCONCE_API TypeScope {
 public:
  TypeScope() = default;
  TypeScope(const TypeScope&) = delete;
  // Takes a type of make_class_type, make_interface_type or make_enum_type over, before anyone uses it. Types that have
  // an owner, and those that live forever, stay as they are.
  void adopt(TypePtr type);
  // The program ends: its types forget its functions, and what values they hold themselves (constants, members of
  // enums), which would keep the scope alive.
  void close();

  RefCount count;

 private:
  friend class TypeTable;
  friend SCONCE_API void destroy(TypeScope* scope) noexcept;
  ~TypeScope();
  Type* types_ = nullptr;
  size_t interned_ = 0;  // types that contain one of types_
};

SCONCE_API void destroy(TypeScope* scope) noexcept;
inline void retain(TypeScope* scope) noexcept {
  if (scope) scope->count.retain();
}
inline void release(TypeScope* scope) noexcept {
  if (scope && scope->count.release()) destroy(scope);
}

// Types without parameters.
SCONCE_API TypePtr simple_type(TypeKind kind);
inline TypePtr any_type() { return simple_type(TypeKind::any); }
inline TypePtr tensor_type() { return simple_type(TypeKind::tensor); }
inline TypePtr int_type() { return simple_type(TypeKind::int_); }
inline TypePtr float_type() { return simple_type(TypeKind::float_); }
inline TypePtr complex_type() { return simple_type(TypeKind::complex); }
inline TypePtr bool_type() { return simple_type(TypeKind::bool_); }
inline TypePtr number_type() { return simple_type(TypeKind::number); }
inline TypePtr string_type() { return simple_type(TypeKind::string); }
inline TypePtr none_type() { return simple_type(TypeKind::none); }
inline TypePtr device_type() { return simple_type(TypeKind::device); }
inline TypePtr generator_type() { return simple_type(TypeKind::generator); }

// Types with parameters, interned.
SCONCE_API TypePtr list_type(TypePtr element);
SCONCE_API TypePtr optional_type(TypePtr element);  // Optional[Optional[T]] is Optional[T]; Optional[None] is None
SCONCE_API TypePtr tuple_type(ListRef<TypePtr> elements);
SCONCE_API TypePtr dict_type(TypePtr key, TypePtr value);
SCONCE_API TypePtr future_type(TypePtr element);
SCONCE_API TypePtr rref_type(TypePtr element);
SCONCE_API TypePtr await_type(TypePtr element);
// Flattened, without duplicates and subtypes of other members; one member is that member, T with None is Optional[T].
SCONCE_API TypePtr union_type(ListRef<TypePtr> members);
SCONCE_API TypePtr variable_type(std::string_view name);  // `t` in aten::append.t
// Equal name, elements and fields are the same type. Throws Error when there are not as many fields as elements.
SCONCE_API TypePtr named_tuple_type(std::string_view name, ListRef<TypePtr> elements, std::vector<std::string> fields);
SCONCE_API TypePtr function_type(std::string_view name);

// Classes, interfaces and enums of a program are nominal: each call makes a new type, which is equal to itself alone.
// Two programs may each have a class of one name; a program finds its own through its CompilationUnit, which owns it.
// One that nobody adopts lives forever.
SCONCE_API TypePtr make_class_type(std::string_view name);
SCONCE_API TypePtr make_class_type(std::string_view name, TypeScope& scope);  // which adopts it
SCONCE_API TypePtr make_interface_type(std::string_view name);
SCONCE_API TypePtr make_enum_type(std::string_view name, TypePtr value);
// A class that the process has once (custom C++ classes): made on first use, found again by name.
SCONCE_API TypePtr class_type(std::string_view name);
SCONCE_API TypePtr find_class_type(std::string_view name);  // null when there is none

// The type behind the words that only schemas use: SymInt[] is int[], ScalarType? is int?, Dimname is str.
SCONCE_API TypePtr plain_type(TypePtr type);
// The type without parameters that a schema or IR text calls so ("int", "Scalar", "MemoryFormat"); null when
// there is none.
SCONCE_API TypePtr simple_type_by_name(std::string_view name);

// May a value of type `a` be used where `b` is wanted? Any takes all, Optional[T] takes T and None, Union its members,
// number takes int, float and complex; lists and dicts are invariant, tuples covariant. Whether a class fits an
// interface is for the compiler to say, which knows their methods.
SCONCE_API bool is_subtype(TypePtr a, TypePtr b);

// Reads Python annotations ("List[int]", "Optional[Tensor]", "Tuple[int, str]") and IR text ("int[]", "Dict(str,
// Tensor)"). `find` knows the classes, interfaces, enums and named tuples of a program by their qualified names (null:
// unknown). Throws Error with the text and the place.
using FindType = std::function<TypePtr(std::string_view name)>;
SCONCE_API TypePtr parse_type(std::string_view text, const FindType& find = {});

}  // namespace sconce
