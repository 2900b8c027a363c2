// Boxing: the bridge between typed kernels and calls over Values. Instantiated once per signature, not
// once per operator.
//
//   box_call<Sig, optional, aliased...>   a BoxThunk: unboxes the arguments, calls, boxes the results
//   typed_call<R, A...>(op, keys, a...)   the typed call: kernel by keys, through Values where the kernel is boxed
//   TypedFunction<Sig, optional, i>       what the typed functions of operators jump to
//
// `optional` has bit i set where argument i is `Tensor?` (None becomes an undefined tensor). `aliased` are the indices
// of the arguments that an in-place or out= operator returns: its kernel returns void.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {
namespace box {

// Unbox<T>: from a Value to an argument of type T; an object where the argument needs storage for the call.
template <class T>
struct Unbox;
template <>
struct Unbox<int64_t> {
  static int64_t get(const Value& v) { return v.to_int(); }
};
template <>
struct Unbox<double> {
  static double get(const Value& v) { return v.is_int() ? static_cast<double>(v.to_int()) : v.to_double(); }
};
template <>
struct Unbox<bool> {
  static bool get(const Value& v) { return v.to_bool(); }
};
template <>
struct Unbox<Scalar> {
  static Scalar get(const Value& v) { return v.to_scalar(); }
};
template <>
struct Unbox<std::complex<double>> {
  static std::complex<double> get(const Value& v) { return v.to_complex(); }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view get(const Value& v) { return v.to_string_ref(); }
};
template <>
struct Unbox<DType> {
  static DType get(const Value& v) { return dtype_from_number(v.to_int()); }
};
template <>
struct Unbox<Layout> {
  static Layout get(const Value& v) { return static_cast<Layout>(v.to_int()); }
};
template <>
struct Unbox<MemoryFormat> {
  static MemoryFormat get(const Value& v) {
    const int64_t n = v.to_int();
    SCONCE_CHECK(n >= 0 && n <= 3, "memory format number {} is not supported", n);
    return static_cast<MemoryFormat>(n);
  }
};
template <>
struct Unbox<Device> {
  static Device get(const Value& v) { return v.to_device(); }
};
template <>
struct Unbox<Generator> {
  static Generator get(const Value& v) { return v.to_generator(); }
};
template <>
struct Unbox<IntList> {
  static IntList get(const Value& v) { return v.to_list().ints(); }
};
template <>
struct Unbox<ListRef<double>> {
  static ListRef<double> get(const Value& v) { return v.to_list().doubles(); }
};
template <>
struct Unbox<ListRef<bool>> {
  static ListRef<bool> get(const Value& v) { return v.to_list().bools(); }
};
template <>
struct Unbox<TensorList> {
  static TensorList get(const Value& v) { return v.to_list().tensors(); }
};
template <>
struct Unbox<ListRef<Scalar>> {
  static std::vector<Scalar> get(const Value& v) {
    std::vector<Scalar> out;
    for (const Value& item : v.to_list().values()) out.push_back(item.to_scalar());
    return out;
  }
};
template <class T>
struct Unbox<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    if (v.is_none()) return std::nullopt;
    return Unbox<T>::get(v);
  }
};

template <class A, bool kOptional>
decltype(auto) unbox(const Value& v) {
  if constexpr (std::is_same_v<A, const Tensor&>) {
    if constexpr (kOptional)
      return v.to_optional_tensor();
    else
      return v.to_tensor();
  } else {
    return Unbox<std::remove_cvref_t<A>>::get(v);
  }
}

// From the one Value of a boxed kernel's return to what a typed caller gets.
template <class R>
R unbox_return(Value& v) {
  if constexpr (std::is_same_v<R, Tensor>)
    return v.to_optional_tensor();
  else if constexpr (std::is_same_v<R, std::vector<Tensor>>)
    return v.to_list().tensors().vec();
  else if constexpr (std::is_same_v<R, std::vector<int64_t>>)
    return v.to_list().ints().vec();
  else if constexpr (std::is_same_v<R, std::string>)
    return v.to_string_ref();
  else
    return Unbox<R>::get(v);
}

template <class T>
inline constexpr size_t kReturns = 1;
template <>
inline constexpr size_t kReturns<void> = 0;
template <class... T>
inline constexpr size_t kReturns<std::tuple<T...>> = sizeof...(T);

template <class Sig, uint32_t kOptional, int... kAliased>
struct Thunk;
template <class R, class... A, uint32_t kOptional, int... kAliased>
struct Thunk<R(A...), kOptional, kAliased...> {
  template <size_t... I>
  static void call(const void* typed, KeySet keys, Value* args, Value* returns, std::index_sequence<I...>) {
    auto* fn = reinterpret_cast<R (*)(KeySet, A...)>(const_cast<void*>(typed));
    if constexpr (std::is_void_v<R>) {
      fn(keys, unbox < A, (kOptional >> I & 1) != 0 > (args[I])...);
      size_t next = 0;
      ((returns[next++] = args[kAliased]), ...);
    } else if constexpr (kReturns<R> != 1 || requires { std::tuple_size<R>::value; }) {
      R result = fn(keys, unbox < A, (kOptional >> I & 1) != 0 > (args[I])...);
      size_t next = 0;
      std::apply([&](auto&... e) { ((returns[next++] = Value(std::move(e))), ...); }, result);
    } else {
      returns[0] = Value(fn(keys, unbox < A, (kOptional >> I & 1) != 0 > (args[I])...));
    }
  }
};

// The types of typed arguments. A number among them says in one byte how an argument becomes a Value.
template <class... T>
struct TypeList {
  template <class U>
  static constexpr uint8_t number() {
    constexpr bool same[] = {std::is_same_v<T, U>...};
    uint8_t i = 0;
    while (!same[i]) ++i;  // an index past the end is an error of the compiler: the type is not listed
    return i;
  }
};
using ArgumentTypes =
    TypeList<Tensor, int64_t, double, bool, Scalar, std::complex<double>, std::string_view, DType, Layout, MemoryFormat,
             Device, Generator, IntList, ListRef<double>, ListRef<bool>, ListRef<Scalar>, TensorList,
             std::optional<int64_t>, std::optional<double>, std::optional<bool>, std::optional<Scalar>,
             std::optional<std::string_view>, std::optional<DType>, std::optional<Layout>, std::optional<MemoryFormat>,
             std::optional<Device>, std::optional<IntList>, std::optional<ListRef<double>>,
             std::optional<ListRef<Scalar>>>;

// Typed call onto a boxed kernel, which is rare: code that all signatures share does the work. Argument i becomes a
// Value as its type does, number types[i] of ArgumentTypes. `aliased` results are dropped: the caller has the
// arguments.
SCONCE_API SCONCE_COLD std::vector<Value> call_boxed(const Op& op, const char* kernel, KeySet keys,
                                                     const uint8_t* types, const void* const* arguments, size_t count);

template <class R>
SCONCE_COLD R call_boxed_for(const Op& op, const char* kernel, KeySet keys, const uint8_t* types,
                             const void* const* arguments, size_t count) {
  std::vector<Value> returns = call_boxed(op, kernel, keys, types, arguments, count);
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return R(unbox_return<std::tuple_element_t<I, R>>(returns[I])...);
    }(std::make_index_sequence<std::tuple_size_v<R>>());
  } else {
    return unbox_return<R>(returns[0]);
  }
}

template <class R, class... A>
SCONCE_COLD R call_through_values(const Op& op, const char* kernel, KeySet keys, A... args) {
  static constexpr uint8_t types[] = {ArgumentTypes::number<std::remove_cvref_t<A>>()..., 0};
  const void* const arguments[] = {&args..., nullptr};
  return call_boxed_for<R>(op, kernel, keys, types, arguments, sizeof...(A));
}

}  // namespace box

template <class Sig>
struct Arity;
template <class R, class... A>
struct Arity<R(A...)> : std::integral_constant<size_t, sizeof...(A)> {};

template <class Sig, uint32_t kOptional = 0, int... kAliased>
void box_call(const void* typed, KeySet keys, Value* args, Value* returns) {
  box::Thunk<Sig, kOptional, kAliased...>::call(typed, keys, args, returns,
                                                std::make_index_sequence<Arity<Sig>::value>());
}

template <class R, class... A>
SCONCE_INLINE R typed_call(const Op& op, KeySet tensors, A... args) {
  const KeySet keys = active_keys(tensors);
  const char* kernel = kernel_for(op, keys);
  if (is_boxed(kernel)) [[unlikely]]
    return box::call_through_values<R, A...>(op, kernel, keys, args...);
  return reinterpret_cast<R (*)(KeySet, A...)>(const_cast<char*>(kernel))(keys, args...);
}

// Keys of arguments. An undefined tensor where one is needed is an error, an absent optional one has none.
[[noreturn]] SCONCE_API SCONCE_COLD void fail_undefined_tensor();
SCONCE_INLINE KeySet keys_of(const Tensor& t) {
  if (!t.defined()) [[unlikely]]
    fail_undefined_tensor();
  return t.keys();
}
SCONCE_INLINE KeySet keys_of_optional(const Tensor& t) { return t.defined() ? t.keys() : KeySet(); }
inline KeySet keys_of(TensorList list) {
  KeySet keys;
  for (const Tensor& t : list) keys |= keys_of_optional(t);
  return keys;
}
SCONCE_INLINE KeySet keys_of(const std::optional<Device>& device) {
  if (!device || device->type == DeviceType::cpu) [[likely]]
    return Key::cpu;
  return backend_key(device->type);
}
// An empty list of tensors has no keys: the call goes to the CPU.
inline KeySet or_cpu(KeySet keys) { return keys.empty() ? KeySet(Key::cpu) : keys; }

// Adds operator and shapes to an Error on its way to the caller, and rethrows it. Of `tensors`, which are in the order
// of the arguments, those that are null are left out.
[[noreturn]] SCONCE_API SCONCE_COLD void call_failed(Error& error, const Op& op,
                                                     std::initializer_list<const Tensor*> tensors);

namespace box {

template <class A>
inline constexpr bool kIsTensor = std::is_same_v<A, const Tensor&>;

// The keys that an argument adds to a call.
template <class A, bool kOptional>
SCONCE_INLINE KeySet keys_in(const std::remove_cvref_t<A>& argument) {
  if constexpr (kIsTensor<A>)
    return kOptional ? keys_of_optional(argument) : keys_of(argument);
  else if constexpr (std::is_same_v<A, TensorList>)
    return keys_of(argument);
  else
    return KeySet();
}
template <class A>
SCONCE_INLINE const Tensor* tensor_in(const std::remove_cvref_t<A>& argument) {
  if constexpr (kIsTensor<A>)
    return &argument;
  else
    return nullptr;
}
// The device of a call without tensors: the first that is an argument, or the CPU.
SCONCE_INLINE KeySet device_keys() { return Key::cpu; }
template <class A, class... Rest>
SCONCE_INLINE KeySet device_keys(const A& first, const Rest&... rest) {
  if constexpr (std::is_same_v<A, Device> || std::is_same_v<A, std::optional<Device>>)
    return keys_of(std::optional<Device>(first));
  else
    return device_keys(rest...);
}

}  // namespace box

// The typed function of an operator but for the operator: keys of the arguments, the kernel that they choose, operator
// and shapes for what it throws. One serves all operators of a signature; each of their functions is a jump to it, so
// the operator is the last argument, and the others stay where they are. Where they do not fit into registers they are
// copied; a factory, which does little else, has all of it itself then. `kReturned`: the argument that the function of
// an in-place or out= operator returns, -1 for what the kernel returns.
template <class Sig, uint32_t kOptional, int kReturned>
struct TypedFunction;
template <class R, class... A, uint32_t kOptional, int kReturned>
struct TypedFunction<R(A...), kOptional, kReturned> {
  static constexpr bool kWrites = kReturned >= 0;
  using Result = std::conditional_t<kWrites, const Tensor&, R>;

  SCONCE_INLINE static Result call(A... args, const Op& op) {
    if constexpr (kFitsRegisters || kHasTensors)
      return shared(args..., op);
    else
      return own(args..., op);
  }

 private:
  // Words of the result's place, the arguments and the operator; six are passed in registers.
  template <class T>
  static constexpr size_t kWords = std::is_reference_v<T> ? 1 : (sizeof(T) + 7) / 8;
  static constexpr bool kHasPlace = !kWrites && !std::is_void_v<R> && !std::is_scalar_v<R>;
  static constexpr bool kHasTensors = ((box::kIsTensor<A> || std::is_same_v<A, TensorList>) || ...);
  static constexpr bool kFitsRegisters = (kWords<A> + ... + (kHasPlace + 1)) <= 6;

  // Flattened: for size g++ would call even functions of one instruction.
  [[gnu::noinline, gnu::flatten]] static Result shared(A... args, const Op& op) { return own(args..., op); }
  SCONCE_INLINE static Result own(A... args, const Op& op) try {
    const KeySet keys = keys_of_all(std::index_sequence_for<A...>(), args...);
    if constexpr (kWrites) {
      typed_call<void, A...>(op, keys, args...);
      return std::get<kReturned>(std::tie(args...));
    } else {
      return typed_call<R, A...>(op, keys, args...);
    }
  } catch (Error& error) {
    call_failed(error, op, {box::tensor_in<A>(args)...});
  }

  template <size_t I>
  static constexpr bool kIsOptional = (kOptional >> I & 1) != 0;

  template <size_t... I>
  SCONCE_INLINE static KeySet keys_of_all(std::index_sequence<I...>, const std::remove_cvref_t<A>&... args) {
    if constexpr (((box::kIsTensor<A> && !kIsOptional<I>) || ...))
      return (box::keys_in<A, kIsOptional<I>>(args) | ...);
    else if constexpr (kHasTensors)
      return or_cpu((box::keys_in<A, kIsOptional<I>>(args) | ...));
    else
      return box::device_keys(args...);
  }
};

}  // namespace sconce
