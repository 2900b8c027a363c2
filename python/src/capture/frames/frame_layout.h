// Frames of CPython 3.11, 3.12 and 3.13: the only file that knows how they are laid out. Include it before nothing else
// of Python's internals.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030e0000
#error "frames of this Python are not known"
#endif
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED  // 3.12 defines it twice
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace sconce::python::capture {

using Frame = _PyInterpreterFrame;

inline PyCodeObject* code_of(const Frame* f) {
#if PY_VERSION_HEX >= 0x030d0000
  return reinterpret_cast<PyCodeObject*>(f->f_executable);
#else
  return f->f_code;
#endif
}

inline PyFunctionObject* function_of(const Frame* f) {
#if PY_VERSION_HEX >= 0x030c0000
  return reinterpret_cast<PyFunctionObject*>(f->f_funcobj);
#else
  return f->f_func;
#endif
}

// Slots: arguments, other locals, cells, free variables; behind them the stack.
inline PyObject** slots_of(Frame* f) { return f->localsplus; }
inline PyObject** stack_of(Frame* f) { return f->localsplus + code_of(f)->co_nlocalsplus; }

inline _Py_CODEUNIT* first_unit(PyCodeObject* code) { return reinterpret_cast<_Py_CODEUNIT*>(code->co_code_adaptive); }

// Has it not run an instruction yet? A generator that is resumed has.
inline bool at_start(const Frame* f) {
#if PY_VERSION_HEX >= 0x030d0000
  return f->instr_ptr == first_unit(code_of(f));
#else
  return f->prev_instr == first_unit(code_of(f)) - 1;
#endif
}

// The frame that runs Python in this thread: seen from a function of C, the one that called it.
inline Frame* current_frame(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030d0000
  return state->current_frame;
#else
  return state->cframe->current_frame;
#endif
}

// Does someone trace or profile this thread?
inline bool is_traced(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030c0000
  return state->tracing > 0 || state->c_tracefunc || state->c_profilefunc;
#else
  return state->cframe->use_tracing;
#endif
}

// Puts `code` in place of the frame's own; it starts at its first instruction. Possible because a frame that the hook
// is called for is the last one on the thread's data stack, so that it can grow, and popping it resets that stack to
// the frame's start whatever its size. Cells are made and free variables are copied by the first instructions of
// `code`, so that only arguments and free variables have to agree. Never for generators: RETURN_GENERATOR sizes them by
// the function's own code, and a larger frame would be copied past their end. False when the chunk of the data stack
// has no room.
inline bool replace_code(PyThreadState* state, Frame* f, PyCodeObject* code) {
  PyCodeObject* before = code_of(f);
  PyObject** end = f->localsplus + code->co_nlocalsplus + code->co_stacksize;
  if (end >= state->datastack_limit) return false;
  state->datastack_top = end;  // debug builds assert that the top frame ends here
  for (int i = before->co_nlocalsplus; i < code->co_nlocalsplus; ++i) f->localsplus[i] = nullptr;
  f->stacktop = code->co_nlocalsplus;
  Py_INCREF(code);
#if PY_VERSION_HEX >= 0x030d0000
  f->f_executable = reinterpret_cast<PyObject*>(code);
  f->instr_ptr = first_unit(code);
#else
  f->f_code = code;
  f->prev_instr = first_unit(code) - 1;
#endif
  Py_DECREF(before);
  return true;
}

// CPython's own evaluator. 3.12 counts evaluators on the C stack against a limit of 1,500 units, two for each, and
// under a hook every frame is one: recursion would end at depth 750 whatever sys.setrecursionlimit says. It is lent the
// units.
inline PyObject* run_frame(PyThreadState* state, Frame* f, int thrown) {
#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030d0000
  state->c_recursion_remaining += 2;
  PyObject* result = _PyEval_EvalFrameDefault(state, f, thrown);
  state->c_recursion_remaining -= 2;
  return result;
#else
  return _PyEval_EvalFrameDefault(state, f, thrown);
#endif
}

}  // namespace sconce::python::capture
