#include "object.h"

#include <new>

#include "sconce/base/error.h"
#include "sconce/base/source.h"
#include "sconce/runtime/interpreter.h"

namespace sconce::python {
namespace {

PyObject* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::value:
      return PyExc_ValueError;
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::key:
      return PyExc_KeyError;
    case ErrorKind::not_implemented:
      return PyExc_NotImplementedError;
    case ErrorKind::zero_division:
      return PyExc_ZeroDivisionError;
    case ErrorKind::overflow:
      return PyExc_OverflowError;
    default:
      return PyExc_RuntimeError;
  }
}

// An error in the words of PyTorch alone. What Sconce adds to them, the operator and its arguments, is a note below.
void raise_error(const Error& error) {
  constexpr std::string_view kArguments = " (called with ";
  std::string message = error.message(), called = error.op();
  const std::string_view name = std::string_view(called).substr(called.starts_with("aten::") ? 6 : 0);
  if (called.empty() || !message.starts_with(name)) return PyErr_SetString(class_of(error.kind()), message.c_str());
  message.erase(0, name.size() + 2);
  if (const size_t at = message.rfind(kArguments); at != std::string::npos) {
    called += "(" + message.substr(at + kArguments.size());
    message.erase(at);
  }
  PyErr_SetString(class_of(error.kind()), message.c_str());
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* done = value ? PyObject_CallMethod(value, "add_note", "s", ("in " + called).c_str()) : nullptr;
  if (done == nullptr) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, value, traceback);
}

}  // namespace

PyObject* script_error = nullptr;

void raise_current() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const CarriedError& error) {
    error.restore();
  } catch (const runtime::ScriptError& error) {
    // What a program raises itself is a jit.Error; its operators fail as they do outside.
    const bool raised = !error.exception_class().empty() && script_error != nullptr;
    PyErr_SetString(raised ? script_error : PyExc_RuntimeError, error.what());
  } catch (const CompileError& error) {
    PyErr_SetString(PyExc_RuntimeError, ("\n" + std::string(error.what())).c_str());
  } catch (const Error& error) {
    raise_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

Kept keep(PyObject* object) {
  return {Py_XNewRef(object), [](PyObject* o) {
            if (o == nullptr || !Py_IsInitialized()) return;
            const Locked locked;
            Py_DECREF(o);
          }};
}

CarriedError::CarriedError() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  type_ = keep(type);
  value_ = keep(value);
  trace_ = keep(trace);
  text_ = value ? class_name(value) : "an exception of Python";
  if (PyObject* shown = value ? PyObject_Str(value) : nullptr) {
    const char* bytes = PyUnicode_AsUTF8(shown);
    if (bytes != nullptr && *bytes) text_ += std::string(": ") + bytes;
    Py_DECREF(shown);
  }
  PyErr_Clear();  // its text may be none
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}
void CarriedError::restore() const {
  PyErr_Restore(Py_XNewRef(type_.get()), Py_XNewRef(value_.get()), Py_XNewRef(trace_.get()));
}

std::string_view text_of(PyObject* object) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
  if (bytes == nullptr) throw PythonError();
  return {bytes, static_cast<size_t>(size)};
}

Owned text(std::string_view v) {
  return Owned::take(PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "replace"));
}

std::string_view class_name(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  const size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

}  // namespace sconce::python
