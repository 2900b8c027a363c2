// CallLog: the calls of a program as it made them (sconce.abs(x), x + 1, x.relu()), for readers of graphs and for backends,
// which get an fx.GraphModule. Made of it only when somebody asks: see _backends.py.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "object.h"
#include "sconce/dispatch/op.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python::capture {

class CallLog {
 public:
  void add_input(const std::string& name, PyObject* fake, PyObject* original);
  // A number of the program: a SymInt or SymFloat, and what it is.
  void add_number(const std::string& name, PyObject* symbol, PyObject* number);
  // The graph does without an input.
  void drop_input(PyObject* fake);
  // Is the tensor part of a call?
  std::unordered_set<const TensorImpl*> used_tensors() const;
  // A tensor that the graph holds itself, as an attribute of the module.
  void add_held(PyObject* fake, PyObject* original);
  // A call of Python. Containers among the arguments are copied: the program may change them later.
  void add_call(PyObject* target, std::span<PyObject* const> args, PyObject* names, PyObject* result);
  // An operator that code of C called. `args` as they were given.
  void add_operator(const Op& op, std::vector<Value> args, std::vector<Value> returns);
  // Takes out the calls and operators from that entry on; inputs and held tensors stay.
  CallLog take_calls(size_t from);
  void append(CallLog more);
  size_t size() const { return entries_.size(); }

  // A list of tuples: ("input", name, fake, original), ("held", fake, original), ("call", target, args, kwargs, result),
  // ("operator", qualified name, args, results).
  Owned entries() const;

 private:
  struct Entry {
    enum class Kind : uint8_t { input, held, call, operator_ } kind;
    std::string name;
    Owned target, args, kwargs, result;
    const Op* op = nullptr;
    std::vector<Value> values, returns;
  };
  static PyObject* original_of(const Entry& e);

  std::vector<Entry> entries_;
};

}  // namespace sconce::python::capture
