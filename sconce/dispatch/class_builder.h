// Class binding: the typed side of class registration (custom/custom_class.h), as torch::class_ does it:
//
//   SCONCE_LIBRARY(my, m) {
//     m.class_<Counter>("Counter")
//         .def(init<int64_t>(), "(int start=0)")
//         .def("add", &Counter::add)                       // arguments are called _0, _1, ...
//         .def("add_many(int n, int times=2) -> int", &Counter::add_many)
//         .def("twice", [](const std::shared_ptr<Counter>& self) { return 2 * self->count(); })
//         .def_static("named", [](const std::string& name) { return std::make_shared<Counter>(...); })
//         .def_property("count", &Counter::count, &Counter::set_count)
//         .def_readwrite("step", &Counter::step)
//         .def_pickle([](const std::shared_ptr<Counter>& self) { return self->count(); },
//                     [](int64_t state) { return std::make_shared<Counter>(state); });
//   }
//
// Parameters and results are those of kernels (library.h), std::optional<Tensor> for Tensor?, std::tuple, and
// std::shared_ptr of registered classes. Programs write torch.classes.my.Counter; files hold what def_pickle gives.
#pragma once

#include "sconce/dispatch/library.h"

namespace sconce {

// The parameters of a constructor.
template <class... A>
struct init {};

namespace library {

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<A...>;
};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

// "name(int _0, str _1) -> int"; `text` itself where it has an argument list. Throws Error (type) where that does not
// fit the words of the C++ function.
SCONCE_API std::string method_schema(std::string_view text, const std::vector<std::string>& arguments,
                                     const std::string& result);

// Calls `f` with the Values from args[kFirst] on.
template <size_t kFirst, class R, class... A, class F, size_t... I>
Value invoke(const F& f, Value* args, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) {
    f(take<A>(args[kFirst + I], false)...);
    return {};
  } else {
    return give(f(take<A>(args[kFirst + I], false)...));
  }
}
template <size_t kFirst, class R, class... A, class F>
Value invoke(const F& f, Value* args) {
  return invoke<kFirst, R, A...>(f, args, std::index_sequence_for<A...>());
}
template <class R>
std::string result_word() {
  if constexpr (std::is_void_v<R>)
    return "()";
  else
    return Words<std::remove_cvref_t<R>>::get();
}

template <class T>
class ClassBuilder {
 public:
  explicit ClassBuilder(ClassDefinition& definition) : definition_(definition) {
    bind_class(typeid(T), class_type(definition.qualified_name()));
  }

  // `arguments` names them: "(int start=0)".
  template <class... A>
  ClassBuilder& def(init<A...>, std::string_view arguments = {}) {
    const std::string text = "__init__" + std::string(arguments) + (arguments.empty() ? "" : " -> ()");
    definition_.def(method_schema(text, {Words<std::remove_cvref_t<A>>::get()...}, "()"), [](Value* args) {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return set_instance(args[0], std::make_shared<T>(take<A>(args[1 + I], false)...));
      }(std::index_sequence_for<A...>());
    });
    return *this;
  }
  // A member function, or any callable that takes const std::shared_ptr<T>& first.
  template <class F>
  ClassBuilder& def(std::string_view text, F f) {
    if constexpr (std::is_member_function_pointer_v<F>) {
      add_member(text, f, static_cast<typename Signature<F>::Arguments*>(nullptr));
    } else {
      add_callable(text, std::move(f), static_cast<typename Signature<F>::Arguments*>(nullptr));
    }
    return *this;
  }
  template <class F>
  ClassBuilder& def_static(std::string_view text, F f) {
    add_static(text, std::move(f), static_cast<typename Signature<F>::Arguments*>(nullptr));
    return *this;
  }
  template <class Get>
  ClassBuilder& def_property(const std::string& name, Get get) {
    def(name + "_getter", get);
    definition_.def_property(name, name + "_getter");
    return *this;
  }
  template <class Get, class Set>
  ClassBuilder& def_property(const std::string& name, Get get, Set set) {
    def(name + "_getter", get);
    def(name + "_setter", set);
    definition_.def_property(name, name + "_getter", name + "_setter");
    return *this;
  }
  template <class F>
  ClassBuilder& def_readonly(const std::string& name, F T::* field) {
    return def_property(name, [field](const std::shared_ptr<T>& self) -> F { return (*self).*field; });
  }
  template <class F>
  ClassBuilder& def_readwrite(const std::string& name, F T::* field) {
    return def_property(
        name, [field](const std::shared_ptr<T>& self) -> F { return (*self).*field; },
        [field](const std::shared_ptr<T>& self, const F& v) { (*self).*field = v; });
  }
  // `get` gives the state that a file holds, `set` makes an object of it.
  template <class Get, class Set>
  ClassBuilder& def_pickle(Get get, Set set) {
    using State = std::remove_cvref_t<std::tuple_element_t<0, typename Signature<Set>::Arguments>>;
    static_assert(std::is_same_v<State, std::remove_cvref_t<typename Signature<Get>::Result>>,
                  "__setstate__ takes what __getstate__ returns");
    def("__getstate__", std::move(get));
    definition_.def(method_schema("__setstate__", {Words<State>::get()}, "()"), [set = std::move(set)](Value* args) {
      return set_instance(args[0], set(Take<State>::get(args[1])));
    });
    return *this;
  }

 private:
  template <class F, class... A>
  void add_member(std::string_view text, F f, std::tuple<A...>*) {
    using R = typename Signature<F>::Result;
    definition_.def(method_schema(text, {Words<std::remove_cvref_t<A>>::get()...}, result_word<R>()),
                    [f](Value* args) -> Value {
                      const std::shared_ptr<T> self = instance_pointer<T>(args[0]);
                      const auto bound = [&](A... a) -> R { return ((*self).*f)(std::forward<A>(a)...); };
                      return invoke<1, R, A...>(bound, args);
                    });
  }
  template <class F, class Self, class... A>
  void add_callable(std::string_view text, F f, std::tuple<Self, A...>*) {
    static_assert(std::is_same_v<std::remove_cvref_t<Self>, std::shared_ptr<T>>,
                  "a method takes const std::shared_ptr<T>& first");
    using R = typename Signature<F>::Result;
    definition_.def(method_schema(text, {Words<std::remove_cvref_t<A>>::get()...}, result_word<R>()),
                    [f = std::move(f)](Value* args) { return invoke<0, R, Self, A...>(f, args); });
  }
  template <class F, class... A>
  void add_static(std::string_view text, F f, std::tuple<A...>*) {
    using R = typename Signature<F>::Result;
    definition_.def_static(method_schema(text, {Words<std::remove_cvref_t<A>>::get()...}, result_word<R>()),
                           [f = std::move(f)](Value* args) { return invoke<0, R, A...>(f, args); });
  }

  ClassDefinition& definition_;
};

}  // namespace library

template <class T>
auto Library::class_(std::string_view name) {
  return library::ClassBuilder<T>(add_class(name));
}

}  // namespace sconce
