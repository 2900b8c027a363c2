// Tracing in Python: what conversions, sizes and arguments do while sconce.jit.trace records.
#pragma once

#include <string>

#include "object.h"
#include "sconce/api/jit.h"
#include "sconce/dispatch/schema.h"
#include "sconce/tracing/tracer.h"

namespace sconce::python {

inline bool is_tracing() { return tracing::Tracer::current() != nullptr; }

// A TracerWarning, when tracing: "Converting a tensor to a Python boolean might cause the trace to be incorrect. ...".
void warn_of_value(const char* what);
void warn_of_constant(const char* what);  // "torch.tensor results are registered as constants in the trace. ..."
// A new tensor of data, as PyTorch's traces have it: a constant, converted and detached.
Tensor traced_constant(const Tensor& t, const char* what);
void warn_when_tracing(const std::string& text);

// An object given for an argument: where it is a tensor that stands for a number, or a sequence with such, the recorder
// takes the number from the graph. For tracing only.
void stash_argument(const Argument& argument, PyObject* object);
// `position` of `count` elements that were given without brackets.
void stash_element(const Argument& argument, size_t count, size_t position, PyObject* object);

// A size, or the number of elements: while tracing a tensor that the graph computes, otherwise a number.
Owned size_object(const Tensor& t, int64_t dim);
Owned numel_object(const Tensor& t);

// A function or method of a program, called while tracing: one node.
Value traced_call(const jit::Function& f, std::vector<Value> args, jit::NamedValues kwargs);
Value traced_call(const jit::Module& module, std::vector<Value> args, jit::NamedValues kwargs);

void add_tracing(PyObject* module);

}  // namespace sconce::python
