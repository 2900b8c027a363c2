// Operator registration: custom operators in a library of the user's own, loaded at run time or linked to a program:
//
//   Tensor squareplus_cpu(const Tensor& self, double b) { ... }
//
//   SCONCE_LIBRARY(my_ops, m) {
//     m.def("squareplus(Tensor self, float b=4.) -> Tensor");
//     m.impl("squareplus", Key::cpu, &squareplus_cpu);
//     m.meta("squareplus", &squareplus_meta);
//     m.derivative("squareplus", "self: grad * result / (2 * result - self)");
//     m.compound("huber_gap(Tensor a, Tensor b) -> Tensor", R"(
//       d = (a - b).abs()
//       return where(d < 1, d * d / 2, d - 0.5)
//     )");
//   }
//
// A kernel is a plain function. Its parameters follow the schema: const Tensor& (for Tensor and Tensor?), int64_t,
// double, bool, Scalar, std::complex<double>, std::string_view, DType, Layout, MemoryFormat, Device, Generator,
// IntList, ListRef<double>, ListRef<bool>, TensorList, ListRef<Scalar>, std::optional of these, std::vector for lists,
// or Value for anything. A KeySet may come first. It returns the same kinds, a std::tuple for several, or nothing where
// the operator returns what it writes. Signatures are compared with the schema when the library registers.
//
// Classes of C++ are registered beside operators (class_builder.h), and std::shared_ptr<T> of such a class is a
// parameter and result of kernels too.
//
// Registration is all or nothing, for a whole shared library: what is wrong in one line leaves no trace of the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sconce/dispatch/box.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/op.h"

namespace sconce {

struct CustomOp;

namespace library {

// Bit i of `optional` is set where argument i of the schema may be None.
using Thunk = void (*)(void (*function)(), uint64_t optional, KeySet keys, Value* args, Value* returns);

// A function with its types in the words of schemas ("Tensor", "int[]", "float?", "*" for a Value).
struct Function {
  void (*function)() = nullptr;
  Thunk thunk = nullptr;
  std::vector<std::string> arguments;
  std::vector<std::string> returns;
};

template <class T>
struct Words {
  static_assert(sizeof(T) == 0,
                "this type cannot be a parameter or result of a kernel: use int64_t for int, double for float, and see "
                "library.h");
};
#define SCONCE_WORD(type, word)               \
  template <>                                 \
  struct Words<type> {                        \
    static std::string get() { return word; } \
  };
SCONCE_WORD(Tensor, "Tensor")
SCONCE_WORD(int64_t, "int")
SCONCE_WORD(double, "float")
SCONCE_WORD(bool, "bool")
SCONCE_WORD(Scalar, "Scalar")
SCONCE_WORD(std::complex<double>, "complex")
SCONCE_WORD(std::string_view, "str")
SCONCE_WORD(std::string, "str")
SCONCE_WORD(DType, "ScalarType")
SCONCE_WORD(Layout, "Layout")
SCONCE_WORD(MemoryFormat, "MemoryFormat")
SCONCE_WORD(Device, "Device")
SCONCE_WORD(Generator, "Generator")
SCONCE_WORD(Value, "*")
#undef SCONCE_WORD
template <class T>
struct Words<ListRef<T>> {
  static std::string get() { return Words<T>::get() + "[]"; }
};
template <class T>
struct Words<std::vector<T>> {
  static std::string get() { return Words<T>::get() + "[]"; }
};
template <class T>
struct Words<std::optional<T>> {
  static std::string get() { return Words<T>::get() + "?"; }
};
template <class... T>
struct Words<std::tuple<T...>> {
  static std::string get() {
    std::string text;
    ((text += (text.empty() ? "(" : ", ") + Words<T>::get()), ...);
    return text.empty() ? "()" : text + ")";
  }
};
template <class T>
struct Words<std::shared_ptr<T>> {
  static std::string get() { return bound_class(typeid(T))->name(); }
};

// From a Value to a parameter.
template <class T>
struct Take {
  static decltype(auto) get(const Value& v) { return box::Unbox<T>::get(v); }
};
template <>
struct Take<Value> {
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): arguments live as long as the call
  static const Value& get(const Value& v) { return v; }
};
template <>
struct Take<std::string> {
  static const std::string& get(const Value& v) { return v.to_string_ref(); }
};
template <class T>
struct Take<std::vector<T>> {
  static std::vector<T> get(const Value& v) {
    const auto& items = Take<ListRef<T>>::get(v);
    return std::vector<T>(items.begin(), items.end());
  }
};
template <>
struct Take<std::vector<std::string>> {
  static std::vector<std::string> get(const Value& v) {
    std::vector<std::string> texts;
    for (const Value& item : v.to_list().values()) texts.push_back(item.to_string_ref());
    return texts;
  }
};
template <class T>
struct Take<std::shared_ptr<T>> {
  static std::shared_ptr<T> get(const Value& v) { return instance_pointer<T>(v); }
};
template <class... T>
struct Take<std::tuple<T...>> {
  static std::tuple<T...> get(const Value& v) {
    const std::vector<Value>& items = v.to_tuple().items;
    SCONCE_CHECK_AS(type, items.size() == sizeof...(T), "expected a tuple of {} values, got {}", sizeof...(T),
                    items.size());
    return get(items, std::index_sequence_for<T...>());
  }
  template <size_t... I>
  static std::tuple<T...> get(const std::vector<Value>& items, std::index_sequence<I...>) {
    return std::tuple<T...>(Take<T>::get(items[I])...);
  }
};
template <>
struct Take<Tensor> {
  static const Tensor& get(const Value& v) { return v.to_tensor(); }
};
template <class T>
struct Take<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    if (v.is_none()) return std::nullopt;
    return std::optional<T>(Take<T>::get(v));
  }
};

template <class A>
decltype(auto) take(const Value& v, [[maybe_unused]] bool optional) {
  using T = std::remove_cvref_t<A>;
  static_assert(
      !std::is_lvalue_reference_v<A> || std::is_const_v<std::remove_reference_t<A>>,
      "a kernel takes its arguments by value or by const reference (a Tensor is a handle: it can still be written)");
  if constexpr (std::is_same_v<T, Tensor>) {
    return optional ? v.to_optional_tensor() : v.to_tensor();
  } else {
    return Take<T>::get(v);
  }
}

template <class T>
Value give(T&& v);
template <class T>
struct Give {  // of what Value has no constructor for
  static constexpr bool has = false;
};
template <class T>
struct Give<std::shared_ptr<T>> {
  static constexpr bool has = true;
  static Value get(const std::shared_ptr<T>& v) { return make_instance(bound_class(typeid(T)), v); }
};
template <class... T>
struct Give<std::tuple<T...>> {
  static constexpr bool has = true;
  static Value get(const std::tuple<T...>& v) {
    std::vector<Value> items;
    std::apply([&](const auto&... e) { (items.push_back(give(e)), ...); }, v);
    return make_ref<Tuple>(std::move(items));
  }
};
template <>
struct Give<std::vector<std::string>> {
  static constexpr bool has = true;
  static Value get(const std::vector<std::string>& v) {
    auto list = make_ref<List>(string_type());
    for (const std::string& text : v) list->append(Value(text));
    return list;
  }
};

template <class T>
Value give(T&& v) {
  if constexpr (Give<std::remove_cvref_t<T>>::has) {
    return Give<std::remove_cvref_t<T>>::get(v);
  } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, std::vector<int64_t>>) {
    return Value(IntList(v));
  } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, std::vector<double>>) {
    return Value(ListRef<double>(v));
  } else {
    return Value(std::forward<T>(v));
  }
}

template <class R>
struct Results {
  static std::vector<std::string> words() { return {Words<std::remove_cvref_t<R>>::get()}; }
};
template <>
struct Results<void> {
  static std::vector<std::string> words() { return {}; }
};
template <class... T>
struct Results<std::tuple<T...>> {
  static std::vector<std::string> words() { return {Words<std::remove_cvref_t<T>>::get()...}; }
};

template <bool kWithKeys, class R, class... A>
struct Caller {
  using Plain = std::conditional_t<kWithKeys, R (*)(KeySet, A...), R (*)(A...)>;

  template <size_t... I>
  static R invoke(void (*function)(), uint64_t optional, KeySet keys, const Value* args, std::index_sequence<I...>) {
    const Plain f = reinterpret_cast<Plain>(function);
    if constexpr (kWithKeys) {
      return f(keys, take<A>(args[I], optional >> I & 1)...);
    } else {
      return f(take<A>(args[I], optional >> I & 1)...);
    }
  }
  static void call(void (*function)(), uint64_t optional, KeySet keys, Value* args, Value* returns) {
    constexpr auto indices = std::index_sequence_for<A...>();
    if constexpr (std::is_void_v<R>) {
      invoke(function, optional, keys, args, indices);
    } else if constexpr (requires { std::tuple_size<std::remove_cvref_t<R>>::value; }) {
      size_t next = 0;
      std::apply([&](auto&&... e) { ((returns[next++] = give(std::forward<decltype(e)>(e))), ...); },
                 invoke(function, optional, keys, args, indices));
    } else {
      returns[0] = give(invoke(function, optional, keys, args, indices));
    }
  }
};

template <class R, class... A>
Function describe(R (*function)(A...)) {
  return {reinterpret_cast<void (*)()>(function),
          &Caller<false, R, A...>::call,
          {Words<std::remove_cvref_t<A>>::get()...},
          Results<R>::words()};
}
template <class R, class... A>
Function describe(R (*function)(KeySet, A...)) {
  return {reinterpret_cast<void (*)()>(function),
          &Caller<true, R, A...>::call,
          {Words<std::remove_cvref_t<A>>::get()...},
          Results<R>::words()};
}

}  // namespace library

// Library: one SCONCE_LIBRARY block. Nothing is visible to others before the block has ended and all is checked.
class SCONCE_API Library {
 public:
  // With `fragment` the namespace may exist already. `origin` is kept as the place of definition.
  Library(std::string_view space, bool fragment, std::string_view origin);
  Library(Library&&) noexcept;
  ~Library();

  // A new operator. The schema has no namespace, or this one.
  void def(std::string_view schema, std::string_view doc = {});
  // A kernel for an operator of this namespace, also one with an overload ("f.out"), or of
  // another ("aten::add.Tensor").
  template <class F>
    requires std::is_function_v<F>
  void impl(std::string_view name, Key key, F* function) {
    if constexpr (std::is_same_v<F*, BoxedKernel>) {
      impl_boxed(name, key, function);
    } else {
      impl_function(name, key, library::describe(function));
    }
  }
  // The kernel for Meta tensors: shape and dtype of the result, no data.
  template <class F>
    requires std::is_function_v<F>
  void meta(std::string_view name, F* function) {
    impl(name, Key::meta, function);
  }
  // Lines "argument: formula" over the arguments, `grad` and `result` (see derivative.h). The operator must be defined
  // by the same library.
  void derivative(std::string_view name, std::string_view formulas);
  // A new operator with a body in the script language (see body.h), for every device.
  void compound(std::string_view schema, std::string_view body, std::string_view doc = {});
  // A class of C++, torch.classes.<namespace>.<name> in programs: see class_builder.h, which has to be included.
  template <class T>
  auto class_(std::string_view name);
  // See set_fallback.
  void fallback(Key key, BoxedKernel kernel);

 private:
  friend void commit(std::vector<Library>& libraries);
  struct Pending;
  void impl_function(std::string_view name, Key key, library::Function function);
  void impl_boxed(std::string_view name, Key key, BoxedKernel kernel);
  ClassDefinition& add_class(std::string_view name);
  std::unique_ptr<Pending> pending_;
};

// Checks everything that the libraries want to register and registers it, or throws Error and registers nothing.
SCONCE_API void commit(std::vector<Library>& libraries);

// Loads a shared library with SCONCE_LIBRARY blocks. A second load of the same file does nothing. Throws Error naming
// the file when it cannot be loaded or registration fails; it is unloaded then.
SCONCE_API void load_library(const std::string& path);

namespace library {

// Runs a block when its shared library (or program) is loaded.
class SCONCE_API Registration {
 public:
  Registration(const char* space, bool fragment, const char* file, void (*block)(Library&));
};

}  // namespace library

#define SCONCE_LIBRARY_JOIN_(a, b) a##b
#define SCONCE_LIBRARY_JOIN(a, b) SCONCE_LIBRARY_JOIN_(a, b)
#define SCONCE_LIBRARY_BLOCK(space, fragment, m, function)                                                        \
  static void function(::sconce::Library&);                                                                       \
  static const ::sconce::library::Registration SCONCE_LIBRARY_JOIN(function, _registration)(#space, fragment,     \
                                                                                            __FILE__, &function); \
  static void function([[maybe_unused]] ::sconce::Library& m)

// The one block that opens a namespace, and blocks that add to it (or to another library's) from other files.
#define SCONCE_LIBRARY(space, m) SCONCE_LIBRARY_BLOCK(space, false, m, sconce_library_##space)
#define SCONCE_LIBRARY_FRAGMENT(space, m) \
  SCONCE_LIBRARY_BLOCK(space, true, m, SCONCE_LIBRARY_JOIN(sconce_fragment_##space##_, __COUNTER__))

}  // namespace sconce
