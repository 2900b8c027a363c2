#include "capture/graph/call_log.h"

#include "capture/graph/python_call.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python::capture {
namespace {

// The same nest with lists and dicts of its own.
Owned snapshot(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(object);
    Owned made = Owned::take(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(made.get(), i, snapshot(PyTuple_GET_ITEM(object, i)).give());
    return made;
  }
  if (PyList_CheckExact(object)) {
    const Py_ssize_t n = PyList_GET_SIZE(object);
    Owned made = Owned::take(PyList_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyList_SET_ITEM(made.get(), i, snapshot(PyList_GET_ITEM(object, i)).give());
    return made;
  }
  if (PyDict_CheckExact(object)) return Owned::take(PyDict_Copy(object));
  return Owned::share(object);
}

Owned tuple_of(const std::vector<Value>& values, const std::vector<Argument>& types) {
  Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(values[i], types[i].type).give());
  return tuple;
}

}  // namespace

void CallLog::add_input(const std::string& name, PyObject* fake, PyObject* original) {
  Owned weak = Owned::take(PyWeakref_NewRef(original, nullptr));  // a graph does not keep the tensors of its first call
  entries_.push_back({Entry::Kind::input, name, std::move(weak), {}, {}, Owned::share(fake), nullptr, {}, {}});
}
void CallLog::add_number(const std::string& name, PyObject* symbol, PyObject* number) {
  entries_.push_back({Entry::Kind::input, name, Owned::share(number), {}, {}, Owned::share(symbol), nullptr, {}, {}});
}
void CallLog::drop_input(PyObject* fake) {
  std::erase_if(entries_, [&](const Entry& e) { return e.kind == Entry::Kind::input && e.result.get() == fake; });
}
std::unordered_set<const TensorImpl*> CallLog::used_tensors() const {
  std::unordered_set<const TensorImpl*> used;
  const auto add = [&](PyObject* o) {
    if (is_tensor(o)) used.insert(tensor_of(o).impl());
  };
  const auto add_value = [&](const auto& self, const Value& v) -> void {
    if (v.is_tensor())
      used.insert(v.to_tensor().impl());
    else if (v.is_list())
      for (size_t i = 0; i < v.to_list().size(); ++i) self(self, v.to_list().get(i));
  };
  for (const Entry& e : entries_) {
    if (e.kind == Entry::Kind::input) continue;
    for (const Owned* held : {&e.args, &e.kwargs, &e.result})
      if (*held) each_leaf(held->get(), add);
    for (const Value& v : e.values) add_value(add_value, v);
    for (const Value& v : e.returns) add_value(add_value, v);
  }
  return used;
}
void CallLog::add_held(PyObject* fake, PyObject* original) {
  entries_.push_back({Entry::Kind::held, {}, Owned::share(original), {}, {}, Owned::share(fake), nullptr, {}, {}});
}

void CallLog::add_call(PyObject* target, std::span<PyObject* const> args, PyObject* names, PyObject* result) {
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0, n = args.size() - named;
  Owned positional = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(n)));
  for (size_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), snapshot(args[i]).give());
  Owned kwargs;
  if (named) {
    kwargs = Owned::take(PyDict_New());
    for (size_t i = 0; i < named; ++i)
      check(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)),
                           snapshot(args[n + i]).get()));
  }
  entries_.push_back({Entry::Kind::call,
                      {},
                      Owned::share(target),
                      std::move(positional),
                      std::move(kwargs),
                      snapshot(result),
                      nullptr,
                      {},
                      {}});
}

void CallLog::add_operator(const Op& op, std::vector<Value> args, std::vector<Value> returns) {
  entries_.push_back({Entry::Kind::operator_, {}, {}, {}, {}, {}, &op, std::move(args), std::move(returns)});
}

CallLog CallLog::take_calls(size_t from) {
  CallLog taken;
  size_t kept = from;
  for (size_t i = from; i < entries_.size(); ++i) {
    const bool stays = entries_[i].kind == Entry::Kind::input || entries_[i].kind == Entry::Kind::held;
    if (!stays)
      taken.entries_.push_back(std::move(entries_[i]));
    else if (kept++ != i)
      entries_[kept - 1] = std::move(entries_[i]);
  }
  entries_.resize(kept);
  return taken;
}
void CallLog::append(CallLog more) {
  for (Entry& e : more.entries_) entries_.push_back(std::move(e));
}

// The program's tensor while it lives, then the fake.
PyObject* CallLog::original_of(const Entry& e) {
  if (!PyWeakref_Check(e.target.get())) return e.target.get();  // a number
  PyObject* original = PyWeakref_GET_OBJECT(e.target.get());
  return original == Py_None ? e.result.get() : original;
}

Owned CallLog::entries() const {
  Owned list = Owned::take(PyList_New(0));
  for (const Entry& e : entries_) {
    Owned row;
    switch (e.kind) {
      case Entry::Kind::input:
        row = Owned::take(Py_BuildValue("(ssOO)", "input", e.name.c_str(), e.result.get(), original_of(e)));
        break;
      case Entry::Kind::held:
        row = Owned::take(Py_BuildValue("(sOO)", "held", e.result.get(), e.target.get()));
        break;
      case Entry::Kind::call:
        row = Owned::take(Py_BuildValue("(sOOOO)", "call", e.target.get(), e.args.get(),
                                        e.kwargs ? e.kwargs.get() : Py_None, e.result.get()));
        break;
      case Entry::Kind::operator_:
        row = Owned::take(Py_BuildValue("(ssOO)", "operator", e.op->qualified_name().c_str(),
                                        tuple_of(e.values, e.op->schema().arguments).get(),
                                        tuple_of(e.returns, e.op->schema().returns).get()));
        break;
    }
    check(PyList_Append(list.get(), row.get()));
  }
  return list;
}

}  // namespace sconce::python::capture
