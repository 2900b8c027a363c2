#include "capture/code_state.h"

#include "capture/bytecode/instruction.h"
#include "capture/frames/frame_hook.h"

namespace sconce::python::capture {

Py_ssize_t code_state_slot = -1;

namespace {

void drop(void* state) { delete static_cast<CodeState*>(state); }

Py_ssize_t ask_for_slot() {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Eval_RequestCodeExtraIndex(drop);
#else
  return _PyEval_RequestCodeExtraIndex(drop);
#endif
}

int set_extra(PyObject* code, void* state) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_Code_SetExtra(code, code_state_slot, state);
#else
  return _PyCode_SetExtra(code, code_state_slot, state);
#endif
}

}  // namespace

CodeState& code_state(PyCodeObject* code) {
  if (CodeState* found = find_code_state(code)) return *found;
  if (code_state_slot < 0) code_state_slot = ask_for_slot();
  if (code_state_slot < 0) {
    PyErr_SetString(PyExc_RuntimeError, "no room is left for what capture keeps with code objects (co_extra)");
    throw PythonError();
  }
  auto made = std::make_unique<CodeState>();
  check(set_extra(reinterpret_cast<PyObject*>(code), made.get()));
  return *made.release();
}

}  // namespace sconce::python::capture
