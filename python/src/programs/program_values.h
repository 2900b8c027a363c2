// Values that only programs have, in Python: instances of script classes, modules, members of enums, named tuples, futures.
#pragma once

#include <optional>

#include "object.h"
#include "sconce/api/jit.h"

namespace sconce::python {

// The program whose values become objects in this scope of this thread: their methods need it.
class CurrentUnit {
 public:
  explicit CurrentUnit(jit::UnitPtr unit);
  ~CurrentUnit();
  CurrentUnit(const CurrentUnit&) = delete;

 private:
  jit::UnitPtr before_;
};

// The value of an object by what it is: an instance of a script class, a module, an enum's member. Nothing for others.
std::optional<Value> special_value(PyObject* object);
// The value of any object as a type of the language; nothing when it does not fit.
std::optional<Value> value_as(PyObject* object, TypePtr type);
// The value of a constant that is no container: numbers, strings, devices, tensors, and the special ones.
std::optional<Value> plain_value(PyObject* object);
// A value on its way through Python: special_value gives it back.
Owned value_capsule(Value v);
// The object of such a value. Throws Error (not_implemented) when it has none.
Owned special_object(const Value& v);

void add_program_values(PyObject* module);

}  // namespace sconce::python
