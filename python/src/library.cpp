#include "library.h"

#include <map>

#include "sconce/base/error.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"
#include "values.h"

namespace sconce::python {
namespace {

// The functions behind keys of operators. Touched under Python's lock only.
std::map<std::pair<const Op*, int>, Kept>& kernels() {
  static auto& table = *new std::map<std::pair<const Op*, int>, Kept>;
  return table;
}

// Arguments as the schema has them: positional ones in a tuple, those that are keyword only in a dict.
Owned call_with_values(PyObject* function, const Schema& schema, const Value* args) {
  const auto is_positional = [](const Argument& a) { return !a.keyword_only; };
  const auto positional = std::count_if(schema.arguments.begin(), schema.arguments.end(), is_positional);
  const Owned tuple = Owned::take(PyTuple_New(positional));
  Owned named;
  Py_ssize_t next = 0;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    Owned object = object_of(args[i], argument.type);
    if (is_positional(argument)) {
      PyTuple_SET_ITEM(tuple.get(), next++, object.give());
    } else {
      if (!named) named = Owned::take(PyDict_New());
      check(PyDict_SetItem(named.get(), text(argument.name).get(), object.get()));
    }
  }
  return Owned::take(PyObject_Call(function, tuple.get(), named.get()));
}

void take_result(const Op& op, Key key, PyObject* object, const Argument& result, Value& out) {
  SCONCE_CHECK_AS(type, convert(object, result.type, result.fixed_size, out),
                  "{}: the kernel for {} returned {}, the schema says {}", op.qualified_name(), key_name(key),
                  class_name(object), type_text(result.type));
}

// A trace has the operator itself, not what its function calls.
template <int kKey>
void run_function(const Op& op, KeySet, Value* args, Value* returns) {
  constexpr Key kOwn = static_cast<Key>(kKey);
  const ModeGuard untraced({}, Key::tracer);
  call_python([&] {
    const Schema& schema = op.schema();
    const Kept function = kernels().at({&op, kKey});
    const Owned result = call_with_values(function.get(), schema, args);
    const size_t count = schema.returns.size();
    if (count == 0) {
      SCONCE_CHECK(result.get() == Py_None, "Expected {} to return None but it returned something else instead.",
                   op.qualified_name());
    } else if (count == 1) {
      take_result(op, kOwn, result.get(), schema.returns[0], returns[0]);
    } else {
      const bool fits = PyTuple_Check(result.get()) && PyTuple_GET_SIZE(result.get()) == static_cast<Py_ssize_t>(count);
      SCONCE_CHECK(fits, "{}: the kernel for {} returned {}, a tuple of {} was expected", op.qualified_name(),
                   key_name(kOwn), class_name(result.get()), count);
      for (size_t i = 0; i < count; ++i)
        take_result(op, kOwn, PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i)), schema.returns[i],
                    returns[i]);
    }
    // The function may have written by other means than operators, which count for themselves.
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      if (!schema.arguments[i].alias || !schema.arguments[i].alias->write) continue;
      if (args[i].is_tensor()) args[i].to_tensor().bump_version();
      if (!args[i].is_list()) continue;
      for (const Tensor& t : args[i].to_list().tensors()) t.bump_version();
    }
  });
}

BoxedKernel runner(Key key) {
  switch (key) {
    case Key::cpu:
      return run_function<static_cast<int>(Key::cpu)>;
    case Key::cuda:
      return run_function<static_cast<int>(Key::cuda)>;
    case Key::meta:
      return run_function<static_cast<int>(Key::meta)>;
    case Key::autograd:
      return run_function<static_cast<int>(Key::autograd)>;
    default:
      fail_as(ErrorKind::not_implemented, "functions of Python cannot be kernels for {}", key_name(key));
  }
}

Key key_of(std::string_view name) {
  for (const Key key : {Key::cpu, Key::cuda, Key::meta, Key::autograd}) {
    if (key_name(key) == name) return key;
  }
  fail_as(ErrorKind::value, "there are no kernels of Python for '{}'", name);
}

Op& op_of(PyObject* name) {
  const Op* op = find_op(text_of(name));
  SCONCE_CHECK(op, "operator {} does not exist", text_of(name));
  return const_cast<Op&>(*op);
}

// _define_operator(namespace, schema, doc): its qualified name.
PyObject* define_operator(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *space = nullptr, *schema = nullptr, *doc = nullptr;
    if (!PyArg_ParseTuple(args, "UUU", &space, &schema, &doc)) throw PythonError();
    std::vector<Library> libraries;
    libraries.emplace_back(text_of(space), true, "Python");
    libraries[0].def(text_of(schema), text_of(doc));
    commit(libraries);
    const Schema parsed = parse_schema(std::string(text_of(space)) + "::" + std::string(text_of(schema)));
    return text(parsed.qualified_name()).give();
  });
}

// Kernels that others took the place of: what _restore_kernel puts back.
struct Replaced {
  Op* op;
  Key key;
  const char* kernel;
  Kept function;
};
std::vector<Replaced>& replaced() {
  static auto& list = *new std::vector<Replaced>;
  return list;
}
// _set_kernel(operator, key, function): None takes the kernel of the key away. A number for _restore_kernel.
PyObject* set_kernel(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *name = nullptr, *key_text = nullptr, *function = nullptr;
    if (!PyArg_ParseTuple(args, "UUO", &name, &key_text, &function)) throw PythonError();
    Op& op = op_of(name);
    const Key key = key_of(text_of(key_text));
    Kept& kept = kernels()[{&op, static_cast<int>(key)}];
    replaced().push_back({&op, key, nullptr, std::exchange(kept, keep(function))});
    replaced().back().kernel = op.set_kernel(key, function == Py_None ? nullptr : SCONCE_BOXED_KERNEL(runner(key)));
    return PyLong_FromSize_t(replaced().size() - 1);
  });
}
PyObject* restore_kernel(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const size_t i = PyLong_AsSize_t(number);
    if (PyErr_Occurred()) throw PythonError();
    SCONCE_CHECK_AS(index, i < replaced().size(), "no kernel was replaced with the number {}", i);
    const Replaced& before = replaced()[i];
    before.op->set_kernel(before.key, before.kernel);
    kernels()[{before.op, static_cast<int>(before.key)}] = before.function;
    Py_RETURN_NONE;
  });
}
// _has_kernel(operator, key)
PyObject* has_kernel(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *name = nullptr, *key_text = nullptr;
    if (!PyArg_ParseTuple(args, "UU", &name, &key_text)) throw PythonError();
    return PyBool_FromLong(op_of(name).has_kernel(key_of(text_of(key_text))));
  });
}

// _operator_schema(operator): None when there is no such operator, else its text and its arguments, each as (name, type,
// keyword only?, written?).
PyObject* operator_schema(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const Op* op = find_op(text_of(name));
    if (!op) Py_RETURN_NONE;
    const Schema& schema = op->schema();
    const auto described = [](const std::vector<Argument>& arguments) {
      Owned list = Owned::take(PyList_New(0));
      for (const Argument& a : arguments) {
        const std::string type = a.type->to_string();
        const Owned item =
            Owned::take(Py_BuildValue("(s#s#OO)", a.name.data(), static_cast<Py_ssize_t>(a.name.size()), type.data(),
                                      static_cast<Py_ssize_t>(type.size()), a.keyword_only ? Py_True : Py_False,
                                      a.alias && a.alias->write ? Py_True : Py_False));
        check(PyList_Append(list.get(), item.get()));
      }
      return list;
    };
    const Owned whole = text(schema.to_string()), arguments = described(schema.arguments),
                returns = described(schema.returns);
    return PyTuple_Pack(3, whole.get(), arguments.get(), returns.get());
  });
}

PyMethodDef functions[] = {
    {"_define_operator", define_operator, METH_VARARGS, nullptr}, {"_set_kernel", set_kernel, METH_VARARGS, nullptr},
    {"_restore_kernel", restore_kernel, METH_O, nullptr},         {"_has_kernel", has_kernel, METH_VARARGS, nullptr},
    {"_operator_schema", operator_schema, METH_O, nullptr},       {}};

}  // namespace

void add_library(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace sconce::python
