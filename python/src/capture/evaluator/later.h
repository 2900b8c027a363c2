// Later: stands for a value of Python that emitted code computes when the graph has run: the text of a tensor, item(), and
// what arithmetic and formatting make of them.
//
// Note [Values that come later]
// The program may keep such a value, put it into containers and return it: no break. Whatever has to know it (a branch, a
// key, an index, an operator on tensors) breaks there, with the value computed. It is computed behind the graph, so a
// tensor that it looks at must not be written in between (Recorder::stamp); otherwise the break is where it was made. The
// callables are functions of their arguments alone, and cannot fail: each was tried on sample values.
#pragma once

#include <span>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

class Evaluator;
class Recorder;
struct Arguments;

struct Later {
  Owned callable;
  std::vector<Owned> args;                          // fakes, constants, others that come later, tuples of these
  Owned sample;                                     // a value that it might have
  std::vector<std::pair<Owned, uint64_t>> tensors;  // fakes among the arguments, with their stamps
  mutable bool in_graph = false;                    // the graph has computed it, too, and has its memory
  bool is_address = false;                          // id(object): as a key it is as good as the object
};

// Null for other objects.
const Later* later_of(PyObject* object);
inline PyTypeObject* later_class(PyObject* object) { return Py_TYPE(later_of(object)->sample.get()); }
// Was no tensor written since it was made?
bool holds_still(const Recorder& recorder, const Later& later);

// id() of an object that the program has made: each object has one.
Owned make_address(Evaluator& e, PyObject* id, PyObject* object);
inline bool is_address(PyObject* object) {
  const Later* later = later_of(object);
  return later != nullptr && later->is_address;
}

Owned make_later(Evaluator& e, PyObject* callable, std::span<PyObject* const> args, Owned sample);
// callable(*args) where an argument comes later or is a tensor, as a value that comes later; empty: it cannot be one.
Owned call_later(Evaluator& e, PyObject* callable, std::span<PyObject* const> args);
Owned call_later(Evaluator& e, PyObject* callable, const Arguments& args);
// The same for methods of Tensor that give values: item, tolist, __float__ ...
Owned ask_later(Evaluator& e, PyObject* method, const Arguments& args);
// random.uniform(0, 1) and its like: the graph draws in its turn. Empty for other callables.
Owned draw_later(Evaluator& e, PyObject* callable, const Arguments& args);
// A number that comes later, as one that operators of the graph may take: an element of a tensor, and sums and products of
// such. Other objects as they are; breaks for those that come later and are none.
Owned number_for_graph(Evaluator& e, PyObject* object);
// Breaks when the object comes later: its value has to be known.
void want_now(PyObject* object);

}  // namespace sconce::python::capture
