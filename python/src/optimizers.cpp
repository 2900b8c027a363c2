#include "optimizers.h"

#include "sconce/base/error.h"
#include "sconce/optim/scheduler.h"
#include "sconce/sconce.hpp"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {
namespace {

struct OptimizerObject {
  PyObject_HEAD std::unique_ptr<optim::Optimizer> optimizer;
};
struct SchedulerObject {
  PyObject_HEAD std::unique_ptr<optim::LRScheduler> scheduler;
  PyObject* optimizer;  // which it refers to
};
extern PyTypeObject optimizer_type, scheduler_type;

optim::Optimizer& optimizer_of(PyObject* self) { return *reinterpret_cast<OptimizerObject*>(self)->optimizer; }
optim::LRScheduler& scheduler_of(PyObject* self) { return *reinterpret_cast<SchedulerObject*>(self)->scheduler; }

optim::Options options_of(PyObject* dict) {
  optim::Options options;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) options.set(text_of(key), value_of(value));
  return options;
}

// {"params": [...], "lr": 0.1, ...}
optim::ParamGroup group_of(PyObject* dict) {
  optim::ParamGroup group;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    if (text_of(key) != "params") {
      group.options.set(text_of(key), value_of(value));
      continue;
    }
    const Owned items = Owned::take(PySequence_Fast(value, "params must be a sequence of tensors"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      SCONCE_CHECK_AS(type, is_tensor(item), "optimizer can only optimize Tensors, but one of the params is {}",
                      class_name(item));
      group.params.push_back(tensor_of(item));
    }
  }
  return group;
}

PyObject* make_optimizer(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *groups = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "UO!O!", &name, &PyList_Type, &groups, &PyDict_Type, &options)) throw PythonError();
    std::vector<optim::ParamGroup> all;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); ++i) all.push_back(group_of(PyList_GET_ITEM(groups, i)));
    std::unique_ptr<optim::Optimizer> made = optim::make_optimizer(text_of(name), std::move(all), options_of(options));
    Owned object = Owned::take(type->tp_alloc(type, 0));
    new (&reinterpret_cast<OptimizerObject*>(object.get())->optimizer) auto(std::move(made));
    return object.give();
  });
}
void free_optimizer(PyObject* self) {
  using Held = std::unique_ptr<optim::Optimizer>;
  reinterpret_cast<OptimizerObject*>(self)->optimizer.~Held();
  Py_TYPE(self)->tp_free(self);
}

// The closure runs in Python; the steps themselves do not need its lock.
PyObject* step(PyObject* self, PyObject* closure) {
  return guarded([&]() -> PyObject* {
    optim::Optimizer& optimizer = optimizer_of(self);
    if (closure == Py_None) {
      {
        const Unlocked unlocked;
        optimizer.step();
      }
      Py_RETURN_NONE;
    }
    const Tensor loss = optimizer.step([&] {
      const Owned result = Owned::take(PyObject_CallNoArgs(closure));
      SCONCE_CHECK_AS(type, is_tensor(result.get()), "the closure must return the loss, a Tensor, not {}",
                      class_name(result.get()));
      return tensor_of(result.get());
    });
    return wrap(loss).give();
  });
}
PyObject* zero_grad(PyObject* self, PyObject* set_to_none) {
  return guarded([&]() -> PyObject* {
    optimizer_of(self).zero_grad(is_true(set_to_none));
    Py_RETURN_NONE;
  });
}
Owned dict_of(const optim::Options& options) {
  Owned dict = Owned::take(PyDict_New());
  for (const auto& [name, value] : options.items())
    check(PyDict_SetItem(dict.get(), text(name).get(), object_of(value).get()));
  return dict;
}
// The options of each group, and the tensors.
PyObject* groups(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const optim::ParamGroup& group : optimizer_of(self).param_groups()) {
      const Owned dict = Owned::take(PyDict_New()), params = Owned::take(PyList_New(0));
      for (const Tensor& t : group.params) check(PyList_Append(params.get(), wrap(t).get()));
      check(PyDict_SetItemString(dict.get(), "params", params.get()));
      check(PyDict_Update(dict.get(), dict_of(group.options).get()));
      check(PyList_Append(list.get(), dict.get()));
    }
    return list.give();
  });
}
PyObject* defaults(PyObject* self, PyObject*) {
  return guarded([&] { return dict_of(optimizer_of(self).defaults()).give(); });
}
PyObject* set_option(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t group = 0;
    PyObject *name = nullptr, *value = nullptr;
    if (!PyArg_ParseTuple(args, "nUO", &group, &name, &value)) throw PythonError();
    optimizer_of(self).param_groups().at(static_cast<size_t>(group)).options.set(text_of(name), value_of(value));
    Py_RETURN_NONE;
  });
}
PyObject* add_group(PyObject* self, PyObject* group) {
  return guarded([&]() -> PyObject* {
    optimizer_of(self).add_param_group(group_of(group));
    Py_RETURN_NONE;
  });
}
PyObject* state_of(PyObject* self, PyObject* parameter) {
  return guarded([&] {
    SCONCE_CHECK_AS(type, is_tensor(parameter), "a parameter was expected, got {}", class_name(parameter));
    return dict_of(optimizer_of(self).state_of(tensor_of(parameter))).give();
  });
}
PyObject* state_dict(PyObject* self, PyObject*) {
  return guarded([&] { return object_of(optimizer_of(self).state_dict()).give(); });
}
PyObject* load_state_dict(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    optimizer_of(self).load_state_dict(value_of(state));
    Py_RETURN_NONE;
  });
}
PyMethodDef optimizer_methods[] = {{"step", step, METH_O, nullptr},
                                   {"zero_grad", zero_grad, METH_O, nullptr},
                                   {"groups", groups, METH_NOARGS, nullptr},
                                   {"defaults", defaults, METH_NOARGS, nullptr},
                                   {"set_option", set_option, METH_VARARGS, nullptr},
                                   {"add_group", add_group, METH_O, nullptr},
                                   {"state_of", state_of, METH_O, nullptr},
                                   {"state_dict", state_dict, METH_NOARGS, nullptr},
                                   {"load_state_dict", load_state_dict, METH_O, nullptr},
                                   {}};

// ---- schedules ----

PyObject* make_scheduler(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *optimizer = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "UO!O!", &name, &optimizer_type, &optimizer, &PyDict_Type, &options))
      throw PythonError();
    std::unique_ptr<optim::LRScheduler> made =
        optim::make_scheduler(text_of(name), optimizer_of(optimizer), options_of(options));
    Owned object = Owned::take(type->tp_alloc(type, 0));
    auto& self = *reinterpret_cast<SchedulerObject*>(object.get());
    new (&self.scheduler) auto(std::move(made));
    self.optimizer = Py_NewRef(optimizer);
    return object.give();
  });
}
void free_scheduler(PyObject* object) {
  using Held = std::unique_ptr<optim::LRScheduler>;
  auto& self = *reinterpret_cast<SchedulerObject*>(object);
  self.scheduler.~Held();
  Py_XDECREF(self.optimizer);
  Py_TYPE(object)->tp_free(object);
}
PyObject* scheduler_step(PyObject* self, PyObject* epoch) {
  return guarded([&]() -> PyObject* {
    std::optional<double> at;
    if (epoch != Py_None) {
      at = PyFloat_AsDouble(epoch);
      if (PyErr_Occurred()) throw PythonError();
    }
    scheduler_of(self).step(at);
    Py_RETURN_NONE;
  });
}
PyObject* last_lr(PyObject* self, PyObject*) {
  return guarded([&] { return object_of(Value(ListRef<double>(scheduler_of(self).get_last_lr()))).give(); });
}
PyObject* scheduler_state(PyObject* self, PyObject*) {
  return guarded([&] { return object_of(scheduler_of(self).state_dict()).give(); });
}
PyObject* load_scheduler_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    scheduler_of(self).load_state_dict(value_of(state));
    Py_RETURN_NONE;
  });
}
PyMethodDef scheduler_methods[] = {{"step", scheduler_step, METH_O, nullptr},
                                   {"get_last_lr", last_lr, METH_NOARGS, nullptr},
                                   {"state_dict", scheduler_state, METH_NOARGS, nullptr},
                                   {"load_state_dict", load_scheduler_state, METH_O, nullptr},
                                   {}};

PyTypeObject make_type(const char* name, size_t size, newfunc make, destructor free, PyMethodDef* methods) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = static_cast<Py_ssize_t>(size);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = make;
  type.tp_dealloc = free;
  type.tp_methods = methods;
  return type;
}
PyTypeObject optimizer_type =
    make_type("sconce._Optimizer", sizeof(OptimizerObject), make_optimizer, free_optimizer, optimizer_methods);
PyTypeObject scheduler_type =
    make_type("sconce._Scheduler", sizeof(SchedulerObject), make_scheduler, free_scheduler, scheduler_methods);

}  // namespace

void add_optimizers(PyObject* module) {
  check(PyModule_AddType(module, &optimizer_type));
  check(PyModule_AddType(module, &scheduler_type));
}

}  // namespace sconce::python
