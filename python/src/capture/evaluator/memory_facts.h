// Memory facts: properties of a tensor that neither its fake nor the guard of a tensor holds, since few programs read them:
// where it begins in its memory, whether it was made in inference mode, whether it is set to the memory of another tensor.
#pragma once

#include "object.h"

namespace sconce::python::capture {

class Evaluator;
struct Arguments;

// The answer of x.storage_offset() and x.is_inference(), guarded; breaks for x.is_set_to(y). Empty for other callables.
Owned ask_memory(Evaluator& e, PyObject* callable, const Arguments& args);

}  // namespace sconce::python::capture
