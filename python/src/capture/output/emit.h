// emit: the trace of an evaluation that came to its end, or to a break.
#pragma once

#include "capture/evaluator/evaluator.h"

namespace sconce::python::capture {

// The function returned `result`. Throws Unrebuildable (rebuild.h).
void emit_return(Evaluator& evaluator, Frame& root, PyObject* result, Trace& trace);
// The evaluation stopped in front of the instruction of the innermost frame; the others wait for it to return.
void emit_break(Evaluator& evaluator, Trace& trace);

}  // namespace sconce::python::capture
