// evaluate: walks the bytecode of a function over real objects of Python, with fakes for tensors, and says what one call of
// it comes to: a graph, what must hold for it (Sources), and code that runs the graph and whatever is left.
//
// Note [Objects while evaluating]
//   fake      a tensor of the program: sconce.Tensor without memory, every operation of which is recorded
//   owned     made by the evaluated program: list, instance, iterator ... CPython itself runs operations of C on it
//   outside   has a Source: arguments, globals, what they lead to. Read with guards, never written: a write goes to a
//             shadow (origins.h), and the emitted code repeats it after the graph
// Functions of Python are always evaluated, never called. What cannot be evaluated is a graph break.
#pragma once

#include <functional>
#include <span>

#include "capture/graph/recorder.h"
#include "capture/trace.h"
#include "object.h"

namespace sconce::python::capture {

struct EvaluateOptions {
  PyObject* backend = nullptr;          // for make_recorder; borrowed
  PyObject* backend_options = nullptr;  // the same
  bool fullgraph = false;               // a break raises
  // Bits of dimensions of the tensor from there whose size is not fixed; none: all are fixed.
  std::function<uint64_t(const Sources&, SourceId, PyObject* tensor)> free_dims;
  // Is the int or float from there an input of the graph? `owner`: the object whose attribute it is, null for others.
  std::function<bool(const Sources&, SourceId, PyObject* number, PyObject* owner)> free_number;
  // What the emitted code calls in place of a resume function; none: the function itself.
  std::function<Owned(PyObject* function)> resume;
  // Told of the code of resume functions that the emitted code makes itself, as they have closures; none: nobody is.
  std::function<void(PyObject* code)> resume_code;
  bool every_round = false;  // Note [Breaks in loops]: as if all were worth it
  bool everything = true;    // false: functions that meet no tensor are left as they are (interest.h)
  bool code_always = false;  // code beside a result that needs none
  int64_t break_at = -1;     // for tests: breaks in front of the instruction of this number, counted from the start
  int64_t most_steps = 5'000'000;  // instructions
};

// `slots`: the arguments as the function's frame holds them: positional, keyword only, *args, **kwargs.
// The trace has neither code nor result when there is nothing to gain: the function is to run as it is.
// Throws PythonError: when fullgraph is set and the graph breaks.
Trace evaluate(PyFunctionObject* function, std::span<PyObject* const> slots, const EvaluateOptions& options);

// _capture_evaluate(function, args), _capture_run(function, args): for tests.
void add_evaluator(PyObject* module);

}  // namespace sconce::python::capture
