#include "sconce/types/value.h"

#include "sconce/types/class_info.h"
#include "sconce/types/hash.h"
#include "sconce/types/identity.h"

#include <functional>

namespace sconce {
namespace {

// The payload of a counted tag. The tag was checked, so the cast is right.
template <class T>
T& payload(const Value& v) {
  return *static_cast<T*>(v.counted());
}

ItemsOf<int64_t> items_in(List& list, const int64_t*) { return list.int_items(); }
ItemsOf<double> items_in(List& list, const double*) { return list.double_items(); }
ItemsOf<uint8_t> items_in(List& list, const bool*) { return list.bool_items(); }
ItemsOf<Tensor> items_in(List& list, const Tensor*) { return list.tensor_items(); }

template <class T>
Ref<List> list_of(TypePtr element, ListRef<T> items) {
  Ref<List> list = make_ref<List>(element);
  list->reserve(items.size());
  const auto to = items_in(*list, items.data());
  for (const T& item : items) to.push_back(item);
  return list;
}

// Is it an int of 64 bits?
bool is_whole(double v) { return v >= -0x1p63 && v < 0x1p63 && static_cast<double>(static_cast<int64_t>(v)) == v; }

// Python compares an int with a float exactly, however large.
bool equal_numbers(int64_t a, double b) { return is_whole(b) && static_cast<int64_t>(b) == a; }

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_complex() || b.is_complex()) return a.to_complex() == b.to_complex();
  if (a.is_double() && b.is_double()) return a.to_double() == b.to_double();
  const auto whole = [](const Value& v) { return v.is_bool() ? int64_t{v.to_bool()} : v.to_int(); };
  if (a.is_double()) return equal_numbers(whole(b), a.to_double());
  if (b.is_double()) return equal_numbers(whole(a), b.to_double());
  return whole(a) == whole(b);
}

// `bool(a == b)` where one of them is a tensor.
bool equal_tensors(const Value& a, const Value& b) {
  if (!(a.is_tensor() || a.is_number()) || !(b.is_tensor() || b.is_number())) return false;
  for (const Value* v : {&a, &b}) {
    SCONCE_CHECK(!v->is_tensor() || v->to_tensor().numel() == 1,
                 "Boolean value of Tensor with {} is ambiguous: compared tensors must have one element",
                 v->to_tensor().numel() == 0 ? "no values" : "more than one value");
  }
  const auto item = [](const Value& v) { return v.is_tensor() ? Value(item_of(v.to_tensor())) : v; };
  return equal_numbers(item(a), item(b));
}

// Elements of containers are equal when they are the same object, before anything else is asked.
bool equal_items(const Value& a, const Value& b) { return a.is_same(b) || a.equals(b); }

bool equal_lists(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal_items(a.get(i), b.get(i))) return false;
  }
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  bool equal = true;
  a.for_each([&](const Value& key, const Value& value) {
    if (!equal) return;
    const Value* other = b.find(key);
    equal = other && equal_items(value, *other);
  });
  return equal;
}

bool equal_tuples(const Tuple& a, const Tuple& b) {
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!equal_items(a.items[i], b.items[i])) return false;
  }
  return true;
}

size_t hash_text(const std::string& text) { return std::hash<std::string>()(text); }

size_t hash_double(double v) {
  if (is_whole(v)) return mix_hash(static_cast<size_t>(static_cast<int64_t>(v)));
  return mix_hash(std::bit_cast<uint64_t>(v));
}

}  // namespace

std::string_view tag_name(Tag tag) {
  static constexpr char kPlain[][7] = {"None", "bool", "int", "float", "Device"};
  static constexpr char kCounted[][10] = {"Tensor", "str",  "complex", "list",      "dict",   "tuple",
                                          "object", "enum", "Future",  "Generator", "Capsule"};
  if (tag < Tag::tensor) return kPlain[static_cast<size_t>(tag)];
  return kCounted[static_cast<size_t>(tag) - static_cast<size_t>(Tag::tensor)];
}

Value::Value(Device v)
    : bits_(static_cast<uint8_t>(v.type) | static_cast<uint64_t>(static_cast<uint8_t>(v.index)) << 8),
      tag_(Tag::device),
      aux_(0) {}

Value::Value(std::complex<double> v) : Value(new ComplexBox(v), Tag::complex) {}
Value::Value(std::string_view v) : Value(new StringBox(v), Tag::string) {}
// NOLINTNEXTLINE(performance-unnecessary-value-param): a handle
Value::Value(Generator v) : Value(v.ref().leak(), Tag::generator) {}
Value::Value(IntList v) : Value(list_of(int_type(), v)) {}
Value::Value(ListRef<double> v) : Value(list_of(float_type(), v)) {}
Value::Value(ListRef<bool> v) : Value(list_of(bool_type(), v)) {}
Value::Value(ListRef<Scalar> v) : Value() {
  Ref<List> list = make_ref<List>(number_type());
  for (const Scalar& item : v) list->append(item);
  *this = Value(std::move(list));
}

Value::Value(TensorList v) : Value() {
  bool holes = false;
  for (const Tensor& t : v) holes |= !t.defined();
  *this = Value(list_of(holes ? optional_type(tensor_type()) : tensor_type(), v));
}

static std::string type_text(const Value& v) { return v.is_none() ? "None" : v.type()->to_string(); }

void Value::wrong_tag(Tag wanted) const {
  fail_as(ErrorKind::type, "expected a value of type {}, got {}", tag_name(wanted), type_text(*this));
}

Device Value::to_device() const {
  if (tag_ != Tag::device) wrong_tag(Tag::device);
  return {static_cast<DeviceType>(bits_ & 0xff), static_cast<int8_t>(bits_ >> 8 & 0xff)};
}

Scalar Value::other_to_scalar() const {
  switch (tag_) {
    case Tag::boolean:
      return to_bool();
    case Tag::integer:
      return to_int();
    case Tag::real:
      return to_double();
    case Tag::complex:
      return payload<ComplexBox>(*this).value;
    case Tag::tensor:
      SCONCE_CHECK_AS(type, to_tensor().dim() == 0, "expected a number, got a tensor of {} dimensions",
                      to_tensor().dim());
      return item_of(to_tensor());
    default:
      fail_as(ErrorKind::type, "expected a number, got {}", type_text(*this));
  }
}

std::complex<double> Value::to_complex() const {
  if (tag_ == Tag::complex) return payload<ComplexBox>(*this).value;
  if (!is_number()) wrong_tag(Tag::complex);
  return to_scalar().to_complex();
}

const std::string& Value::to_string_ref() const {
  if (tag_ != Tag::string) wrong_tag(Tag::string);
  return payload<StringBox>(*this).text;
}
Generator Value::to_generator() const {
  if (is_none()) return Generator();
  if (tag_ != Tag::generator) wrong_tag(Tag::generator);
  return Generator(Ref<GeneratorImpl>::share(&payload<GeneratorImpl>(*this)));
}
List& Value::to_list() const {
  if (tag_ != Tag::list) wrong_tag(Tag::list);
  return payload<List>(*this);
}
Dict& Value::to_dict() const {
  if (tag_ != Tag::dict) wrong_tag(Tag::dict);
  return payload<Dict>(*this);
}
Tuple& Value::to_tuple() const {
  if (tag_ != Tag::tuple) wrong_tag(Tag::tuple);
  return payload<Tuple>(*this);
}
Object& Value::to_object() const {
  if (tag_ != Tag::object) wrong_tag(Tag::object);
  return payload<Object>(*this);
}
EnumValue& Value::to_enum() const {
  if (tag_ != Tag::enum_) wrong_tag(Tag::enum_);
  return payload<EnumValue>(*this);
}
Future& Value::to_future() const {
  if (tag_ != Tag::future) wrong_tag(Tag::future);
  return payload<Future>(*this);
}
Capsule& Value::to_capsule() const {
  if (tag_ != Tag::capsule) wrong_tag(Tag::capsule);
  return payload<Capsule>(*this);
}

TypePtr Value::type() const {
  TypeKind kind = TypeKind::none;
  switch (tag_) {
    case Tag::none:
      break;
    case Tag::boolean:
      kind = TypeKind::bool_;
      break;
    case Tag::integer:
      kind = TypeKind::int_;
      break;
    case Tag::real:
      kind = TypeKind::float_;
      break;
    case Tag::device:
      kind = TypeKind::device;
      break;
    case Tag::tensor:
      kind = TypeKind::tensor;
      break;
    case Tag::string:
      kind = TypeKind::string;
      break;
    case Tag::complex:
      kind = TypeKind::complex;
      break;
    case Tag::generator:
      kind = TypeKind::generator;
      break;
    case Tag::capsule:
      kind = TypeKind::capsule;
      break;
    case Tag::list:
      return list_type(to_list().element_type());
    case Tag::dict:
      return dict_type(to_dict().key_type(), to_dict().value_type());
    case Tag::tuple: {
      const Tuple& tuple = to_tuple();
      if (tuple.named_type) return tuple.named_type;
      TypeList types;
      for (const Value& item : tuple.items) types.push_back(item.type());
      return tuple_type(types);
    }
    case Tag::object:
      return to_object().type();
    case Tag::enum_:
      return to_enum().type;
    case Tag::future:
      return future_type(to_future().element_type());
  }
  return simple_type(kind);
}

bool Value::is_same(const Value& other) const {
  if (tag_ != other.tag_) return false;
  if (tag_ == Tag::complex) return to_complex() == other.to_complex();
  return bits_ == other.bits_;
}

bool Value::equals(const Value& other) const {
  if (is_tensor() || other.is_tensor()) return equal_tensors(*this, other);
  if (is_number() && other.is_number()) return equal_numbers(*this, other);
  if (tag_ != other.tag_) return false;
  if (bits_ == other.bits_) return true;
  switch (tag_) {
    case Tag::string:
      return to_string_ref() == other.to_string_ref();
    case Tag::list:
      return equal_lists(to_list(), other.to_list());
    case Tag::dict:
      return equal_dicts(to_dict(), other.to_dict());
    case Tag::tuple:
      return equal_tuples(to_tuple(), other.to_tuple());
    case Tag::enum_:
      return to_enum().type == other.to_enum().type && to_enum().name == other.to_enum().name;
    default:
      return false;
  }
}

size_t Value::hash() const {
  switch (tag_) {
    case Tag::none:
      return mix_hash(1);
    case Tag::boolean:
    case Tag::integer:
      return mix_hash(bits_);
    case Tag::real:
      return hash_double(to_double());
    case Tag::complex: {
      const std::complex<double> v = to_complex();
      return v.imag() == 0 ? hash_double(v.real()) : hash_double(v.real()) + 1000003 * hash_double(v.imag());
    }
    case Tag::device:
      return mix_hash(bits_ + 0x5000);
    case Tag::string:
      return hash_text(to_string_ref());
    case Tag::enum_:
      return hash_text(to_enum().name) ^ mix_hash(hash_text(to_enum().type->name()));
    case Tag::tuple: {
      size_t h = 0x345678;
      for (const Value& item : to_tuple().items) h = mix_hash(h ^ item.hash()) + 97531;
      return h;
    }
    case Tag::list:
      fail_as(ErrorKind::type, "unhashable type: 'list'");
    case Tag::dict:
      fail_as(ErrorKind::type, "unhashable type: 'dict'");
    default:
      return identity_of(reinterpret_cast<const void*>(bits_));  // tensors and objects are compared by identity
  }
}

static size_t count_slots(TypePtr type) {
  SCONCE_CHECK_AS(type, type && type->is(TypeKind::class_), "an object needs a class, got {}",
                  type ? type->to_string() : std::string("null"));
  return type->class_info()->attributes.size();
}

Object::Object(TypePtr type) : type_(type), slots_(count_slots(type)) {}

void Object::set_slot(size_t i, Value v) {
  if (i >= slots_.size()) {
    // The class may have got attributes after this object was made.
    const size_t count = type_->class_info()->attributes.size();
    SCONCE_CHECK_AS(index, i < count, "{} has {} attributes, there is none at {}", type_->to_string(), count, i);
    slots_.resize(count);
  }
  slots_[i] = std::move(v);
}

const Value& Object::attr(std::string_view name) const {
  const int slot = type_->class_info()->find(name);
  SCONCE_CHECK(slot >= 0 && static_cast<size_t>(slot) < slots_.size(), "{} has no attribute '{}'", type_->to_string(),
               name);
  return slots_[slot];
}

void Object::set_attr(std::string_view name, Value v) {
  const int slot = type_->class_info()->find(name);
  SCONCE_CHECK(slot >= 0, "{} has no attribute '{}'", type_->to_string(), name);
  set_slot(slot, std::move(v));
}

}  // namespace sconce
