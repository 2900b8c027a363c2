#include "capture/frames/frame_hook.h"

#include "capture/code_state.h"
#include "capture/frames/frame_layout.h"
#include "capture/frames/tail_call.h"
#include "capture/graph/compiled_graph.h"
#include "capture/output/writer.h"

namespace sconce::python::capture {

namespace {

int scopes = 0;                        // HookScopes that live; under the lock of Python
_PyFrameEvalFunction below = nullptr;  // what was in before the hook; null: CPython's evaluator
[[gnu::tls_model("initial-exec")]] constinit thread_local bool paused = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local FrameRedirect::Answer redirect = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local PyObject* answered = nullptr;
void (*on_newcomer)(PyCodeObject*) = nullptr;

PyObject* on_frame(PyThreadState* state, Frame* f, int thrown);

// Under a hook CPython makes every call of Python a call of C, and a recursion that it would run in a loop takes the C
// stack: from this depth on the hook is out until the frame returns, and what is called in there runs as it is.
constexpr int kDeepest = 250;
[[gnu::tls_model("initial-exec")]] constinit thread_local int depth = 0;

PyObject* run_deep(PyThreadState* state, Frame* f, int thrown) {
  PyInterpreterState* interpreter = state->interp;
  const bool in = _PyInterpreterState_GetEvalFrameFunc(interpreter) == on_frame;
  if (in) _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
  PyObject* result = run_frame(state, f, thrown);
  if (in && scopes > 0 && _PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault)
    _PyInterpreterState_SetEvalFrameFunc(interpreter, on_frame);
  return result;
}

PyObject* run_below(PyThreadState* state, Frame* f, int thrown) {
  if (below) return below(state, f, thrown);
  if (++depth > kDeepest) [[unlikely]] {
    PyObject* result = run_deep(state, f, thrown);
    --depth;
    return result;
  }
  PyObject* result = run_frame(state, f, thrown);
  --depth;
  return result;
}

bool fits(PyCodeObject* code, PyCodeObject* other) {
  return code->co_argcount == other->co_argcount && code->co_kwonlyargcount == other->co_kwonlyargcount &&
         code->co_nfreevars == other->co_nfreevars &&
         !((code->co_flags ^ other->co_flags) & (CO_VARARGS | CO_VARKEYWORDS));
}
bool is_generator(PyCodeObject* code) { return code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR); }

// `tail`: whoever called takes a pending call as result.
PyObject* run_entered(PyThreadState* state, Frame* f, const std::shared_ptr<FrameEntry>& entry, bool tail) {
  PyCodeObject* code = code_of(f);
  Owned other;
  const bool failed = guarded(
      [&] {
        const HookPause pause;
        other = entry->enter(function_of(f), slots_of(f));
        if (other) check_replacement(code, reinterpret_cast<PyCodeObject*>(other.get()));
        return false;
      },
      true);
  if (failed) return run_frame(state, f, 1);  // pops the frame, with the exception on its way
  if (other) replace_code(state, f, reinterpret_cast<PyCodeObject*>(other.get()));
  other = Owned();  // the frame has a reference
  PyObject* result = take_eager_answer(run_below(state, f, 0));
  return tail ? result : finish_calls(result);
}

PyObject* take_answer(PyObject*, PyObject*) { return std::exchange(answered, nullptr); }

// Code that returns the answer, for frames of this code.
Owned answering_code(PyCodeObject* code) {
  CodeState& kept = code_state(code);
  if (!kept.answering) {
    static PyMethodDef method = {"take_answer", take_answer, METH_NOARGS, nullptr};
    static PyObject* const function = Owned::take(PyCFunction_New(&method, nullptr)).give();
    Writer w(*decode(code));
    w.code().flags &= ~(CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    w.begin_call(function);
    w.end_call(0);
    w.op(Op::return_value);
    kept.answering = w.finish();
  }
  return Owned::share(kept.answering.get());
}

// A frame that the evaluator answers: CPython runs code in it that returns the answer, and so takes the frame away.
PyObject* run_redirected(PyThreadState* state, Frame* f) {
  const FrameRedirect::Answer answer = std::exchange(redirect, nullptr);
  PyObject* result = answer(function_of(f), slots_of(f));
  Owned code;
  if (result != nullptr) {
    const bool made = guarded(
        [&] {
          code = answering_code(code_of(f));
          return true;
        },
        false);
    if (!made) Py_CLEAR(result);
  }
  redirect = answer;
  if (result != nullptr && !replace_code(state, f, reinterpret_cast<PyCodeObject*>(code.get()))) {
    Py_CLEAR(result);
    PyErr_SetString(PyExc_MemoryError, "no room for a frame");
  }
  if (result == nullptr) return run_frame(state, f, 1);
  answered = result;
  return run_frame(state, f, 0);
}

PyObject* on_frame(PyThreadState* state, Frame* f, int thrown) {
  if (redirect != nullptr && !thrown && at_start(f)) [[unlikely]]
    return run_redirected(state, f);
  const bool tail = frame_entered(code_of(f));
  CodeState* kept = find_code_state(code_of(f));
  if ((kept == nullptr || !kept->met) && !paused && !thrown && on_newcomer) [[unlikely]] {
    on_newcomer(code_of(f));
    kept = find_code_state(code_of(f));
  }
  if (kept == nullptr || !kept->on_entry) [[likely]]
    return run_below(state, f, thrown);
  if (thrown || paused || !at_start(f) || is_generator(code_of(f)) || is_traced(state))
    return run_below(state, f, thrown);
  const std::shared_ptr<FrameEntry> entry = kept->on_entry;
  return run_entered(state, f, entry, tail);
}

}  // namespace

void set_newcomer_callback(void (*callback)(PyCodeObject*)) { on_newcomer = callback; }

void set_frame_entry(PyCodeObject* code, std::shared_ptr<FrameEntry> entry) {
  CodeState& state = code_state(code);
  state.met = true;
  state.on_entry.swap(entry);
}

std::shared_ptr<FrameEntry> frame_entry(PyCodeObject* code) {
  const CodeState* kept = find_code_state(code);
  return kept ? kept->on_entry : nullptr;
}

void check_replacement(PyCodeObject* code, PyCodeObject* other) {
  if (is_generator(code) || is_generator(other))
    PyErr_Format(PyExc_ValueError, "frames of generators cannot run other code: %U", code->co_qualname);
  else if (!fits(code, other))
    PyErr_Format(PyExc_ValueError, "other code of %U has other arguments or free variables", code->co_qualname);
  else
    return;
  throw PythonError();
}

HookScope::HookScope() {
  if (scopes++ > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  const _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  if (now == on_frame) return;  // left in below another hook
  below = now == _PyEval_EvalFrameDefault ? nullptr : now;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, on_frame);
}

HookScope::~HookScope() {
  if (--scopes > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  // Another hook may have come on top: it goes on calling ours, which finds nothing of interest or lets frames run.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != on_frame) return;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, below ? below : _PyEval_EvalFrameDefault);
}

Owned run_caller_eagerly() {
  Frame* f = current_frame(PyThreadState_Get());
  const CodeState* kept = f == nullptr ? nullptr : find_code_state(code_of(f));
  if (kept == nullptr || kept->original == nullptr) return {};
  PyCodeObject* code = kept->original;
  PyFunctionObject* caller = function_of(f);
  const Owned function = Owned::take(
      PyFunction_NewWithQualName(reinterpret_cast<PyObject*>(code), caller->func_globals, caller->func_qualname));
  if (caller->func_closure) check(PyFunction_SetClosure(function.get(), caller->func_closure));
  PyObject** slots = slots_of(f);
  const Owned args = Owned::take(PyList_New(0)), keywords = Owned::take(PyDict_New());
  for (int i = 0; i < code->co_argcount; ++i) check(PyList_Append(args.get(), slots[i]));
  int next = code->co_argcount;
  for (; next < code->co_argcount + code->co_kwonlyargcount; ++next)
    check(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(code->co_localsplusnames, next), slots[next]));
  if (code->co_flags & CO_VARARGS)
    check(PyList_SetSlice(args.get(), code->co_argcount, code->co_argcount, slots[next++]));
  if (code->co_flags & CO_VARKEYWORDS) check(PyDict_Update(keywords.get(), slots[next]));
  const Owned all = Owned::take(PyList_AsTuple(args.get()));
  const HookPause pause;
  return Owned::take(PyObject_Call(function.get(), all.get(), keywords.get()));
}

FrameRedirect::FrameRedirect(Answer answer) : before_(std::exchange(redirect, answer)) {}
FrameRedirect::~FrameRedirect() { redirect = before_; }

HookPause::HookPause() : before_(paused) { paused = true; }
HookPause::~HookPause() { paused = before_; }

}  // namespace sconce::python::capture
