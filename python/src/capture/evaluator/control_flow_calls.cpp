// Doors of sconce/_polyfills/of_control_flow.py: branches and bodies of cond, while_loop, map and scan are evaluated
// one after the other, whichever will run, and become graphs of their own. So they must not leave anything behind but
// their results: a break in one, an exception, or a write to what was there before is a break at the operator itself.
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/policy.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

// What a part could write to without anybody noticing: objects of the program, made before, that its closure holds.
class Contents {
 public:
  // False: it leads to an object whose contents cannot be noted.
  bool add(Evaluator& e, PyObject* o, int depth = 0) {
    if (e.recorder.is_fake(o) || is_immutable(o) || PyType_Check(o) || PyModule_Check(o)) return true;
    if (depth > 10) return false;
    if (PyMethod_Check(o))
      return add(e, PyMethod_GET_FUNCTION(o), depth + 1) && add(e, PyMethod_GET_SELF(o), depth + 1);
    if (PyFunction_Check(o)) {
      PyObject* closure = PyFunction_GET_CLOSURE(o);
      for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); ++i) {
        PyObject* held = e.origins.cell_contents(PyTuple_GET_ITEM(closure, i));
        if (held != nullptr && !add(e, held, depth + 1)) return false;
      }
      return true;
    }
    if (e.origins.outside(o)) return true;  // writes to those are counted
    for (const auto& [one, copy] : noted_)
      if (one == o) return true;
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o) && !PyDict_CheckExact(o)) return false;
    noted_.emplace_back(o, copy_of(o));
    bool all = true;
    for_items(o, [&](PyObject* item) { all = all && add(e, item, depth + 1); });
    return all;
  }
  // Do they hold what they held?
  bool same() const {
    for (const auto& [object, then] : noted_) {
      std::vector<PyObject*> now, before;
      for_items(object, [&](PyObject* item) { now.push_back(item); });
      for_items(then.get(), [&](PyObject* item) { before.push_back(item); });
      if (now != before) return false;
    }
    return true;
  }

 private:
  static Owned copy_of(PyObject* o) {
    return PyDict_CheckExact(o) ? Owned::take(PyDict_Copy(o)) : Owned::take(PySequence_Tuple(o));
  }
  template <class F>
  static void for_items(PyObject* o, F&& f) {
    if (PyDict_CheckExact(o)) {
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) {
        f(key);
        f(value);
      }
      return;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) f(PySequence_Fast_GET_ITEM(o, i));
  }
  std::vector<std::pair<PyObject*, Owned>> noted_;
};

// What the cells of a function's closure hold, and those of functions in them. Borrowed.
void add_contents(Evaluator& e, PyObject* function, std::vector<PyObject*>& all, int depth = 0) {
  if (PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
  PyObject* closure = PyFunction_Check(function) && depth < 10 ? PyFunction_GET_CLOSURE(function) : nullptr;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* held = e.origins.cell_contents(PyTuple_GET_ITEM(closure, i));
    all.push_back(held);
    if (held != nullptr) add_contents(e, held, all, depth + 1);
  }
}

void add_leaves(PyObject* o, std::vector<PyObject*>& all) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add_leaves(PySequence_Fast_GET_ITEM(o, i), all);
  } else if (PyDict_Check(o)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) add_leaves(value, all);
  } else {
    all.push_back(o);
  }
}

// record_parts([(function, args), ...], operands) -> (graphs, lifted, results)
Owned record_parts(Evaluator& e, PyObject*, Arguments& args) {
  std::vector<PyObject*> operands;
  add_leaves(args[1], operands);
  e.recorder.open_parts();
  const Py_ssize_t n = PyList_GET_SIZE(args[0]);
  const Owned results = Owned::take(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* pair = PyList_GET_ITEM(args[0], i);
    PyObject *function = PyTuple_GET_ITEM(pair, 0), *given = PyTuple_GET_ITEM(pair, 1);
    Contents held;
    if (!held.add(e, function))
      break_here(Reason::unknown_object, "a branch or body of control flow that could change an object of the program");
    e.recorder.begin_part();
    const Origins::Written before = e.origins.written();
    std::vector<PyObject*> cells, cells_after;
    add_contents(e, function, cells);
    Arguments values;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(given); ++k)
      values.values.push_back(Owned::share(PyTuple_GET_ITEM(given, k)));
    Owned result;
    try {
      result = e.call(function, std::move(values));
    } catch (const PythonError&) {
      PyErr_Clear();  // whoever calls it in earnest sees it
      break_here(Reason::exception, "in a branch or body of control flow");
    }
    add_contents(e, function, cells_after);
    if (cells != cells_after || !held.same() || !e.origins.same(before))
      break_here(Reason::mutation, "a branch or body of control flow that writes to what was there before");
    std::vector<PyObject*> outputs;
    add_leaves(result.get(), outputs);
    e.recorder.end_part(outputs);
    PyTuple_SET_ITEM(results.get(), i, result.give());
  }
  std::vector<Owned> lifted;
  const std::vector<Owned> graphs = e.recorder.make_parts(operands, lifted);
  const auto listed = [](const std::vector<Owned>& all) {
    Owned made = Owned::take(PyList_New(0));
    for (const Owned& o : all) check(PyList_Append(made.get(), o.get()));
    return made;
  };
  const Owned graph_list = listed(graphs), lifted_list = listed(lifted);
  for (const Owned& graph : graphs)
    e.origins.enter(graph.get(), e.origins.sources().add(Step::constant, kNoSource, 0, nullptr, graph.get()))
        .identity_guarded = true;
  return Owned::take(PyTuple_Pack(3, graph_list.get(), lifted_list.get(), results.get()));
}

// emit(operator, args, results): the node.
Owned emit(Evaluator& e, PyObject*, Arguments& args) {
  std::vector<PyObject*> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) given.push_back(PyTuple_GET_ITEM(args[1], i));
  e.recorder.call_in_turn(args[0], given, nullptr, args[2]);
  return Owned::share(Py_None);
}

template <Owned (Recorder::*make)(PyObject*, std::span<PyObject* const>)>
Owned unrecorded(Evaluator& e, PyObject*, Arguments& args) {
  const std::vector<PyObject*> all = args.pointers();
  return (e.recorder.*make)(all[0], std::span(all).subspan(1));
}

// draws(graph)
Owned draws(Evaluator& e, PyObject*, Arguments& args) {
  return Owned::share(e.recorder.draws(args[0]) ? Py_True : Py_False);
}

}  // namespace

void add_control_flow_calls() {
  const auto add = [](const char* name, CallHandler handler) {
    add_known("sconce._polyfills.of_control_flow", name, Known{Treatment::handler, handler, false});
  };
  add("record_parts", record_parts);
  add("emit", emit);
  add("draws", draws);
  add("placeholder", unrecorded<&Recorder::placeholder>);
  add("pending", unrecorded<&Recorder::pending>);
}

}  // namespace sconce::python::capture
