// Calls of training that a graph makes in their turn, as they are: steps of the library's optimisers and schedules, and
// functions with a backward of their own, whose forward was followed (sconce/_polyfills/of_autograd.py).
//
// Note [Objects that a call in turn changes]
// optimizer.step() reads and writes attributes of real objects while the graph runs, before any write of the program is
// repeated. So it is refused when one of those that it reads was written by then (is_written), but for options of groups,
// which the graph writes in their turn; and what it writes is
// marked (mark_changed): reading that afterwards is a break.
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/policy.h"
#include "capture/graph/sym_int.h"
#include "size_object.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

PyObject* real_item(PyObject* object, const char* name) {
  const Owned dict = Owned::take(PyObject_GenericGetDict(object, nullptr));
  return PyDict_GetItemString(dict.get(), name);  // the object keeps it
}

// An object from outside that is an instance of a class of Python with a dict of its own.
bool is_outside(Evaluator& e, PyObject* object) {
  return e.origins.outside(object) && !e.recorder.is_fake(object) && is_heap_instance(object) && !PyType_Check(object);
}

bool is_empty(Evaluator& e, PyObject* table) {
  if (table == nullptr || !PyDict_Check(table)) return false;
  if (!e.origins.outside(table))
    e.origins.enter(table, e.origins.sources().add(Step::constant, kNoSource, 0, nullptr, table)).type_guarded = true;
  return e.length(table) == 0;
}

PyObject* optimizer_global(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule("sconce.optim.optimizer"));
  return Owned::take(PyObject_GetAttrString(module.get(), name)).give();
}

bool has_no_hooks(Evaluator& e, PyObject* optimizer) {
  static PyObject* const global_tables[] = {optimizer_global("_global_pre_hooks"),
                                            optimizer_global("_global_post_hooks")};
  static PyObject* const tables[] = {interned("_optimizer_step_pre_hooks"), interned("_optimizer_step_post_hooks")};
  for (PyObject* table : global_tables)
    if (!is_empty(e, table)) return false;
  PyObject* dict = e.origins.instance_dict(optimizer);
  for (PyObject* name : tables)
    if (!is_empty(e, e.origins.dict_find(dict, name))) return false;
  return true;
}

// Options of a group that the program has written, by key; empty: it has written none, or others than options with constants.
std::optional<Owned> written_options(Evaluator& e, PyObject* group) {
  Owned all = Owned::take(PyDict_New());
  const Origins::Entry* entry = e.origins.find(group);
  if (entry == nullptr) return all;
  static PyObject* const params = interned("params");
  PyObject *key = nullptr, *value = nullptr;
  PyObject* now = entry->shadow ? entry->shadow.get() : entry->overlay.get();
  if (now == nullptr) return all;
  if (entry->shadow && PyDict_GET_SIZE(now) != PyDict_GET_SIZE(entry->snapshot.get())) return std::nullopt;
  for (Py_ssize_t at = 0; PyDict_Next(now, &at, &key, &value);) {
    if (value == Origins::changed()) continue;
    if (entry->shadow && PyDict_GetItemWithError(entry->snapshot.get(), key) == value) continue;
    if (value == Origins::deleted() || !PyUnicode_CheckExact(key) || PyUnicode_Compare(key, params) == 0 ||
        !is_constant(value))
      return std::nullopt;
    check(PyDict_SetItem(all.get(), key, value));
  }
  return all;
}

// Has the program written what an optimiser reads, or replaced a group? Options that it has written are written by the graph,
// too, in their turn: `in_turn`.
bool is_optimizer_written(Evaluator& e, PyObject* optimizer, bool in_turn = false) {
  static PyObject* const called = interned("_opt_called");
  if (e.origins.is_written(e.origins.instance_dict(optimizer), called)) return true;
  PyObject* groups = real_item(optimizer, "param_groups");
  if (groups == nullptr || !PyList_CheckExact(groups) || e.origins.is_written(groups)) return true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); ++i) {
    PyObject* group = PyList_GET_ITEM(groups, i);
    if (!PyDict_Check(group) || (!in_turn && e.origins.is_written(group))) return true;
    if (!in_turn) continue;
    const std::optional<Owned> options = written_options(e, group);
    if (!options) return true;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(options->get(), &at, &key, &value);) {
      const Owned store = Owned::take(PyObject_GetAttrString(group, "__setitem__"));
      PyObject* const args[] = {key, value};
      e.recorder.call_in_turn(store.get(), args, nullptr, Py_None);
    }
  }
  return false;
}

Owned parameters_of(PyObject* optimizer) {
  Owned all = Owned::take(PyList_New(0));
  PyObject* groups = real_item(optimizer, "param_groups");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); ++i) {
    PyObject* params = PyDict_GetItemString(PyList_GET_ITEM(groups, i), "params");
    if (params != nullptr) check(PyList_SetSlice(all.get(), PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, params));
  }
  return all;
}

// The optimiser is this one, and has as many groups.
void guard_optimizer(Evaluator& e, PyObject* optimizer) {
  static PyObject* const groups = interned("param_groups");
  e.origins.guard_identity(optimizer);
  PyObject* found = e.origins.dict_find(e.origins.instance_dict(optimizer), groups);
  if (found != nullptr && e.origins.outside(found)) {
    e.origins.guard_type(found);
    e.origins.guard_length(found);
  }
}

Owned follow(Evaluator& e, PyObject* callable, Arguments& args) { return e.call_function(callable, std::move(args)); }

// _LibraryOptimizer.step(self, closure=None)
Owned optimizer_step(Evaluator& e, PyObject* callable, Arguments& args) {
  const bool plain = args.named() == 0 && (args.values.size() == 1 || (args.values.size() == 2 && args[1] == Py_None));
  if (!plain || !is_outside(e, args[0]) || !has_no_hooks(e, args[0])) return follow(e, callable, args);
  const Owned self = Owned::share(args[0]);
  guard_optimizer(e, self.get());
  if (is_optimizer_written(e, self.get(), true))
    break_here(Reason::mutation, "options of an optimizer, before its step");
  const Owned method = Owned::take(PyMethod_New(callable, self.get()));
  e.recorder.call_in_turn(method.get(), {}, nullptr, Py_None);
  e.recorder.note_written(parameters_of(self.get()).get());
  PyObject* dict = e.origins.instance_dict(self.get());
  static PyObject* const seen = interned("_seen");
  static PyObject* const called = interned("_opt_called");
  e.origins.mark_changed(dict, seen);
  e.origins.dict_store(dict, called, Py_True);
  return Owned::share(Py_None);
}

// _LibraryOptimizer.zero_grad(self, set_to_none=True)
Owned zero_grad(Evaluator& e, PyObject* callable, Arguments& args) {
  bool plain = args.values.size() <= 2 && is_outside(e, args[0]);
  PyObject* given = Py_True;
  if (args.values.size() == 2) given = args.named() == 1 ? args.keyword("set_to_none") : args[1];
  plain = plain && given != nullptr && PyBool_Check(given);
  if (!plain) return follow(e, callable, args);
  const Owned self = Owned::share(args[0]);
  guard_optimizer(e, self.get());
  const Owned method = Owned::take(PyMethod_New(callable, self.get()));
  PyObject* const flags[] = {given};
  e.recorder.call_in_turn(method.get(), flags, nullptr, Py_None);
  if (given == Py_True) e.recorder.clear_gradients(parameters_of(self.get()).get());
  return Owned::share(Py_None);
}

// _LibrarySchedule.step(self, epoch=None), _Plateau.step(self, metrics): rates of the optimiser change.
Owned schedule_step(Evaluator& e, PyObject* callable, Arguments& args) {
  bool plain = args.named() == 0 && is_outside(e, args[0]);
  for (size_t i = 1; i < args.values.size(); ++i)
    plain = plain && (is_constant(args[i]) || (e.recorder.is_fake(args[i]) && is_tensor(args[i])));
  if (!plain) return follow(e, callable, args);
  const Owned self = Owned::share(args[0]);
  PyObject* optimizer = real_item(self.get(), "optimizer");
  if (optimizer == nullptr || !is_heap_instance(optimizer) || e.origins.is_written(e.origins.instance_dict(self.get())))
    break_here(Reason::mutation, "attributes of a schedule, before its step");
  e.origins.guard_identity(self.get());
  static PyObject* const optimizer_name = interned("optimizer");
  static PyObject* const groups_name = interned("param_groups");
  static PyObject* const seen = interned("_seen");
  static PyObject* const params = interned("params");
  const Owned of = e.get_attribute(self.get(), optimizer_name);
  guard_optimizer(e, of.get());
  if (of.get() != optimizer || is_optimizer_written(e, optimizer))
    break_here(Reason::mutation, "options of an optimizer, before the step of a schedule");
  const Owned groups = e.get_attribute(optimizer, groups_name);
  PyObject* shadow = e.origins.absorb(groups.get());
  const Owned method = Owned::take(PyMethod_New(callable, self.get()));
  std::vector<PyObject*> rest;
  for (size_t i = 1; i < args.values.size(); ++i) rest.push_back(args[i]);
  e.recorder.call_in_turn(method.get(), rest, nullptr, Py_None);
  e.origins.mark_changed(e.origins.instance_dict(optimizer), seen);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(shadow); ++i) {
    PyObject* group = e.origins.canonical(PyList_GET_ITEM(shadow, i));
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(group, &at, &key, &value);)
      if (PyUnicode_Compare(key, params) != 0) e.origins.mark_changed(group, key);
  }
  return Owned::share(Py_None);
}

// Tensor.backward, and the functions of the extension behind torch.autograd.backward and grad.
Owned differentiate(Evaluator& e, PyObject* callable, Arguments& args) {
  static PyObject* const module = Owned::take(PyImport_ImportModule("sconce._sconce")).give();
  static PyObject* const hooks = interned("_leaf_hooks");
  if (!e.origins.outside(module))
    e.origins.enter(module, e.origins.sources().add(Step::constant, kNoSource, 0, nullptr, module)).identity_guarded =
        true;
  (void)e.get_attribute(module, hooks);  // guarded
  for (Owned& value : args.values)
    if (!e.prepare(value, false)) break_here(Reason::callback, "backward");
  return e.canonical(e.recorder.differentiate(callable, args.pointers(), args.names.get()));
}

// Tensor.register_hook: the graph registers it in its turn, and backward is a break from here on.
Owned register_hook(Evaluator& e, PyObject* callable, Arguments& args) {
  const auto refuse = [&] { break_here(Reason::unknown_callable, "Tensor.register_hook"); };
  if (args.values.size() != 2 || args.named() != 0 || !is_tensor(args[0]) || !PyFunction_Check(args[1])) refuse();
  if (!e.recorder.is_fake(args[0]) || !tensor_of(args[0]).requires_grad()) refuse();
  auto* hook = reinterpret_cast<PyFunctionObject*>(args[1]);
  if (e.origins.outside(args[1]))
    e.origins.guard_identity(args[1]);
  else if (hook->func_closure != nullptr || hook->func_defaults != nullptr || hook->func_kwdefaults != nullptr)
    refuse();
  e.recorder.call_in_turn(callable, args.pointers(), nullptr, Py_None);
  e.recorder.note_hook();
  Owned handle = Owned::take(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  e.born(handle.get());
  e.handles.insert(handle.get());
  return handle;
}

// _make_subclass(class, data, requires_grad=False), of nn.Buffer. A parameter is a leaf of its own, which no graph makes; and
// a class with a __torch_function__ has a say in operators.
Owned make_subclass(Evaluator& e, PyObject*, Arguments& args) {
  static PyObject* const none_has_a_say = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
    return Owned::take(PyObject_GetAttrString(module.get(), "_disabled_torch_function_impl")).give();
  }();
  static PyObject* const torch_function = interned("__torch_function__");
  const bool fits = args.named() == 0 && args.values.size() >= 2 && args.values.size() <= 3 && PyType_Check(args[0]) &&
                    e.recorder.is_fake(args[1]) && is_tensor(args[1]) &&
                    (args.values.size() == 2 || args[2] == Py_False);
  if (!fits) break_here(Reason::unknown_callable, "sconce._sconce._make_subclass");
  auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
  e.origins.guard_identity(args[0]);
  if (!PyType_IsSubtype(type, &tensor_type) || e.origins.class_find(type, torch_function) != none_has_a_say)
    break_here(Reason::unknown_callable, "sconce._sconce._make_subclass");
  return e.recorder.as_class(type, args[1]);
}

// transforms._reaches_others(tensor, own): the histories of fakes are those of the tensors they stand for.
Owned ask_history(Evaluator& e, PyObject* callable, Arguments& args) {
  for (Owned& value : args.values)
    if (!e.prepare(value, false)) break_here(Reason::callback, "a history");
  return e.recorder.ask(callable, args.pointers());
}

// What a call in turn may be given: fakes, constants, classes, and tuples, lists and dicts of such.
bool can_be_held(Evaluator& e, PyObject* o, int depth = 0) {
  if (e.recorder.is_fake(o)) return is_tensor(o);
  if (is_immutable(o) || PyType_Check(o)) return true;
  if (depth > 20 || e.origins.outside(o)) return false;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || is_size(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (!can_be_held(e, PySequence_Fast_GET_ITEM(o, i), depth + 1)) return false;
    return true;
  }
  if (!PyDict_CheckExact(o)) return false;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
    if (!is_constant(key) || !can_be_held(e, value, depth + 1)) return false;
  return true;
}

// What a context keeps for backward (ctx.shape, ctx.n) are the numbers themselves, which are fixed then.
void fix_numbers(PyObject* state) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(state, &at, &key, &value);) {
    Owned fixed = fixed_number(value);
    if (is_size(value)) {
      const Owned items = Owned::take(PyTuple_New(PyTuple_GET_SIZE(value)));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
        PyTuple_SET_ITEM(items.get(), i, fixed_number(PyTuple_GET_ITEM(value, i)).give());
      fixed = make_size_of(items.get());
    }
    if (fixed.get() != value) check(PyDict_SetItem(state, key, fixed.get()));
  }
}

// of_autograd.attach(function, state, args, output)
Owned attach(Evaluator& e, PyObject* callable, Arguments& args) {
  static PyObject* const on_fakes = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._polyfills.of_autograd"));
    return Owned::take(PyObject_GetAttrString(module.get(), "attach_fakes")).give();
  }();
  e.origins.guard_identity(args[0]);
  if (PyDict_CheckExact(args[1]) && !e.origins.outside(args[1])) fix_numbers(args[1]);
  for (size_t i = 1; i < args.values.size(); ++i)
    if (!can_be_held(e, args[i]))
      break_here(Reason::unknown_object,
                 "forward of a Function takes, keeps or returns more than tensors and constants");
  return e.recorder.call_opaque(callable, on_fakes, args.pointers());
}

}  // namespace

void add_training_calls() {
  const auto add = [](const char* module, const char* name, CallHandler handler) {
    add_known(module, name, Known{Treatment::handler, handler, false});
  };
  add("sconce._sconce", "Tensor.backward", differentiate);
  add("sconce._sconce", "Tensor.register_hook", register_hook);
  add("sconce._sconce", "_make_subclass", make_subclass);
  add("sconce._sconce", "_backward", differentiate);
  add("sconce._sconce", "_gradients", differentiate);
  add("sconce.optim.optimizer", "_LibraryOptimizer.step", optimizer_step);
  add("sconce.optim.optimizer", "_LibraryOptimizer.zero_grad", zero_grad);
  add("sconce.optim.lr_scheduler", "_LibrarySchedule.step", schedule_step);
  add("sconce.optim.lr_scheduler", "_Plateau.step", schedule_step);
  add("sconce._polyfills.of_autograd", "attach", attach);
  add("sconce.func.transforms", "_reaches_others", ask_history);
}

}  // namespace sconce::python::capture
