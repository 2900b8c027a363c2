#pragma once
// FunctionRef: a non-owning reference to a callable, the type of parameters that are functions.
#include <memory>
#include <type_traits>
#include <utility>

namespace sconce {

template <class Signature>
class FunctionRef;

// A callable passed by reference: two words, never allocates. It does not own the callable, so it is for parameters
// only; a lambda written in the argument list lives long enough.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Args...> &&
             !std::is_function_v<std::remove_reference_t<Callable>>)
  FunctionRef(Callable&& callable) noexcept  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace sconce
