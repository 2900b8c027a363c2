// PythonCall: a call that a graph makes through Python, in its turn among its operators: backward, .grad that is read
// or set, the step of an optimiser, a function with a backward of its own. An opaque node: what it does to tensors
// and to objects of Python is the real thing, on the real objects; nothing of it is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "object.h"
#include "sconce/dispatch/op.h"
#include "sconce/ir/graph.h"

namespace sconce::python::capture {

// Calls f(object) for what a nest of tuples, lists and dicts holds, and for what is none.
template <class F>
void each_leaf(PyObject* object, const F& f) {
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) each_leaf(PySequence_Fast_GET_ITEM(object, i), f);
  } else if (PyDict_CheckExact(object)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) each_leaf(value, f);
  } else {
    f(object);
  }
}

class PythonCall {
 public:
  // Arguments and result as they were while recording; `is_fake` says which objects in them, and in their tuples, lists
  // and dicts, stand for tensors of the graph.
  PythonCall(PyObject* callable, std::span<PyObject* const> args, PyObject* names, PyObject* result,
             const std::function<bool(PyObject*)>& is_fake);

  // The fakes among the arguments, each once, and those of the result. Borrowed.
  const std::vector<PyObject*>& inputs() const { return inputs_; }
  const std::vector<PyObject*>& outputs() const { return outputs_; }
  // Makes the call; needs Python's lock. Throws PythonError, also when the result has no tensor where it had one.
  std::vector<Tensor> run(const List& inputs) const;

  // Computes its results and changes nothing: operators over graphs.
  bool is_pure = false;

 private:
  Owned callable_, names_, result_;
  std::vector<Owned> args_;
  std::vector<PyObject*> inputs_, outputs_;
};

// Makes a call known to sconce::call_python(int call, Tensor[] inputs) -> Tensor[] under a number, while it lives.
class PythonCallNumber {
 public:
  explicit PythonCallNumber(std::shared_ptr<const PythonCall> call);
  ~PythonCallNumber();
  PythonCallNumber(const PythonCallNumber&) = delete;
  int64_t value() const { return value_; }

 private:
  int64_t value_;
};
const Op& call_python_op();
// The call of a node; null: none, or not known.
const PythonCall* python_call_of(const ir::Node& node);
// How many calls that are not pure this thread has begun.
int64_t impure_python_calls();
// The same without dispatch.
Value call_python_number(int64_t number, const List& inputs);

}  // namespace sconce::python::capture
