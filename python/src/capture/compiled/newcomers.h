// Newcomers: functions that a compiled region calls and that capture has not seen before. The frame hook asks once for each
// code object; those of interest get a cache, and are captured on their own.
#pragma once

#include "object.h"

namespace sconce::python::capture {

// For the frame hook: sets an entry for the code object when its frames are of interest. Code of the standard library, of
// this package (but for modules and optimisers), comprehensions and generators are not.
void meet_newcomer(PyCodeObject* code);

// Frames of this code are of interest, whatever its name: code of resume functions.
void expect_frames(PyCodeObject* code);
// Frames of this code are no newcomers: code that capture made, and functions that run as they are.
void leave_alone(PyObject* code);

// How many frames ran captured code so far.
uint64_t captured_frames();
void count_captured_frame();

}  // namespace sconce::python::capture
