// __torch_function__: classes that decide themselves what functions do with their objects (subclasses of Tensor, fx.Proxy).
#pragma once

#include <vector>

#include "object.h"
#include "quick_call.h"

namespace sconce::python {

// The objects among the arguments of a call, themselves or in lists and tuples, whose classes decide; in the order in
// which they are asked: subclasses before their bases, else from left to right.
class TorchFunction {
 public:
  explicit TorchFunction(const Given& given);
  explicit operator bool() const { return !objects_.empty(); }
  // The first answer that is not NotImplemented. Throws PythonError, a TypeError when there is none.
  Owned call(PyObject* function, const Given& given) const;

 private:
  void add(PyObject* object);
  std::vector<PyObject*> objects_;  // borrowed; one of each class
};

// Whether this thread is inside of DisableTorchFunctionSubclass.
bool torch_function_disabled();

void add_torch_function(PyObject* module);

}  // namespace sconce::python
