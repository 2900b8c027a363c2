// Tail calls: how emitted code hands over to a resume function.
//
// Note [Tail calls]
// Emitted code ends where the rest of its function begins. Were the rest called from it, its frame would stand below: what
// the program deletes would live on in that frame, each break would cost a level of the recursion limit, tracebacks would
// show the function once for each break, and sys._getframe(1) would be the function itself. So emitted code returns a
// pending call (resume function and arguments), and whoever ran it makes the call when the frame is gone:
//
//   emitted code: return _tail_call(__resume_at_7, x, y)
//   finish_calls: while the result is a pending call: result = call it
//
// The arguments belong to the frame that is entered alone. A call from C leaves them with the caller, too, so they are
// dropped when the frame hook meets the new frame, which has references of its own by then.
#pragma once

#include <vector>

#include "object.h"

namespace sconce::python::capture {

using Handed = std::vector<Owned>;

// The function of C that makes pending calls. Borrowed.
PyObject* tail_call_function();
bool is_pending(PyObject* result);
// Makes the call that is pending, and those that follow from it. Takes the reference; other results, null among them, are
// returned as they are.
PyObject* finish_calls(PyObject* result);

// For callables of C that pass their arguments on to a function of Python: what finish_calls hands to this call; null: it
// was called by somebody else, who keeps the arguments and expects no pending call. To be asked once, at the start.
Handed* take_handed();
// Calls a function of Python whose frame drops `handed`; null: as any call.
PyObject* call_handing(PyObject* function, PyObject* const* args, size_t flags, PyObject* names, Handed* handed);

// For the frame hook: a frame of this code is entered. True: by a call of call_handing, who takes a pending call as
// result.
bool frame_entered(PyCodeObject* code);

void add_tail_calls();

}  // namespace sconce::python::capture
