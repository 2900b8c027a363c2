// Locals, cells, globals, names of class bodies, attributes and imports: instructions that name things.
#include "capture/evaluator/evaluator.h"

namespace sconce::python::capture {

// NameError, which knows the name.
[[noreturn]] static void raise_undefined(PyObject* name) {
  const Owned message = Owned::take(PyUnicode_FromFormat("name '%U' is not defined", name));
  const Owned error = Owned::take(PyObject_CallOneArg(PyExc_NameError, message.get()));
  check(PyObject_SetAttrString(error.get(), "name", name));
  PyErr_SetObject(PyExc_NameError, error.get());
  throw PythonError();
}

Owned Evaluator::load_fast(Frame& f, int slot) {
  const auto i = static_cast<size_t>(slot);
  PyObject* o = f.fast[i];
  if (o == nullptr)
    raise(PyExc_UnboundLocalError, "cannot access local variable %R where it is not associated with a value",
          f.code->locals[i].get());
  if (!f.raw.empty() && f.raw[i]) {
    f.raw[i] = false;
    f.fast.set(i, origins.wrap(o, origins.sources().add(Step::local, kNoSource, slot)));
    o = f.fast[i];
  }
  return Owned::share(o);
}

Owned Evaluator::load_global(Frame& f, PyObject* name) {
  if (PyObject* found = origins.dict_find(f.globals, name)) return Owned::share(found);
  PyObject* found = PyDict_Check(f.builtins) ? PyDict_GetItemWithError(f.builtins, name) : nullptr;
  if (found == nullptr) {
    if (PyErr_Occurred()) throw PythonError();
    raise_undefined(name);
  }
  return origins.wrap(found, origins.sources().add(Step::builtin, kNoSource, 0, name, f.builtins));
}

Evaluator::Next Evaluator::step_names(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  const auto i = static_cast<size_t>(in.arg);
  const auto name = [&] { return f.code->names[i].get(); };
  const auto push_method = [&](Owned callable, Owned self) {  // self null: no method
    if (self) {
      s.push(std::move(callable));
      s.push(std::move(self));
    } else if (null_is_above) {
      s.push(std::move(callable));
      s.push_null();
    } else {
      s.push_null();
      s.push(std::move(callable));
    }
  };
  const auto unbound_free = [&] {
    const bool free = f.code->kinds[i] & 0x80;
    PyObject* variable = f.code->locals[i].get();
    if (free)
      raise(PyExc_NameError,
            "cannot access free variable '%U' where it is not associated with a value in enclosing scope", variable);
    raise(PyExc_UnboundLocalError, "cannot access local variable %R where it is not associated with a value", variable);
  };
  switch (in.op) {
    case Op::make_cell: {
      PyObject* value = f.fast[i];
      if (value != nullptr) (void)load_fast(f, in.arg);
      f.fast.set(i, Owned::take(PyCell_New(f.fast[i])));
      if (!f.raw.empty()) f.raw[i] = false;
      return Next::go_on;
    }
    case Op::copy_free_vars: {
      PyObject* closure = f.function ? PyFunction_GET_CLOSURE(f.function.get()) : nullptr;
      const auto first = f.code->locals.size() - i;
      Origins::Entry* e = f.back == nullptr && frames.size() == 1 ? nullptr : origins.find(f.function.get());
      const bool root = frames.size() == 1;
      for (size_t k = 0; k < i; ++k) {
        PyObject* cell = PyTuple_GET_ITEM(closure, static_cast<Py_ssize_t>(k));
        if (!origins.outside(cell)) {
          const auto at = static_cast<int32_t>(k);
          if (root) {
            origins.enter(cell, origins.sources().add(Step::free_variable, kNoSource, at));
          } else if (e != nullptr && e->source != kNoSource) {
            const SourceId cells = origins.sources().add(Step::closure, e->source);
            origins.enter(cell, origins.sources().add(Step::element, cells, at));
          }
        }
        f.fast.set(first + k, Owned::share(cell));
      }
      return Next::go_on;
    }
    case Op::delete_fast:
      (void)load_fast(f, in.arg);
      check_overwritten(f.fast[i]);
      f.fast.set(i, Owned());
      return Next::go_on;
    case Op::load_fast_and_clear:
      if (f.fast[i] != nullptr && PyCell_Check(f.fast[i]) && (f.code->kinds[i] & 0xc0)) f.aside = f.step;
      if (f.fast[i] == nullptr)
        s.push_null();
      else
        s.push(load_fast(f, in.arg));
      f.fast.set(i, Owned());
      return Next::go_on;
    case Op::load_closure:
      s.push(Owned::share(f.fast[i]));
      return Next::go_on;
    case Op::load_class_deref:
      if (f.names) {
        if (PyObject* found = PyObject_GetItem(f.names.get(), f.code->locals[i].get())) {
          s.push(Owned::take(found));
          return Next::go_on;
        }
        if (!PyErr_ExceptionMatches(PyExc_KeyError)) throw PythonError();
        PyErr_Clear();
      }
      [[fallthrough]];
    case Op::load_deref: {
      PyObject* found = origins.cell_contents(f.fast[i]);
      if (found == nullptr) unbound_free();
      s.push(Owned::share(found));
      return Next::go_on;
    }
    case Op::store_deref: {
      const Owned value = s.pop();
      origins.cell_store(f.fast[i], value.get());
      return Next::go_on;
    }
    case Op::delete_deref:
      if (origins.cell_contents(f.fast[i]) == nullptr) unbound_free();
      origins.cell_store(f.fast[i], nullptr);
      return Next::go_on;

    case Op::load_global:
      s.push(load_global(f, name()));
      return Next::go_on;
    case Op::store_global: {
      const Owned value = s.pop();
      origins.dict_store(f.globals, name(), value.get());
      return Next::go_on;
    }
    case Op::delete_global:
      if (!origins.dict_contains(f.globals, name())) raise_undefined(name());
      origins.dict_store(f.globals, name(), nullptr);
      return Next::go_on;
    case Op::load_name: {
      if (!f.names) break_here(Reason::instruction, "a name outside of a function");
      if (PyObject* found = PyDict_GetItemWithError(f.names.get(), name()))
        s.push(Owned::share(found));
      else
        s.push(load_global(f, name()));
      return Next::go_on;
    }
    case Op::store_name: {
      const Owned value = s.pop();
      if (!f.names) break_here(Reason::instruction, "a name outside of a function");
      check(PyDict_SetItem(f.names.get(), name(), value.get()));
      return Next::go_on;
    }
    case Op::delete_name:
      if (!f.names) break_here(Reason::instruction, "a name outside of a function");
      if (PyDict_DelItem(f.names.get(), name()) < 0) {
        PyErr_Clear();
        raise_undefined(name());
      }
      return Next::go_on;
    case Op::load_locals:
      if (!f.names) break_here(Reason::instruction, "locals of a frame");
      s.push(Owned::share(f.names.get()));
      return Next::go_on;
    case Op::setup_annotations: {
      static PyObject* const annotations = interned("__annotations__");
      if (!f.names) break_here(Reason::instruction, "annotations outside of a function");
      if (PyDict_Contains(f.names.get(), annotations) == 0)
        check(PyDict_SetItem(f.names.get(), annotations, Owned::take(PyDict_New()).get()));
      return Next::go_on;
    }
    case Op::load_build_class: {
      static PyObject* const build = interned("__build_class__");
      s.push(Owned::share(PyDict_GetItemWithError(f.builtins, build)));
      return Next::go_on;
    }
    case Op::load_assertion_error:
      s.push(Owned::share(PyExc_AssertionError));
      return Next::go_on;

    case Op::load_attr:
      s.set_top(0, get_attribute(s.top(), name()));
      return Next::go_on;
    case Op::load_method: {
      const Owned object = s.pop();
      Owned found = get_attribute(object.get(), name());
      if (PyMethod_Check(found.get()) && !origins.outside(found.get())) {
        push_method(Owned::share(PyMethod_GET_FUNCTION(found.get())), Owned::share(PyMethod_GET_SELF(found.get())));
      } else {
        push_method(std::move(found), Owned());
      }
      return Next::go_on;
    }
    case Op::load_super_attr:
    case Op::load_super_method: {
      const Owned self = s.pop(), type = s.pop(), maker = s.pop();
      // The lowest bit: super() is written without arguments; another function of that name is called so.
      const bool bare = (in.arg & 1) != 0 && maker.get() != reinterpret_cast<PyObject*>(&PySuper_Type);
      const Owned super = call(maker.get(), bare ? Arguments() : Arguments::of({type.get(), self.get()}));
      Owned found = get_attribute(super.get(), f.code->names[i >> 1].get());
      if (in.op == Op::load_super_attr)
        s.push(std::move(found));
      else
        push_method(std::move(found), Owned());
      return Next::go_on;
    }
    case Op::store_attr: {
      const Owned object = s.pop(), value = s.pop();
      set_attribute(object.get(), name(), value.get());
      return Next::go_on;
    }
    case Op::delete_attr: {
      const Owned object = s.pop();
      set_attribute(object.get(), name(), nullptr);
      return Next::go_on;
    }
    case Op::import_name: {
      const Owned fromlist = s.pop(), level = s.pop();
      s.push(import_name(f, name(), fromlist.get(), level.get()));
      return Next::go_on;
    }
    case Op::import_from: {
      Owned found = find_attribute(s.top(), name());
      if (!found) break_here(Reason::import_, std::string(text_of(name())));
      s.push(std::move(found));
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction);
  }
}

// A module that is there already is a constant; importing one runs code, which is left to Python.
Owned Evaluator::import_name(Frame& f, PyObject* name, PyObject* fromlist, PyObject* level) {
  if (PyLong_AsLong(level) != 0) {
    // Resolved by Python itself, when all of it is there already: the package of the globals and the name.
    static PyObject* const package_name = interned("__package__");
    PyObject* package = PyDict_GetItemWithError(f.globals, package_name);
    if (package == nullptr || !PyUnicode_Check(package)) break_here(Reason::import_, std::string(text_of(name)));
    std::string full(text_of(package));
    for (long up = PyLong_AsLong(level); up > 1; --up) {
      const size_t dot = full.rfind('.');
      if (dot == std::string::npos) break_here(Reason::import_, std::string(text_of(name)));
      full.resize(dot);
    }
    if (PyUnicode_GET_LENGTH(name) != 0) full += "." + std::string(text_of(name));
    PyObject* there = PyDict_GetItemString(PyImport_GetModuleDict(), full.c_str());
    if (there == nullptr) break_here(Reason::import_, full);
    return origins.wrap(there, origins.sources().add(Step::constant, kNoSource, 0, nullptr, there));
  }
  PyObject* there = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (there == nullptr) break_here(Reason::import_, std::string(text_of(name)));
  if (fromlist == Py_None) {
    const std::string first(text_of(name).substr(0, text_of(name).find('.')));
    there = PyDict_GetItemString(PyImport_GetModuleDict(), first.c_str());
  }
  if (there == nullptr) break_here(Reason::import_, std::string(text_of(name)));
  return origins.wrap(there, origins.sources().add(Step::constant, kNoSource, 0, nullptr, there));
}

}  // namespace sconce::python::capture
