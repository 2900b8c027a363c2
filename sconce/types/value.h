// Value: a tagged 16-byte box for everything that a TorchScript program can hold. Moves for free; copying adds one
// count for what is counted. A tensor inside is laid out like a Tensor, so unboxing it is taking a reference.
//
// Accessors named `to_x` check the tag and throw Error (type) naming both kinds; `is_x` ask.
#pragma once

#include <complex>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/raw_items.h"
#include "sconce/base/ref.h"
#include "sconce/tensor/tensor.h"
#include "sconce/types/type.h"

namespace sconce {

class Value;
class List;
class Dict;
class Tuple;
class Object;
class EnumValue;
class Future;
class StringBox;
class ComplexBox;
class Capsule;

enum class Tag : uint32_t {
  none,
  boolean,
  integer,
  real,
  device,
  // counted from here on
  tensor = 16,
  string,
  complex,
  list,
  dict,
  tuple,
  object,
  enum_,
  future,
  generator,
  capsule,
};

SCONCE_API std::string_view tag_name(Tag tag);
// "expected a list of int, got str[]": throws Error (type). Null is None.
[[noreturn]] SCONCE_API SCONCE_COLD void wrong_type(const char* wanted, const char* which, TypePtr given);

// Python's repr of a float (1.0, 1e-05, nan, -inf) and of a string ('it', "it's").
SCONCE_API std::string float_repr(double v);
SCONCE_API std::string string_repr(std::string_view text);

class Value {
 public:
  Value() : bits_(0), tag_(Tag::none), aux_(0) {}
  Value(std::nullopt_t) : Value() {}
  Value(bool v) : bits_(v), tag_(Tag::boolean), aux_(0) {}
  Value(int v) : Value(static_cast<int64_t>(v)) {}
  Value(int64_t v) : bits_(static_cast<uint64_t>(v)), tag_(Tag::integer), aux_(0) {}
  Value(double v) : bits_(std::bit_cast<uint64_t>(v)), tag_(Tag::real), aux_(0) {}
  SCONCE_API Value(Device v);
  Value(DType v) : Value(static_cast<int64_t>(v)) {}
  Value(Layout v) : Value(static_cast<int64_t>(v)) {}
  Value(MemoryFormat v) : Value(static_cast<int64_t>(v)) {}
  // An undefined tensor is None.
  Value(Tensor v) : tag_(v.defined() ? Tag::tensor : Tag::none), aux_(0) {
    bits_ = reinterpret_cast<uint64_t>(v.leak());
  }
  Value(const Scalar& v) : bits_(0), tag_(Tag::none), aux_(0) {
    if (v.is_complex()) {
      bits_ = reinterpret_cast<uint64_t>(boxed(v.complex()));
      tag_ = Tag::complex;
    } else if (v.is_real()) {
      bits_ = std::bit_cast<uint64_t>(v.real());
      tag_ = Tag::real;
    } else {
      bits_ = static_cast<uint64_t>(v.integer());
      tag_ = v.is_bool() ? Tag::boolean : Tag::integer;
    }
  }
  SCONCE_API Value(std::complex<double> v);
  SCONCE_API Value(std::string_view v);
  Value(const char* v) : Value(std::string_view(v)) {}
  Value(const std::string& v) : Value(std::string_view(v)) {}
  SCONCE_API Value(Generator v);
  Value(Ref<List> v);
  Value(Ref<Dict> v);
  Value(Ref<Tuple> v);
  Value(Ref<Object> v);
  Value(Ref<EnumValue> v);
  Value(Ref<Future> v);
  Value(Ref<Capsule> v);
  // Lists of numbers and tensors, copied.
  SCONCE_API Value(IntList v);
  SCONCE_API Value(ListRef<double> v);
  SCONCE_API Value(ListRef<bool> v);
  SCONCE_API Value(TensorList v);  // with undefined tensors, a list of Tensor?
  Value(const std::vector<Tensor>& v) : Value(TensorList(v)) {}
  SCONCE_API Value(ListRef<Scalar> v);
  template <class T>
  Value(const std::optional<T>& v) : Value() {
    if (v) *this = Value(*v);
  }
  template <class... T>
  Value(std::tuple<T...> v);

  Value(const Value& other) : bits_(other.bits_), tag_(other.tag_), aux_(other.aux_) { retain_payload(); }
  Value(Value&& other) noexcept : bits_(other.bits_), tag_(other.tag_), aux_(other.aux_) {
    other.bits_ = 0;
    other.tag_ = Tag::none;
  }
  Value& operator=(const Value& other) {
    Value copy(other);
    return *this = std::move(copy);
  }
  Value& operator=(Value&& other) noexcept {
    std::swap(bits_, other.bits_);
    std::swap(tag_, other.tag_);
    std::swap(aux_, other.aux_);
    return *this;
  }
  ~Value() {
    if (tag_ >= Tag::tensor) release_payload();
  }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::none; }
  bool is_bool() const { return tag_ == Tag::boolean; }
  bool is_int() const { return tag_ == Tag::integer; }
  bool is_double() const { return tag_ == Tag::real; }
  bool is_complex() const { return tag_ == Tag::complex; }
  bool is_number() const { return is_int() || is_double() || is_bool() || is_complex(); }
  bool is_tensor() const { return tag_ == Tag::tensor; }
  bool is_string() const { return tag_ == Tag::string; }
  bool is_list() const { return tag_ == Tag::list; }
  bool is_dict() const { return tag_ == Tag::dict; }
  bool is_tuple() const { return tag_ == Tag::tuple; }
  bool is_object() const { return tag_ == Tag::object; }
  bool is_device() const { return tag_ == Tag::device; }

  int64_t to_int() const {
    if (tag_ != Tag::integer) [[unlikely]]
      wrong_tag(Tag::integer);
    return static_cast<int64_t>(bits_);
  }
  double to_double() const {
    if (tag_ != Tag::real) [[unlikely]]
      wrong_tag(Tag::real);
    return std::bit_cast<double>(bits_);
  }
  bool to_bool() const {
    if (tag_ != Tag::boolean) [[unlikely]]
      wrong_tag(Tag::boolean);
    return bits_ != 0;
  }
  // A reference into this Value.
  const Tensor& to_tensor() const {
    if (tag_ != Tag::tensor) [[unlikely]]
      wrong_tag(Tag::tensor);
    return tensor_;
  }
  // None gives an undefined tensor.
  const Tensor& to_optional_tensor() const {
    if (tag_ == Tag::none) return tensor_;
    return to_tensor();
  }
  SCONCE_API Device to_device() const;
  // int, float, bool, complex; a 0-dim tensor gives its item.
  Scalar to_scalar() const {
    if (tag_ == Tag::integer) return static_cast<int64_t>(bits_);
    if (tag_ == Tag::real) return std::bit_cast<double>(bits_);
    return other_to_scalar();
  }
  SCONCE_API std::complex<double> to_complex() const;  // any number
  SCONCE_API const std::string& to_string_ref() const;
  SCONCE_API Generator to_generator() const;  // None gives an undefined generator
  SCONCE_API List& to_list() const;
  SCONCE_API Dict& to_dict() const;
  SCONCE_API Tuple& to_tuple() const;
  SCONCE_API Object& to_object() const;
  SCONCE_API EnumValue& to_enum() const;
  SCONCE_API Future& to_future() const;
  SCONCE_API Capsule& to_capsule() const;

  // The type that this value has by itself (a list knows its element type, None is NoneType).
  SCONCE_API TypePtr type() const;
  // Python's repr, as TorchScript prints values.
  SCONCE_API std::string repr() const;
  // `is`: the same object (or equal None, bool, number).
  SCONCE_API bool is_same(const Value& other) const;
  // `==`: by value; for tensors, lists and dicts of tensors throws Error as Python would for an ambiguous truth value.
  SCONCE_API bool equals(const Value& other) const;
  // Python's hash rules for dict keys: int, float, bool, str, tensor (identity), device, enum, tuples of these.
  SCONCE_API size_t hash() const;
  // Of keys of a dict: a hash that nobody is shown; equality by value, of tensors and objects by identity.
  SCONCE_API size_t key_hash() const;
  SCONCE_API bool is_same_key(const Value& other) const;

  uint64_t bits() const { return bits_; }                                 // the payload
  Counted* counted() const { return reinterpret_cast<Counted*>(bits_); }  // for tags > tensor

 private:
  friend class List;
  SCONCE_API static Counted* boxed(std::complex<double> v);
  Value(Counted* p, Tag tag) : bits_(reinterpret_cast<uint64_t>(p)), tag_(p ? tag : Tag::none), aux_(0) {}
  [[noreturn]] SCONCE_API SCONCE_COLD void wrong_tag(Tag wanted) const;
  SCONCE_API Scalar other_to_scalar() const;
  void retain_payload() const {
    if (tag_ < Tag::tensor) return;
    if (tag_ == Tag::tensor)
      retain(reinterpret_cast<TensorImpl*>(bits_));
    else
      retain(counted());
  }
  void release_payload() const {
    if (tag_ == Tag::tensor)
      release(reinterpret_cast<TensorImpl*>(bits_));
    else
      release(counted());
  }

  // May alias: the payload is also read as a Tensor.
  using Bits __attribute__((may_alias)) = uint64_t;
  union {
    Bits bits_;
    Tensor tensor_;
  };
  Tag tag_;
  uint32_t aux_;
};
static_assert(sizeof(Value) == 16);

class StringBox final : public Counted {
 public:
  explicit StringBox(std::string_view v) : text(v) {}
  // Strings are immutable: only a sole owner who lets go of the old value may change the text in place.
  std::string text;
};

class ComplexBox final : public Counted {
 public:
  explicit ComplexBox(std::complex<double> v) : value(v) {}
  const std::complex<double> value;
};

std::vector<Value> nones(size_t count);

// A list, stored by element kind: `ints()` is the memory itself, to be passed to an operator as it is.
class SCONCE_API List final : public Counted {
 public:
  // The storage follows the element type: int, float, bool, Tensor (and Optional[Tensor]) have their own, the
  // rest is Values.
  explicit List(TypePtr element);
  ~List() override;

  TypePtr element_type() const { return element_; }
  size_t size() const { return items_.size; }
  bool empty() const { return size() == 0; }
  // Indices are checked: 0 <= i < size, else Error (index).
  Value get(size_t i) const;
  void set(size_t i, Value v);
  void append(Value v);
  void insert(size_t at, Value v);
  void erase(size_t from, size_t to);
  void reserve(size_t n);
  void clear();
  void reverse();
  Ref<List> copy() const;  // shallow

  bool is_ints() const { return store_ == Store::ints; }
  bool is_doubles() const { return store_ == Store::doubles; }
  bool is_bools() const { return store_ == Store::bools; }
  bool is_tensors() const { return store_ == Store::tensors; }
  // The storage; throws Error (type) when the list holds something else. An empty list of any kind gives an empty one.
  IntList ints() const;
  ListRef<double> doubles() const;
  ListRef<bool> bools() const;
  TensorList tensors() const;
  std::vector<Value> values() const;  // boxed copies
  // The items themselves, for the interpreter and kernels that change them in place; null when it holds something else.
  ItemsOf<int64_t> int_items() { return as<int64_t>(Store::ints); }
  ItemsOf<double> double_items() { return as<double>(Store::doubles); }
  ItemsOf<uint8_t> bool_items() { return as<uint8_t>(Store::bools); }
  ItemsOf<Tensor> tensor_items() { return as<Tensor>(Store::tensors); }
  ItemsOf<Value> value_items() { return as<Value>(Store::values); }

 private:
  enum class Store : uint8_t { ints, doubles, bools, tensors, values };
  template <class T>
  ItemsOf<T> as(Store store) const {
    return store_ == store ? const_cast<RawItems*>(&items_) : nullptr;
  }
  // Tensors and Values are handles, which move as their bytes do.
  static constexpr uint8_t kItemSizes[] = {sizeof(int64_t), sizeof(double), sizeof(uint8_t), sizeof(Tensor),
                                           sizeof(Value)};
  static Store store_of(TypePtr element);
  size_t item_size() const { return kItemSizes[static_cast<size_t>(store_)]; }
  inline Value boxed(size_t i) const;
  inline void make_item(size_t i, Value&& v);
  void end_items(void* from, size_t count) const;
  void check(size_t i) const;
  SCONCE_COLD void check_empty(const char* wanted) const;
  const Store store_;
  TypeRef element_;
  RawItems items_;
};

// A dict in insertion order.
class SCONCE_API Dict final : public Counted {
 public:
  static constexpr size_t kNowhere = ~size_t{0};  // instead of the number of an entry
  Dict(TypePtr key, TypePtr value) : key_(key), value_(value) {}
  ~Dict() override;
  TypePtr key_type() const { return key_; }
  TypePtr value_type() const { return value_; }
  size_t size() const { return live_; }
  const Value* find(const Value& key) const;  // null when missing
  void set(Value key, Value value);           // keeps the place of an existing key
  bool erase(const Value& key);
  void clear();
  Ref<Dict> copy() const;
  std::vector<std::pair<Value, Value>> items() const;
  template <class F>
  void for_each(F&& f) const {
    for (const Entry& e : entries()) {
      if (e.live) f(e.key, e.value);
    }
  }

 private:
  struct Entry {
    size_t hash;
    Value key, value;
    bool live;
  };
  static constexpr uint32_t kEmpty = ~0u;
  ItemsOf<Entry> entries() const { return const_cast<RawItems*>(&entries_); }
  ItemsOf<uint32_t> index() const { return const_cast<RawItems*>(&index_); }
  size_t locate(const Value& key, size_t hash) const;  // entry index, or kNowhere
  void add_to_index(size_t entry);
  void rehash();
  TypeRef key_, value_;
  RawItems entries_;  // with holes where keys were erased
  RawItems index_;    // open addressing, load at most 1/2; empty while there are few entries
  size_t live_ = 0;
};

class SCONCE_API Tuple final : public Counted {
 public:
  explicit Tuple(std::vector<Value> items, TypePtr named = nullptr) : items(std::move(items)), named_type(named) {}
  Tuple(size_t count, TypePtr named);  // of None
  std::vector<Value> items;            // immutable, except that a sole owner may move them out
  const TypeRef named_type;            // a named tuple's type, or null
};

// An instance of a class: attributes in slot order.
class SCONCE_API Object final : public Counted {
 public:
  explicit Object(TypePtr type);
  ~Object() override;
  TypePtr type() const { return type_; }
  const Value& slot(size_t i) const { return values()[i]; }
  void set_slot(size_t i, Value v);
  Value* slots() { return values().data(); }       // for the interpreter, which knows that they exist
  const Value& attr(std::string_view name) const;  // throws Error naming class and attribute
  void set_attr(std::string_view name, Value v);

 private:
  ItemsOf<Value> values() const { return const_cast<RawItems*>(&slots_); }
  void grow(size_t count);
  TypeRef type_;
  RawItems slots_;
};

class SCONCE_API EnumValue final : public Counted {
 public:
  EnumValue(TypePtr type, std::string name, Value value) : type(type), name(std::move(name)), value(std::move(value)) {}
  const TypeRef type;
  const std::string name;
  const Value value;
};

// A result that arrives later. Thread-safe.
class SCONCE_API Future final : public Counted {
 public:
  explicit Future(TypePtr element) : element_(element) {}
  TypePtr element_type() const { return element_; }
  bool done() const;
  void complete(Value v);                     // once; throws Error when already done
  void fail(std::exception_ptr error);        // once
  void wait() const;                          // blocks until done
  Value value() const;                        // waits; rethrows the error
  void then(std::function<void(Future&)> f);  // runs when done, at once when it is

 private:
  void finish(Value v, std::exception_ptr error);
  TypeRef element_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ready_;
  bool done_ = false;
  Value value_;
  std::exception_ptr error_;
  std::vector<std::function<void(Future&)>> callbacks_;
};

// Any C++ object of a custom class.
class SCONCE_API Capsule final : public Counted {
 public:
  Capsule(void* object, void (*destroy)(void*)) : object(object), destroy_(destroy) {}
  ~Capsule() override {
    if (destroy_) destroy_(object);
  }
  void* const object;

 private:
  void (*destroy_)(void*);
};

inline Value::Value(Ref<List> v) : Value(v.leak(), Tag::list) {}
inline Value::Value(Ref<Dict> v) : Value(v.leak(), Tag::dict) {}
inline Value::Value(Ref<Tuple> v) : Value(v.leak(), Tag::tuple) {}
inline Value::Value(Ref<Object> v) : Value(v.leak(), Tag::object) {}
inline Value::Value(Ref<EnumValue> v) : Value(v.leak(), Tag::enum_) {}
inline Value::Value(Ref<Future> v) : Value(v.leak(), Tag::future) {}
inline Value::Value(Ref<Capsule> v) : Value(v.leak(), Tag::capsule) {}
template <class... T>
Value::Value(std::tuple<T...> v) : Value() {
  std::vector<Value> items;
  items.reserve(sizeof...(T));
  std::apply([&](auto&... e) { (items.emplace_back(std::move(e)), ...); }, v);
  *this = Value(make_ref<Tuple>(std::move(items)));
}

}  // namespace sconce
