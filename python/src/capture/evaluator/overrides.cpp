// __torch_function__ of classes and modes: evaluated as other functions of the program are.
//
// Note [Functions that are taken over]
// An operator whose arguments have a class that decides, or in a mode, is called as CPython would: code of C finds out whom
// to ask, and what to tell it (torch.add, Tensor.__getitem__). Where it would call __torch_function__ it asks the evaluator
// (AskOverrideScope). Modes that the program enters are kept by the evaluator, so that the recorder's own calls do not meet
// them; they are the thread's while such code of C runs.
#include "capture/evaluator/evaluator.h"
#include "interop/torch_function.h"

namespace sconce::python::capture {

Owned Evaluator::record(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  return is_overridden(args, names) ? call_overridden(target, args, names) : recorder.call(target, args, names);
}

bool Evaluator::is_overridden(std::span<PyObject* const> args, PyObject* names) const {
  if (!function_modes.empty()) return true;
  const size_t named = names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(names));
  return static_cast<bool>(TorchFunction({args.first(args.size() - named), names, args.last(named).data()}));
}

Owned Evaluator::call_overridden(PyObject* target, std::span<PyObject* const> args, PyObject* names) {
  std::vector<Owned> modes;
  for (const Owned& mode : function_modes) modes.push_back(Owned::share(mode.get()));
  const FunctionModes::Scope of_program(std::move(modes));
  const size_t named = names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(names));
  PyObject* result = PyObject_Vectorcall(target, args.data(), args.size() - named, names);
  if (result == nullptr) failed();
  return canonical(Owned::take(result));
}

PyObject* ask_override(PyObject* object, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
  Evaluator& e = *Evaluator::current();
  // The modes are what code of C has left of them; it calls a mode without itself.
  std::vector<Owned> left;
  for (const Owned& mode : FunctionModes::stack()) left.push_back(Owned::share(mode.get()));
  std::swap(e.function_modes, left);
  const FunctionModes::Scope of_nobody({});
  struct Back {
    Evaluator& e;
    std::vector<Owned>& modes;
    ~Back() { std::swap(e.function_modes, modes); }
  } back{e, left};
  try {
    static PyObject* const name = interned("__torch_function__");
    const Owned method = e.get_attribute(object, name);
    return e.call(method.get(), Arguments::of({function, types, args, kwargs})).give();
  } catch (const PythonError&) {
    return nullptr;
  } catch (const Break& b) {
    e.interrupt = b;
  } catch (const NotRecordable& n) {
    e.interrupt = Break{n.needs_data ? Reason::data_dependent : Reason::unknown_callable, n.reason};
  }
  PyErr_SetString(PyExc_RuntimeError, "capture ends here");
  return nullptr;
}

}  // namespace sconce::python::capture
