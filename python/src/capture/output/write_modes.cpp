#include "capture/output/write_modes.h"

#include "small_objects.h"

namespace sconce::python::capture {

void write_modes(const Modes& before, const Modes& now, Writer& w) {
  const auto call = [&](const char* name, std::initializer_list<PyObject*> args) {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
    const Owned function = Owned::take(PyObject_GetAttrString(module.get(), name));
    w.begin_call(function.get());
    for (PyObject* arg : args) w.constant(arg);
    w.end_call(static_cast<int>(args.size()));
    w.op(Op::pop_top);
  };
  const auto truth = [](bool v) { return v ? Py_True : Py_False; };
  if (now.inference != before.inference) {
    const Owned state = Owned::take(PyLong_FromUnsignedLongLong(now.inference));
    call("_restore_inference_mode", {state.get()});
  }
  if (now.grad != before.grad || now.inference != before.inference) call("_set_grad_enabled", {truth(now.grad)});
  const Owned on = Owned::take(PyLong_FromLong(1)), off = Owned::take(PyLong_FromLong(0));
  for (int i = before.overrides_off; i < now.overrides_off; ++i) call("_change_torch_function_disabled", {on.get()});
  for (int i = now.overrides_off; i < before.overrides_off; ++i) call("_change_torch_function_disabled", {off.get()});
  if (now.default_dtype != before.default_dtype) call("set_default_dtype", {dtype_object(now.default_dtype)});
  if (now.saves_inference != before.saves_inference) call("_set_saves_inference_tensors", {truth(now.saves_inference)});
  if (now.clears != before.clears) call("clear_autocast_cache", {});
  if (!now.same_autocast(before))
    call("_set_autocast", {truth(now.autocast), dtype_object(now.autocast_dtype), truth(now.autocast_cache)});
}

}  // namespace sconce::python::capture
