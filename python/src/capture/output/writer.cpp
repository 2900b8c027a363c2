#include "capture/output/writer.h"

#include <string>

#include "capture/guards/items_ahead.h"

namespace sconce::python::capture {

namespace {

// class_item(class, name)
PyObject* class_item(PyObject*, PyObject* args) {
  PyObject* found =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(args, 0)), PyTuple_GET_ITEM(args, 1));
  if (found == nullptr) PyErr_SetObject(PyExc_AttributeError, PyTuple_GET_ITEM(args, 1));
  return Py_XNewRef(found);
}

// Of an iterator and a number: Note [Items ahead]. The guards have seen that it is there.
template <class F>
PyObject* of_iterator(PyObject* args, F f) {
  try {
    Owned found = f(PyTuple_GET_ITEM(args, 0), PyLong_AsSsize_t(PyTuple_GET_ITEM(args, 1)));
    if (found) return found.give();
    PyErr_SetString(PyExc_RuntimeError, "an iterator moved while a compiled function was called");
  } catch (const PythonError&) {
  }
  return nullptr;
}
PyObject* inner_of(PyObject*, PyObject* args) {
  return of_iterator(args, [](PyObject* iterator, Py_ssize_t i) {
    std::vector<Owned> inner = inner_iterators(iterator);
    return static_cast<size_t>(i) < inner.size() ? std::move(inner[static_cast<size_t>(i)]) : Owned();
  });
}
PyObject* iterated_by(PyObject*, PyObject* args) {
  return of_iterator(args, [](PyObject* iterator, Py_ssize_t) { return iterated(iterator); });
}
PyObject* ahead_of(PyObject*, PyObject* args) { return of_iterator(args, item_ahead); }

}  // namespace

Writer::Writer(const Code& like) {
  const auto slots = static_cast<size_t>(like.slots());
  for (size_t i = 0; i < like.locals.size(); ++i) {
    if (i < slots) {
      code_.locals.push_back(Owned::share(like.locals[i].get()));
      code_.kinds.push_back(0x20);
    } else if (like.kinds[i] & 0x80) {
      free_.push_back(Owned::share(like.locals[i].get()));
      free_kinds_.push_back(0x80);
    }
  }
  code_.argument_count = like.argument_count;
  code_.positional_only = like.positional_only;
  code_.keyword_only = like.keyword_only;
  code_.flags = like.flags;
  code_.first_line = like.first_line;
  code_.name = Owned::share(like.name.get());
  code_.qualified_name = Owned::share(like.qualified_name.get());
  code_.file = Owned::share(like.file.get());
  location.line = location.end_line = like.first_line;
  if (!free_.empty()) op(Op::copy_free_vars, static_cast<int>(free_.size()));
  op(Op::resume);
}

int Writer::constant_index(PyObject* object) {
  const auto [at, fresh] = constants_.try_emplace(object, static_cast<int>(code_.constants.size()));
  if (fresh) code_.constants.push_back(Owned::share(object));
  return at->second;
}
int Writer::name_index(PyObject* name) {
  const auto [at, fresh] = names_.try_emplace(name, static_cast<int>(code_.names.size()));
  if (fresh) code_.names.push_back(Owned::share(name));
  return at->second;
}
void Writer::constant(PyObject* object) { op(Op::load_const, constant_index(object)); }

int Writer::temporary() {
  code_.locals.push_back(text("___t" + std::to_string(temporaries_++)));
  code_.kinds.push_back(0x20);
  return static_cast<int>(code_.locals.size()) - 1;
}

void Writer::begin_call(PyObject* callee) {
  if (!null_is_above) op(Op::push_null);
  constant(callee);
  if (null_is_above) op(Op::push_null);
}
void Writer::begin_call_on_stack(PyObject* method) { load_name(Op::load_method, method); }

void Writer::source(const Sources& sources, SourceId id, PyObject* globals) {
  const Source& s = sources.all()[static_cast<size_t>(id)];
  const auto attribute = [&](const char* name) {
    source(sources, s.base, globals);
    const Owned key = Owned::take(PyUnicode_InternFromString(name));
    load_name(Op::load_attr, key.get());
  };
  const auto number = [&](int32_t n) {
    const Owned key = Owned::take(PyLong_FromLong(n));
    constant(key.get());
  };
  const auto item_of = [&](PyObject* dict) {
    constant(dict);
    constant(s.key);
    op(Op::subscript);
  };
  switch (s.step) {
    case Step::local:
      op(Op::load_fast, s.index);
      return;
    case Step::free_variable:
      free_cell(s.index);
      return;
    case Step::global:
      if (s.object == globals)
        load_name(Op::load_global, s.key);
      else
        item_of(s.object);
      return;
    case Step::builtin:
      item_of(s.object);
      return;
    case Step::constant:
      constant(s.object);
      return;
    case Step::class_item: {  // as it stands in the class: a descriptor would give something else
      static PyMethodDef method = {"class_item", class_item, METH_VARARGS, nullptr};
      static PyObject* const function = Owned::take(PyCFunction_New(&method, nullptr)).give();
      begin_call(function);
      source(sources, s.base, globals);
      constant(s.key);
      end_call(2);
      return;
    }
    case Step::attribute:
    case Step::instance_item:
      source(sources, s.base, globals);
      load_name(Op::load_attr, s.key);
      return;
    case Step::instance_dict:
      return attribute("__dict__");
    case Step::type:
      return attribute("__class__");
    case Step::item:
      source(sources, s.base, globals);
      constant(s.key);
      op(Op::subscript);
      return;
    case Step::key_at: {
      begin_call(reinterpret_cast<PyObject*>(&PyTuple_Type));
      source(sources, s.base, globals);
      end_call(1);
      number(s.index);
      op(Op::subscript);
      return;
    }
    case Step::element:
      source(sources, s.base, globals);
      number(s.index);
      op(Op::subscript);
      return;
    case Step::contents: {
      const Source& base = sources.all()[static_cast<size_t>(s.base)];
      if (base.step == Step::free_variable) return free_value(base.index);
      return attribute("cell_contents");
    }
    case Step::defaults:
      return attribute("__defaults__");
    case Step::keyword_defaults:
      return attribute("__kwdefaults__");
    case Step::closure:
      return attribute("__closure__");
    case Step::code:
      return attribute("__code__");
    case Step::globals:
      return attribute("__globals__");
    case Step::method_function:
      return attribute("__func__");
    case Step::method_self:
      return attribute("__self__");
    case Step::gradient:
      return attribute("grad");
    case Step::inner:
    case Step::iterated:
    case Step::ahead: {
      static PyMethodDef methods[] = {{"inner", inner_of, METH_VARARGS, nullptr},
                                      {"iterated", iterated_by, METH_VARARGS, nullptr},
                                      {"ahead", ahead_of, METH_VARARGS, nullptr}};
      static PyObject* const functions[] = {Owned::take(PyCFunction_New(&methods[0], nullptr)).give(),
                                            Owned::take(PyCFunction_New(&methods[1], nullptr)).give(),
                                            Owned::take(PyCFunction_New(&methods[2], nullptr)).give()};
      begin_call(functions[static_cast<int>(s.step) - static_cast<int>(Step::inner)]);
      source(sources, s.base, globals);
      number(s.index);
      end_call(2);
      return;
    }
  }
}

Owned Writer::finish() {
  const auto first_free = static_cast<int>(code_.locals.size());
  for (Instruction& in : code_.instructions) {
    if ((in.op == Op::load_closure || in.op == Op::load_deref || in.op == Op::store_deref ||
         in.op == Op::delete_deref) &&
        in.arg < 0)
      in.arg = first_free + (-1 - in.arg);
  }
  for (size_t i = 0; i < free_.size(); ++i) {
    code_.locals.push_back(Owned::share(free_[i].get()));
    code_.kinds.push_back(free_kinds_[i]);
  }
  return assemble(code_);
}

}  // namespace sconce::python::capture
