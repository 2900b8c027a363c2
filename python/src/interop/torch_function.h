// __torch_function__: classes that decide themselves what functions do with their objects (subclasses of Tensor, fx.Proxy).
#pragma once

#include <vector>

#include "object.h"
#include "quick_call.h"

namespace sconce::python {

// Who decides about a call: the innermost mode of the thread (TorchFunctionMode), then the objects among its arguments,
// themselves or in lists and tuples, whose classes do; subclasses before their bases, else from left to right.
class TorchFunction {
 public:
  explicit TorchFunction(const Given& given);
  explicit operator bool() const { return in_mode_ || !objects_.empty(); }
  // The first answer that is not NotImplemented. Throws PythonError, a TypeError when there is none.
  Owned call(PyObject* function, const Given& given) const;

 private:
  void add(PyObject* object);
  std::vector<PyObject*> objects_;  // borrowed; one of each class
  bool in_mode_ = false;
};

// The modes of this thread, the innermost last.
class FunctionModes {
 public:
  static bool any() { return count_ != 0; }
  static std::vector<Owned>& stack();
  static void push(PyObject* mode);
  static Owned pop();
  // Puts others in their place for a while.
  class Scope {
   public:
    explicit Scope(std::vector<Owned> modes);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    std::vector<Owned> before_;
  };

 private:
  [[gnu::tls_model("initial-exec")]] static constinit thread_local size_t count_;
};

// object.__torch_function__(function, types, args, kwargs) as somebody else than CPython would call it: while capture
// evaluates a program it follows these functions. Null with an exception.
using AskOverride = PyObject* (*)(PyObject* object, PyObject* function, PyObject* types, PyObject* args,
                                  PyObject* kwargs);
class AskOverrideScope {
 public:
  explicit AskOverrideScope(AskOverride ask);
  ~AskOverrideScope();
  AskOverrideScope(const AskOverrideScope&) = delete;

 private:
  AskOverride before_;
};

// Whether this thread is inside of DisableTorchFunctionSubclass.
bool torch_function_disabled();
int torch_function_disabled_depth();
void set_torch_function_disabled_depth(int depth);

void add_torch_function(PyObject* module);

}  // namespace sconce::python
