// C interface internals: the handles, and the barrier that no exception crosses.
#pragma once

#include <string>
#include <vector>

#include "sconce/api/jit.h"
#include "sconce/api/sconce.h"
#include "sconce/base/budget.h"
#include "sconce/base/function_ref.h"

struct sconce_value {
  sconce::Value v;
};

struct sconce_module {
  struct Argument {
    std::string name, type;
  };
  struct Method {
    std::string name, signature;
    std::vector<Argument> arguments;
  };
  sconce::jit::Module module;
  std::vector<Method> methods;
  std::vector<std::string> state;
  bool asks_for_gradients = false;  // such a module is called with grad mode on
};

namespace sconce::c_api {

// A mistake in the use of the interface: SCONCE_INVALID_ARGUMENT.
struct InvalidArgument {
  std::string message;
};
template <class... Args>
[[noreturn]] void invalid(std::string_view format, const Args&... args) {
  throw InvalidArgument{format_message(format, {ErrorArg(args)...})};
}

// Keeps the message of the current exception for sconce_last_error. Throws nothing.
sconce_status status_of_exception() noexcept;

// A new handle. The names of its methods and tensors are looked up once.
sconce_module* new_module(jit::Module module);

// Functions of the caller say what went wrong by sconce_fail, or by a call of the interface that failed. While this
// exists, sconce_last_error() is "" until they do; if they do not, it becomes what it was.
class FreshError {
 public:
  FreshError() noexcept;
  ~FreshError();
  FreshError(const FreshError&) = delete;

 private:
  const char *message_, *exception_;
};

// The limits that this thread uses (sconce_use_limits); null: none.
extern thread_local constinit sconce_limits* limits_in_use;
sconce_status guarded_by_limits(FunctionRef<void()> body) noexcept;
// What loads take instead of the defaults.
Limits limits_of_loads();

// Runs the body of a function of the interface, under the limits that the thread uses.
template <class F>
sconce_status guarded(F&& body) noexcept {
  if (limits_in_use) [[unlikely]]
    return guarded_by_limits(body);
  try {
    body();
    return SCONCE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

// Refuses null; `name` is the argument's.
template <class T>
T& need(T* pointer, const char* name) {
  if (!pointer) invalid("{} is null", name);
  return *pointer;
}
inline const Value& value_of(const sconce_value* v, const char* name) { return need(v, name).v; }
// The tensor in a value. Throws Error (type) if it is something else.
const Tensor& tensor_of(const sconce_value* value);
// `count` handles; null only when there are none.
std::vector<Value> values_of(sconce_value* const* items, size_t count, const char* name);
inline sconce_value* new_value(Value v) { return new sconce_value{std::move(v)}; }

// The type that items have in a list or dict: their own when it is one, else Any.
TypePtr common_type(const std::vector<Value>& items);

}  // namespace sconce::c_api
