// Quick calls: the common case of a call from Python, decided by exact classes of objects.
//
// Note [Quick calls]
// A call tries the overloads of a name in order. For each, every argument either fits by its exact class (a Tensor, a
// float, a small int, a tuple of ints), or surely does not (a float for a Tensor), or is unusual: a subclass, a number
// of numpy, a keyword that is spelled otherwise. Anything unusual ends the attempt, and binder.cpp, which knows all
// rules and all messages, decides from the start. Operators with one of the common signatures (call_shape.h) are then
// called without Values.
#pragma once

#include <memory>
#include <span>

#include "object.h"
#include "sconce/dispatch/binding/call_shape.h"
#include "sconce/dispatch/budget/op_terms.h"

namespace sconce::python {

// The arguments of one call, as Python's vectorcall gives them.
struct Given {
  std::span<PyObject* const> positional;
  PyObject* names;         // of keywords: a tuple, or null
  PyObject* const* named;  // their values
  size_t keywords() const { return names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0; }
  PyObject* name(size_t k) const { return PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k)); }
};

// What a parameter takes, as far as quick calls know.
enum class Take : uint8_t { other, tensor, number, integer, real, boolean, dtype, integers };

struct Parameter {
  Take take;
  bool optional, keyword_only;
  bool rest;  // integers without brackets: view(2, 3)
  bool has_default;
  PyObject* name;  // interned
  const Argument* argument;
};

// Whose results a call gives: those of torch.NAME and methods (tuples, with names), or of torch.ops (lists, plain tuples).
enum class Face : uint8_t { function, operator_ };

// One overload, prepared.
class QuickOverload {
 public:
  explicit QuickOverload(const Op& op);

  enum class Outcome { done, does_not_fit, unusual };
  Outcome call(const Given& given, Face face, Owned& result) const;

  // Two tensors and nothing else, which is what most operators of Python are called with; they must be plain ones.
  bool takes_pair() const { return takes_pair_; }
  Owned call_pair(PyObject* a, PyObject* b) const;

 private:
  Owned run(PyObject* const* slots, std::span<PyObject* const> rest, Face face) const;

  double work_of(PyObject* const* slots) const;

  const Op* op_;
  CallShape shape_;
  WorkFunction work_ = nullptr;  // of the table; null where it is the number of elements
  uint8_t count_ = 0, positional_ = 0;
  bool takes_pair_ = false;
  Scalar third_;                             // of a pair: the default of what follows
  std::unique_ptr<Parameter[]> parameters_;  // null: every call is unusual
};

// Tensors whose class leaves calls as they are: Tensor and Parameter.
bool is_plain_tensor(PyObject* object);
void set_parameter_class(PyObject* type);

// What a function of the column `work` says of a call.
double work_of_call(WorkFunction work, const Value* values, size_t count);

// Runs the kernel over Values, one for each argument of the schema.
Owned call_with_values(const Op& op, Value* values, Face face);

}  // namespace sconce::python
