// Owned references to objects of Python, and errors on their way between the two languages.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sconce::python {

// Thrown where Python has set an exception: whoever catches it leaves that one as it is.
struct PythonError {};

// A counted reference; null only when default-constructed or moved from.
class Owned {
 public:
  Owned() = default;
  // Of a new reference, as most functions of Python return one. Throws PythonError for null.
  static Owned take(PyObject* object) {
    if (object == nullptr) throw PythonError();
    return Owned(object);
  }
  static Owned share(PyObject* object) { return Owned(Py_NewRef(object)); }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* give() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Owned(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// Throws PythonError when a call of Python that returns a number failed.
inline void check(int status) {
  if (status < 0) throw PythonError();
}

// The truth of an object. Throws PythonError when it has none.
inline bool is_true(PyObject* object) {
  const int truth = PyObject_IsTrue(object);
  check(truth);
  return truth != 0;
}

// sconce.jit.Error, for exceptions that programs raise; null before it is made.
extern PyObject* script_error;

// Inside of a catch: turns the C++ exception into one of Python, of the class that PyTorch would raise.
void raise_current() noexcept;

// Runs f; an exception becomes one of Python, and the result is `failed`.
template <class F, class R = std::invoke_result_t<F>>
R guarded(F&& f, R failed = R()) noexcept {
  try {
    return f();
  } catch (...) {
    raise_current();
    return failed;
  }
}
// The same for slots whose sign of failure is -1.
template <class F>
int guarded_int(F&& f) noexcept {
  return guarded(std::forward<F>(f), -1);
}

// Lets other threads of Python run, for a scope: nothing of Python may be touched in it. Giving the lock up and taking
// it again costs some 30 ns, so that small work does without (`really`).
class Unlocked {
 public:
  explicit Unlocked(bool really = true) : state_(really ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// Takes the lock for a scope, on any thread: for code of C++ that calls Python (hooks, backward of custom functions).
class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// A reference that C++ keeps, and lets go of on any thread, with the lock or without. Copies share it.
using Kept = std::shared_ptr<PyObject>;
Kept keep(PyObject* object);

// An exception of Python on its way through C++ that knows nothing of Python, perhaps to another thread.
class CarriedError final : public std::exception {
 public:
  CarriedError();                                                       // takes the exception that is set
  const char* what() const noexcept override { return text_.c_str(); }  // "KeyError: 'a'"
  void restore() const;

 private:
  Kept type_, value_, trace_;
  std::string text_ = "an exception of Python";
};

// Runs f, which calls Python, under the lock; its PythonError leaves as a CarriedError.
template <class F>
auto call_python(F&& f) {
  const Locked locked;
  try {
    return f();
  } catch (const PythonError&) {
    throw CarriedError();
  }
}

// The text of a str. Throws PythonError for anything else.
std::string_view text_of(PyObject* object);
Owned text(std::string_view v);
// "int", "list", "Tensor": how messages name the class of an object.
std::string_view class_name(PyObject* object);

}  // namespace sconce::python
