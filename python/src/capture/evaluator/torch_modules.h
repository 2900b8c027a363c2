// Modules of PyTorch: their __call__ and __getattr__ are functions of Python that every layer goes through. What these do
// where nobody has put hooks is known, so that capture need not follow them.
#pragma once

#include "capture/evaluator/evaluator.h"

namespace sconce::python::capture {

// Is it torch.nn.Module.__getattr__, which looks into _parameters, _buffers and _modules?
bool is_torch_module_getattr(PyObject* function);
// Does the function only note, for PyTorch's own capture, that a module was made? The program never sees the note.
bool is_note_of_dynamo(PyObject* function);

// `call`: what the module's class has for __call__. The bound forward, if that is PyTorch's own and no hooks are there, which
// guards check from then on; otherwise null.
Owned torch_forward(Evaluator& e, PyObject* module, PyObject* call);

}  // namespace sconce::python::capture
