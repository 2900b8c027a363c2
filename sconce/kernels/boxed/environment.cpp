// Modes of the thread, generators, devices, and values that pass through.
#include <algorithm>
#include <cmath>
#include <random>

#include "sconce/base/error.h"
#include "sconce/dispatch/binding/autocast.h"
#include "sconce/dispatch/op.h"
#include "sconce/generated/environment_kernels.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/class_info.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

double number(const Value& v) {
  return v.is_int() ? static_cast<double>(v.to_int()) : v.is_bool() ? v.to_bool() : v.to_double();
}

// Python's order of numbers and of lists of them.
bool less(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return a.to_int() < b.to_int();
  return number(a) < number(b);
}
bool list_less(const Value& a, const Value& b) {
  const std::vector<Value> x = a.to_list().values(), y = b.to_list().values();
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less);
}

// A float beside an int gives a float.
Value chosen(const Value& picked, const Value& other) {
  if (picked.is_int() && other.is_double()) return static_cast<double>(picked.to_int());
  return picked;
}

ErrorKind kind_of(const Value& cls) {
  if (cls.is_none()) return ErrorKind::runtime;
  const std::string& name = cls.to_string_ref();
  const auto ends = [&](std::string_view end) {
    return name.size() >= end.size() && std::string_view(name).substr(name.size() - end.size()) == end;
  };
  if (ends("ValueError")) return ErrorKind::value;
  if (ends("TypeError")) return ErrorKind::type;
  if (ends("IndexError")) return ErrorKind::index;
  if (ends("NotImplementedError")) return ErrorKind::not_implemented;
  return ErrorKind::runtime;
}

}  // namespace

void grad_is_enabled(const Op&, KeySet, Value*, Value* returns) { returns[0] = grad_enabled(); }
void enable_grad(const Op&, KeySet, Value* args, Value*) { set_grad_enabled(args[0].to_bool()); }
void inference_state(const Op&, KeySet, Value*, Value* returns) {
  returns[0] = static_cast<int64_t>(inference_mode_state());
}
void enable_inference(const Op&, KeySet, Value* args, Value*) { set_inference_mode(args[0].to_bool()); }
void restore_inference(const Op&, KeySet, Value* args, Value*) {
  restore_inference_mode(static_cast<uint64_t>(args[0].to_int()));
}
void autocast_is_enabled(const Op&, KeySet, Value*, Value* returns) {
  returns[0] = (thread_modes.include & KeySet(Key::autocast).bits()) != 0;
}
void autocast_dtype(const Op&, KeySet, Value* args, Value* returns) {
  const bool cpu = parse_device(args[0].to_string_ref()).type == DeviceType::cpu;
  returns[0] = cpu ? sconce::autocast_dtype() : DType::float16;
}
void tracing_state(const Op&, KeySet, Value*, Value* returns) {
  returns[0] = (thread_modes.include & KeySet(Key::tracer).bits()) != 0;
}
void always_true(const Op&, KeySet, Value*, Value* returns) { returns[0] = true; }
void always_false(const Op&, KeySet, Value*, Value* returns) { returns[0] = false; }
void cpu_capability(const Op&, KeySet, Value*, Value* returns) {
#if defined(__x86_64__)
  returns[0] = cpu_level() == 4 ? "AVX512" : cpu_level() == 3 ? "AVX2" : "DEFAULT";
#else
  returns[0] = "DEFAULT";
#endif
}

void seed_default(const Op&, KeySet, Value* args, Value*) { manual_seed(static_cast<uint64_t>(args[0].to_int())); }
void seed_generator(const Op&, KeySet, Value* args, Value* returns) {
  const Generator g = args[0].to_generator();
  {
    const std::lock_guard lock(g.impl()->mutex);
    g.impl()->seed(static_cast<uint64_t>(args[1].to_int()));
  }
  returns[0] = args[0];
}
void seed_anew(const Op&, KeySet, Value* args, Value* returns) {
  std::random_device source;
  const uint64_t seed = static_cast<uint64_t>(source()) << 21 ^ source();  // fits a double, as PyTorch's do
  const Generator g = args[0].to_generator();
  const std::lock_guard lock(g.impl()->mutex);
  g.impl()->seed(seed);
  returns[0] = static_cast<int64_t>(seed);
}
void generator_seed(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(args[0].to_generator().impl()->initial_seed());
}

void tensor_layout(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_tensor().layout(); }
void tensor_name(const Op&, KeySet, Value*, Value* returns) { returns[0] = Value(); }  // no tensor has a name here
void device_type(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = to_string(Device(args[0].to_device().type));
}
void device_index(const Op&, KeySet, Value* args, Value* returns) {
  const Device d = args[0].to_device();
  returns[0] = d.index < 0 ? Value() : Value(static_cast<int64_t>(d.index));
}

void same_value(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0]; }
void choose(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_bool() ? args[1] : args[2]; }
void tuple_item(const Op&, KeySet, Value* args, Value* returns) {
  const Tuple& t = args[0].to_tuple();
  const auto n = static_cast<int64_t>(t.items.size());
  const int64_t i = args[1].to_int();
  SCONCE_CHECK_AS(index, -n <= i && i < n, "Tuple index out of range");
  returns[0] = t.items[static_cast<size_t>(i < 0 ? i + n : i)];
}
void enum_name(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_enum().name; }
void enum_value(const Op&, KeySet, Value* args, Value* returns) { returns[0] = args[0].to_enum().value; }
void range_list(const Op&, KeySet, Value* args, Value* returns) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < args[0].to_int(); ++i) out.push_back(i);
  returns[0] = IntList(out);
}
void raise(const Op&, KeySet, Value* args, Value*) { fail_as(kind_of(args[1]), "{}", args[0].to_string_ref()); }

void number_abs(const Op&, KeySet, Value* args, Value* returns) {
  const Value& a = args[0];
  if (a.is_int()) {
    const auto bits = static_cast<uint64_t>(a.to_int());
    returns[0] = static_cast<int64_t>(a.to_int() < 0 ? 0 - bits : bits);
  } else if (a.is_double()) {
    returns[0] = std::abs(a.to_double());
  } else {
    returns[0] = std::abs(a.to_complex());
  }
}
void number_max(const Op&, KeySet, Value* args, Value* returns) {
  const bool second = less(args[0], args[1]);
  returns[0] = second ? chosen(args[1], args[0]) : chosen(args[0], args[1]);
}
void number_min(const Op&, KeySet, Value* args, Value* returns) {
  const bool second = less(args[1], args[0]);
  returns[0] = second ? chosen(args[1], args[0]) : chosen(args[0], args[1]);
}
void larger_list(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = list_less(args[0], args[1]) ? args[1] : args[0];
}
void smaller_list(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = list_less(args[1], args[0]) ? args[1] : args[0];
}
void largest_item(const Op&, KeySet, Value* args, Value* returns) {
  const std::vector<Value> items = args[0].to_list().values();
  SCONCE_CHECK_AS(value, !items.empty(), "max() arg is an empty sequence");
  returns[0] = *std::max_element(items.begin(), items.end(), less);
}
void smallest_item(const Op&, KeySet, Value* args, Value* returns) {
  const std::vector<Value> items = args[0].to_list().values();
  SCONCE_CHECK_AS(value, !items.empty(), "min() arg is an empty sequence");
  returns[0] = *std::min_element(items.begin(), items.end(), less);
}

// None has a number, too: 0.
void identity_number(const Op&, KeySet, Value* args, Value* returns) {
  returns[0] = static_cast<int64_t>(args[0].bits());
}

// Modules in containers are attributes: "0", "1", ... of a list, their keys of a dict.
void module_at(const Op&, KeySet, Value* args, Value* returns) {
  const Object& container = args[0].to_object();
  int64_t n = 0;
  for (const ClassLayout::Attribute& a : container.type()->class_layout()->attributes) {
    n += a.type->is(TypeKind::class_) && a.type->class_layout()->is_module;
  }
  const int64_t i = args[1].to_int();
  SCONCE_CHECK_AS(index, -n <= i && i < n, "Container index {} is out of range", i);
  returns[0] = container.attr(std::to_string(i < 0 ? i + n : i));
}
void module_named(const Op&, KeySet, Value* args, Value* returns) {
  const Object& container = args[0].to_object();
  const std::string& name = args[1].to_string_ref();
  SCONCE_CHECK_AS(key, container.type()->class_layout()->find(name) >= 0, "{}", string_repr(name));
  returns[0] = container.attr(name);
}

}  // namespace sconce::boxed
