#include "sconce/types/value.h"

#include "sconce/types/class_info.h"

#include "sconce/base/text/packed_texts.h"
#include "sconce/types/hash.h"
#include "sconce/types/identity.h"

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
  if (a.is_complex() || b.is_complex() || (a.is_double() && b.is_double())) return a.to_complex() == b.to_complex();
  // The bits of an int or bool are its value.
  if (a.is_double()) return equal_numbers(static_cast<int64_t>(b.bits()), std::bit_cast<double>(a.bits()));
  if (b.is_double()) return equal_numbers(b, a);
  return a.bits() == b.bits();
}

// Of values that are neither tensors nor containers; those are equal when they are the same.
bool equal_atoms(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.tag() != b.tag()) return false;
  if (a.bits() == b.bits()) return true;
  if (a.is_string()) return payload<StringBox>(a).text == payload<StringBox>(b).text;
  if (a.tag() != Tag::enum_) return false;
  const EnumValue &x = payload<EnumValue>(a), &y = payload<EnumValue>(b);
  return x.type == y.type && x.name == y.name;
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

size_t hash_double(double v) {
  if (is_whole(v)) return mix_hash(static_cast<size_t>(static_cast<int64_t>(v)));
  return mix_hash(std::bit_cast<uint64_t>(v));
}

size_t hash_of(const Value& v, size_t (*hash_address)(const void*)) {
  if (v.is_double()) return hash_double(std::bit_cast<double>(v.bits()));
  if (v.tag() < Tag::tensor) return mix_hash(v.bits());
  if (v.is_string()) return hash_text(payload<StringBox>(v).text);
  if (v.is_complex()) {
    const std::complex<double> c = payload<ComplexBox>(v).value;
    const size_t real = hash_double(c.real());
    return c.imag() == 0 ? real : real + 1000003 * hash_double(c.imag());
  }
  if (v.tag() == Tag::enum_) return hash_text(payload<EnumValue>(v).name);
  if (v.is_list() || v.is_dict()) fail_as(ErrorKind::type, "unhashable type: '{}'", tag_name(v.tag()));
  if (!v.is_tuple()) return hash_address(v.counted());  // tensors and objects are compared by identity
  size_t h = 0x345678;
  for (const Value& item : payload<Tuple>(v).items) h = mix_hash(h ^ hash_of(item, hash_address)) + 97531;
  return h;
}

constexpr size_t kPlainTags = 5;  // before Tag::tensor
size_t number_of(Tag tag) {
  const auto n = static_cast<size_t>(tag), counted = static_cast<size_t>(Tag::tensor);
  return n < counted ? n : n - counted + kPlainTags;
}

}  // namespace

std::string_view tag_name(Tag tag) {
  static constexpr char kNames[] =
      "None\0bool\0int\0float\0Device\0Tensor\0str\0complex\0list\0dict\0tuple\0object\0enum\0Future\0Generator\0Capsul"
      "e";
  return nth_text(kNames, number_of(tag));
}

Value::Value(Device v)
    : bits_(static_cast<uint8_t>(v.type) | static_cast<uint64_t>(static_cast<uint8_t>(v.index)) << 8),
      tag_(Tag::device),
      aux_(0) {}

Counted* Value::boxed(std::complex<double> v) { return new ComplexBox(v); }
Value::Value(std::complex<double> v) : Value(boxed(v), Tag::complex) {}
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

void wrong_type(const char* wanted, const char* which, TypePtr given) {
  fail_as(ErrorKind::type, "expected {}{}, got {}", wanted, which, given ? given->to_string() : "None");
}

// None has no type in messages.
static TypePtr shown_type(const Value& v) { return v.is_none() ? nullptr : v.type(); }

void Value::wrong_tag(Tag wanted) const { wrong_type("a value of type ", tag_name(wanted).data(), shown_type(*this)); }

Device Value::to_device() const {
  if (tag_ != Tag::device) wrong_tag(Tag::device);
  return {static_cast<DeviceType>(bits_ & 0xff), static_cast<int8_t>(bits_ >> 8 & 0xff)};
}

Scalar Value::other_to_scalar() const {
  if (tag_ == Tag::boolean) return to_bool();
  if (tag_ == Tag::complex) return payload<ComplexBox>(*this).value;
  if (tag_ != Tag::tensor) wrong_type("a number", "", shown_type(*this));
  SCONCE_CHECK_AS(type, tensor_.dim() == 0, "expected a number, got a tensor of {} dimensions", tensor_.dim());
  return item_of(tensor_);
}

std::complex<double> Value::to_complex() const {
  if (tag_ == Tag::complex) return payload<ComplexBox>(*this).value;
  if (tag_ == Tag::real) return to_double();
  if (!is_number()) wrong_tag(Tag::complex);
  return static_cast<double>(static_cast<int64_t>(bits_));
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

static TypePtr type_of_tuple(const Tuple& tuple) {
  if (tuple.named_type) return tuple.named_type;
  TypeList types;
  for (const Value& item : tuple.items) types.push_back(item.type());
  return tuple_type(types);
}

TypePtr Value::type() const {
  switch (tag_) {
    case Tag::list:
      return list_type(payload<List>(*this).element_type());
    case Tag::dict:
      return dict_type(payload<Dict>(*this).key_type(), payload<Dict>(*this).value_type());
    case Tag::tuple:
      return type_of_tuple(payload<Tuple>(*this));
    case Tag::object:
      return payload<Object>(*this).type();
    case Tag::enum_:
      return payload<EnumValue>(*this).type;
    case Tag::future:
      return future_type(payload<Future>(*this).element_type());
    default: {
      using enum TypeKind;
      static constexpr TypeKind kKinds[] = {none, bool_, int_, float_, device, tensor, string,    complex,
                                            any,  any,   any,  any,    any,    any,    generator, capsule};
      return simple_type(kKinds[number_of(tag_)]);
    }
  }
}

bool Value::is_same(const Value& other) const {
  if (tag_ != other.tag_) return false;
  if (tag_ == Tag::complex) return to_complex() == other.to_complex();
  return bits_ == other.bits_;
}

bool Value::equals(const Value& other) const {
  if (is_tensor() || other.is_tensor()) return equal_tensors(*this, other);
  if (tag_ != other.tag_ || bits_ == other.bits_) return equal_atoms(*this, other);
  if (is_list()) return equal_lists(to_list(), other.to_list());
  if (is_dict()) return equal_dicts(to_dict(), other.to_dict());
  if (is_tuple()) return equal_tuples(to_tuple(), other.to_tuple());
  return equal_atoms(*this, other);
}

bool Value::is_same_key(const Value& other) const {
  if (tag_ == other.tag_ && bits_ == other.bits_) return true;
  if (!is_tuple() || !other.is_tuple()) return equal_atoms(*this, other);
  const std::vector<Value>&x = payload<Tuple>(*this).items, &y = payload<Tuple>(other).items;
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i].is_same_key(y[i])) return false;
  }
  return true;
}

size_t Value::key_hash() const {
  return hash_of(*this, [](const void* p) { return mix_hash(reinterpret_cast<uintptr_t>(p)); });
}
size_t Value::hash() const {
  return hash_of(*this, [](const void* p) { return static_cast<size_t>(identity_of(p)); });
}
std::vector<Value> nones(size_t count) { return std::vector<Value>(count); }

Tuple::Tuple(size_t count, TypePtr named) : items(nones(count)), named_type(named) {}

Object::Object(TypePtr type) : type_(type) {
  if (!type || !type->is(TypeKind::class_)) wrong_type("a class for an object", "", type);
  grow(type->class_layout()->attributes.size());
}
Object::~Object() { std::destroy_n(slots(), slots_.size); }

void Object::grow(size_t count) {
  slots_.reserve(count, sizeof(Value));
  for (; slots_.size < count; ++slots_.size) new (slots() + slots_.size) Value();
}

void Object::set_slot(size_t i, Value v) {
  if (i >= slots_.size) {
    // The class may have got attributes after this object was made.
    const size_t count = type_->class_layout()->attributes.size();
    SCONCE_CHECK_AS(index, i < count, "{} has {} attributes, there is none at {}", type_->name(), count, i);
    grow(count);
  }
  slots()[i] = std::move(v);
}

const Value& Object::attr(std::string_view name) const {
  const int slot = type_->class_layout()->find(name);
  SCONCE_CHECK(slot >= 0 && static_cast<size_t>(slot) < slots_.size, "{} has no attribute '{}'", type_->to_string(),
               name);
  return values()[slot];
}

void Object::set_attr(std::string_view name, Value v) {
  const int slot = type_->class_layout()->find(name);
  SCONCE_CHECK(slot >= 0, "{} has no attribute '{}'", type_->to_string(), name);
  set_slot(slot, std::move(v));
}

}  // namespace sconce
