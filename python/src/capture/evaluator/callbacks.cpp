#include "capture/evaluator/callbacks.h"

#include "capture/evaluator/evaluator.h"

namespace sconce::python::capture {
namespace {

// Evaluates the function that a frame of CPython was entered for. Null with an exception of Python.
PyObject* evaluate_frame(PyFunctionObject* function, PyObject* const* slots) {
  Evaluator* e = Evaluator::current();
  try {
    return e->run_callback(function, slots).give();
  } catch (const PythonError&) {
    return nullptr;
  } catch (const Break& b) {
    e->interrupt = b;
  } catch (const NotRecordable& n) {
    e->interrupt = Break{n.needs_data ? Reason::data_dependent : Reason::unknown_callable, n.reason};
  }
  PyErr_SetString(PyExc_RuntimeError, "capture ends here");
  return nullptr;
}

}  // namespace

CallbackScope::CallbackScope(Evaluator& e) : e_(e), before_(std::exchange(e.callbacks, this)) {}
CallbackScope::~CallbackScope() { e_.callbacks = before_; }

void CallbackScope::start() {
  if (!wanted_ || redirect_) return;
  hook_.emplace();
  redirect_.emplace(evaluate_frame);
}

Owned Evaluator::run_callback(PyFunctionObject* function, PyObject* const* slots) {
  auto* object = reinterpret_cast<PyObject*>(function);
  // The class of the first argument has it: guarded, as every method that is looked up.
  if (slots[0] != nullptr && is_heap_instance(slots[0])) {
    origins.guard_type(slots[0]);
    PyObject* found = origins.class_find(Py_TYPE(slots[0]), function->func_name);
    if (found != object && !births.contains(object))
      break_here(Reason::callback, std::string(text_of(function->func_qualname)) + ", found by another name");
  } else if (!births.contains(object)) {
    break_here(Reason::callback, std::string(text_of(function->func_qualname)));
  }
  auto frame = std::make_unique<Frame>();
  frame->function = Owned::share(object);
  frame->code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  frame->globals = function->func_globals;
  frame->builtins = function->func_builtins;
  origins.enter(frame->globals, kNoSource).globals = true;
  frame->back = frames.empty() ? nullptr : frames.back();
  const Code& code = *frame->code;
  if (code.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) break_here(Reason::asynchronous);
  new (&frame->fast) Slots(code.locals.size());
  for (int i = 0; i < code.slots(); ++i)
    if (slots[i] != nullptr) frame->fast.set(static_cast<size_t>(i), canonical(Owned::share(slots[i])));
  const int64_t before = writes;
  Owned result = run(*frame);
  if (writes != before && slots[0] != nullptr) changing_classes.insert(Py_TYPE(slots[0]));
  if (code.flags & CO_GENERATOR) return make_generator(std::move(frame));
  return result;
}

}  // namespace sconce::python::capture
