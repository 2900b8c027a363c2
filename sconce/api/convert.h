// Conversion of C++ values to Values and back: numbers, strings, tensors, std::vector, std::map,
// std::optional, std::tuple, std::pair.
//
//   to_value(std::vector<std::string>{"a"})      a List[str]
//   from_value<std::vector<int64_t>>(v)          throws Error (type) when v is something else
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::jit {

// The script type that a C++ type stands for: type_of<std::vector<double>>() is List[float].
template <class T>
struct TypeOf;
template <class T>
TypePtr type_of() {
  return TypeOf<std::decay_t<T>>::get();
}

#define SCONCE_SCRIPT_TYPE(cpp, script)       \
  template <>                                 \
  struct TypeOf<cpp> {                        \
    static TypePtr get() { return script(); } \
  };
SCONCE_SCRIPT_TYPE(int, int_type)
SCONCE_SCRIPT_TYPE(int64_t, int_type)
SCONCE_SCRIPT_TYPE(double, float_type)
SCONCE_SCRIPT_TYPE(float, float_type)
SCONCE_SCRIPT_TYPE(bool, bool_type)
SCONCE_SCRIPT_TYPE(std::complex<double>, complex_type)
SCONCE_SCRIPT_TYPE(std::string, string_type)
SCONCE_SCRIPT_TYPE(const char*, string_type)
SCONCE_SCRIPT_TYPE(Tensor, tensor_type)
SCONCE_SCRIPT_TYPE(Device, device_type)
SCONCE_SCRIPT_TYPE(Value, any_type)
#undef SCONCE_SCRIPT_TYPE
template <class T>
struct TypeOf<std::vector<T>> {
  static TypePtr get() { return list_type(type_of<T>()); }
};
template <class T>
struct TypeOf<std::optional<T>> {
  static TypePtr get() { return optional_type(type_of<T>()); }
};
template <class K, class V>
struct TypeOf<std::map<K, V>> {
  static TypePtr get() { return dict_type(type_of<K>(), type_of<V>()); }
};
template <class K, class V>
struct TypeOf<std::unordered_map<K, V>> {
  static TypePtr get() { return dict_type(type_of<K>(), type_of<V>()); }
};
template <class... T>
struct TypeOf<std::tuple<T...>> {
  static TypePtr get() { return tuple_type({type_of<T>()...}); }
};
template <class A, class B>
struct TypeOf<std::pair<A, B>> {
  static TypePtr get() { return tuple_type({type_of<A>(), type_of<B>()}); }
};

// ---- to Values ----

inline Value to_value(Value v) { return v; }
template <class T>
  requires std::constructible_from<Value, const T&>
Value to_value(const T& v) {
  return Value(v);
}
inline Value to_value(float v) { return Value(static_cast<double>(v)); }
template <class T>
Value to_value(const std::vector<T>& v);
template <class T>
Value to_value(const std::optional<T>& v);
template <class K, class V>
Value to_value(const std::map<K, V>& v);
template <class K, class V>
Value to_value(const std::unordered_map<K, V>& v);
template <class... T>
Value to_value(const std::tuple<T...>& v);
template <class A, class B>
Value to_value(const std::pair<A, B>& v);

template <class T>
Value to_value(const std::vector<T>& v) {
  auto list = make_ref<List>(type_of<T>());
  list->reserve(v.size());
  for (const auto& item : v) list->append(to_value(static_cast<const T&>(item)));
  return Value(std::move(list));
}
template <class T>
Value to_value(const std::optional<T>& v) {
  return v ? to_value(*v) : Value();
}
namespace detail {
template <class Map>
Value dict_value(const Map& v) {
  auto dict = make_ref<Dict>(type_of<typename Map::key_type>(), type_of<typename Map::mapped_type>());
  for (const auto& [key, value] : v) dict->set(to_value(key), to_value(value));
  return Value(std::move(dict));
}
}  // namespace detail
template <class K, class V>
Value to_value(const std::map<K, V>& v) {
  return detail::dict_value(v);
}
template <class K, class V>
Value to_value(const std::unordered_map<K, V>& v) {
  return detail::dict_value(v);
}
template <class... T>
Value to_value(const std::tuple<T...>& v) {
  return std::apply([](const T&... items) { return Value(make_ref<Tuple>(std::vector<Value>{to_value(items)...})); },
                    v);
}
template <class A, class B>
Value to_value(const std::pair<A, B>& v) {
  return Value(make_ref<Tuple>(std::vector<Value>{to_value(v.first), to_value(v.second)}));
}

// ---- from Values ----

template <class T>
struct FromValue;
// Throws Error (type) naming both kinds.
template <class T>
T from_value(const Value& v) {
  return FromValue<T>::get(v);
}

#define SCONCE_FROM_VALUE(cpp, expression)                                  \
  template <>                                                               \
  struct FromValue<cpp> {                                                   \
    static cpp get(const Value& v) { return static_cast<cpp>(expression); } \
  };
SCONCE_FROM_VALUE(Value, v)
SCONCE_FROM_VALUE(int64_t, v.to_int())
SCONCE_FROM_VALUE(int, v.to_int())
SCONCE_FROM_VALUE(double, v.to_double())
SCONCE_FROM_VALUE(bool, v.to_bool())
SCONCE_FROM_VALUE(std::complex<double>, v.to_complex())
SCONCE_FROM_VALUE(std::string, v.to_string_ref())
SCONCE_FROM_VALUE(Tensor, v.to_tensor())
SCONCE_FROM_VALUE(Device, v.to_device())
#undef SCONCE_FROM_VALUE
template <class T>
struct FromValue<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    if (v.is_none()) return std::nullopt;
    return from_value<T>(v);
  }
};
template <class T>
struct FromValue<std::vector<T>> {
  static std::vector<T> get(const Value& v) {
    std::vector<T> items;
    for (const Value& item : v.to_list().values()) items.push_back(from_value<T>(item));
    return items;
  }
};
template <class K, class V>
struct FromValue<std::map<K, V>> {
  static std::map<K, V> get(const Value& v) {
    std::map<K, V> items;
    v.to_dict().for_each(
        [&](const Value& key, const Value& value) { items[from_value<K>(key)] = from_value<V>(value); });
    return items;
  }
};
template <class... T>
struct FromValue<std::tuple<T...>> {
  template <size_t... I>
  static std::tuple<T...> unpack(const std::vector<Value>& items, std::index_sequence<I...>) {
    return {from_value<T>(items[I])...};
  }
  static std::tuple<T...> get(const Value& v) {
    const std::vector<Value>& items = v.to_tuple().items;
    SCONCE_CHECK_AS(type, items.size() == sizeof...(T), "expected a tuple of {} items, got {}", sizeof...(T),
                    items.size());
    return unpack(items, std::index_sequence_for<T...>());
  }
};
template <class A, class B>
struct FromValue<std::pair<A, B>> {
  static std::pair<A, B> get(const Value& v) {
    auto [a, b] = from_value<std::tuple<A, B>>(v);
    return {std::move(a), std::move(b)};
  }
};

}  // namespace sconce::jit
