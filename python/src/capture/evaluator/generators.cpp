// Generators: a suspended frame behind an iterator of C, so that code of C (list, sum, zip) may use it up, lazily and in
// order. Iterators and callables that are written in Python have stand-ins for code of C, too.
//
// Note [Breaks through code of C]
// C++ exceptions must not pass through CPython. A Break inside of a stand-in is kept in Evaluator::interrupt, and an
// exception of Python takes its way; whoever called the code of C finds it there.
#include <exception>

#include "capture/bytecode/liveness.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/policy.h"
#include "capture/evaluator/stand_ins.h"
#include "capture/output/rebuild.h"

namespace sconce::python::capture {
namespace {

struct GeneratorStandIn {
  PyObject_HEAD Frame* frame;  // owned
  Evaluator* of;
  bool running, started;
};

void dealloc(PyObject* self) {
  auto* g = reinterpret_cast<GeneratorStandIn*>(self);
  if (PyObject_CallFinalizerFromDealloc(self) < 0) return;  // somebody holds it again
  if (g->of == Evaluator::current()) g->of->births.erase(self);
  delete g->frame;
  PyObject_Free(self);
}

template <class F>
PyObject* across(F&& f) {
  Evaluator* e = Evaluator::current();
  try {
    if (e == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "a generator outlived its capture");
      throw PythonError();
    }
    return f(*e);
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

void set_stop(PyObject* value) {
  const Owned stop = value == Py_None ? Owned::take(PyObject_CallNoArgs(PyExc_StopIteration))
                                      : Owned::take(PyObject_CallOneArg(PyExc_StopIteration, value));
  PyErr_SetObject(PyExc_StopIteration, stop.get());
}

PyObject* iternext(PyObject* self) {
  return across([&](Evaluator& e) -> PyObject* {
    Owned returned;
    Owned item = e.resume_generator(self, Py_None, returned);
    if (item) return item.give();
    if (returned.get() != Py_None) {
      const Owned stop = Owned::take(PyObject_CallOneArg(PyExc_StopIteration, returned.get()));
      PyErr_SetObject(PyExc_StopIteration, stop.get());
    }
    return nullptr;
  });
}
PyObject* send(PyObject* self, PyObject* value) {
  return across([&](Evaluator& e) -> PyObject* {
    if (!reinterpret_cast<GeneratorStandIn*>(self)->started && value != Py_None)
      raise(PyExc_TypeError, "can't send non-None value to a just-started generator");
    Owned returned;
    Owned item = e.resume_generator(self, value, returned);
    if (item) return item.give();
    set_stop(returned.get());
    return nullptr;
  });
}
// Does it stand at a yield from? Then what is thrown goes to the other iterator first.
bool delegates(const Frame& f) {
  const auto next = static_cast<size_t>(f.at) + 1;
  return next < f.code->instructions.size() && f.code->instructions[next].op == Op::resume &&
         (f.code->instructions[next].arg & 3) >= 2;
}
// Does it stand inside of a try, with or finally?
bool inside_try(const Frame& f) {
  // From 3.12 on the whole body has a handler, for StopIteration, and each yield from one that throws on.
  auto at = static_cast<size_t>(f.at);
  do {
    const int handler = f.code->instructions[at].handler;
    if (handler < 0) return false;
    at = static_cast<size_t>(f.code->handlers[static_cast<size_t>(handler)].target);
  } while (f.code->instructions[at].op == Op::cleanup_throw);
  return f.code->instructions[at].op != Op::stop_iteration_error;
}

bool is_left_inside(PyObject* object) {
  if (!is_generator(object)) return false;
  const auto* g = reinterpret_cast<GeneratorStandIn*>(object);
  return g->started && !g->running && !g->frame->finished && inside_try(*g->frame);
}

Owned thrown_into(Evaluator& e, PyObject* self, PyObject* error, Owned& returned) {
  auto* g = reinterpret_cast<GeneratorStandIn*>(self);
  if (!g->running && (!g->started || g->frame->finished)) {
    g->frame->finished = true;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
    throw PythonError();
  }
  if (delegates(*g->frame)) break_here(Reason::instruction, "an exception is thrown into a yield from");
  return e.resume_generator(self, Py_None, returned, error);
}
PyObject* throw_(PyObject* self, PyObject* args) {
  return across([&](Evaluator& e) -> PyObject* {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    if (!PyArg_UnpackTuple(args, "throw", 1, 3, &type, &value, &trace)) throw PythonError();
    Owned error;
    if (PyExceptionInstance_Check(type)) {
      if (value != nullptr && value != Py_None)
        raise(PyExc_TypeError, "instance exception may not have a separate value");
      error = Owned::share(type);
    } else if (PyExceptionClass_Check(type)) {
      if (is_heap_instance(type) && reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE)
        break_here(Reason::instruction, "a class of the program is thrown into a generator");
      error = value != nullptr && PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(type)) ? Owned::share(value)
              : value == nullptr || value == Py_None ? Owned::take(PyObject_CallNoArgs(type))
              : PyTuple_Check(value)                 ? Owned::take(PyObject_CallObject(type, value))
                                                     : Owned::take(PyObject_CallOneArg(type, value));
    } else {
      raise(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException, not %s",
            Py_TYPE(type)->tp_name);
    }
    Owned returned;
    Owned item = thrown_into(e, self, error.get(), returned);
    if (item) return item.give();
    set_stop(returned.get());
    return nullptr;
  });
}
PyObject* close(PyObject* self, PyObject*) {
  return across([&](Evaluator& e) -> PyObject* {
    auto* g = reinterpret_cast<GeneratorStandIn*>(self);
    if (!g->running && (!g->started || g->frame->finished || !inside_try(*g->frame))) {
      const bool hands_on = g->started && !g->frame->finished && delegates(*g->frame) && g->frame->stack.size() > 0;
      g->frame->finished = true;
      const Owned inner = hands_on ? Owned::share(g->frame->stack.top()) : Owned();
      if (inner && is_generator(inner.get())) {
        PyObject* closed = close(inner.get(), nullptr);
        if (closed == nullptr) throw PythonError();
        Py_DECREF(closed);
      }
      Py_RETURN_NONE;
    }
    const Owned exit = Owned::take(PyObject_CallNoArgs(PyExc_GeneratorExit));
    Owned item, returned;
    try {
      item = thrown_into(e, self, exit.get(), returned);
    } catch (const PythonError&) {
      if (e.interrupt || (!PyErr_ExceptionMatches(PyExc_GeneratorExit) && !PyErr_ExceptionMatches(PyExc_StopIteration)))
        throw;
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    if (item) raise(PyExc_RuntimeError, "generator ignored GeneratorExit");
    if (PY_VERSION_HEX >= 0x030d0000) return returned.give();
    Py_RETURN_NONE;
  });
}

// Note [Generators that die]
// A generator that nobody holds any more is closed, as CPython does it: what stands in its finally runs then. The evaluated
// program holds it as the real one would, so that this comes in its turn. Where an exception takes the frames away, or
// closing fails, it is a break. One that still lives when the code is written is a break in front of what made it.
void finalize(PyObject* self) {
  auto* g = reinterpret_cast<GeneratorStandIn*>(self);
  Evaluator* e = g->of;
  if (e != Evaluator::current() || e->frames.empty() || g->running || g->frame->finished) return;
  const auto leave = [&](const char* why) {
    if (!e->interrupt) e->interrupt = Break{Reason::escapes, why};
  };
  if (is_coroutine(self)) return leave("a coroutine that was not awaited");
  if (!g->started || !inside_try(*g->frame)) return;
  if (std::uncaught_exceptions() > 0) return leave("a generator that was left inside of a try");
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* closed = close(self, nullptr);
  if (closed == nullptr) {
    leave("a generator that fails when it is closed");
    PyErr_Clear();
  }
  Py_XDECREF(closed);
  PyErr_Restore(type, value, trace);
}

PyMethodDef methods[] = {{"send", send, METH_O, nullptr},
                         {"throw", throw_, METH_VARARGS, nullptr},
                         {"close", close, METH_NOARGS, nullptr},
                         {}};
PyTypeObject generator_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "generator";
  t.tp_basicsize = sizeof(GeneratorStandIn);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_dealloc = dealloc;
  t.tp_finalize = finalize;
  t.tp_iter = PyObject_SelfIter;
  t.tp_iternext = iternext;
  t.tp_methods = methods;
  return t;
}();

// Coroutines are generators that are awaited, and not gone through.
PyTypeObject coroutine_type = [] {
  PyTypeObject t = generator_type;
  t.tp_name = "coroutine";
  t.tp_iter = nullptr;
  t.tp_iternext = nullptr;
  return t;
}();

}  // namespace

// call(function, arguments, keywords)
static PyObject* call(PyObject*, PyObject* args) {
  return PyObject_Call(PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1), PyTuple_GET_ITEM(args, 2));
}

Owned call_of_generator(Evaluator& e, PyObject* generator) {
  const auto* g = reinterpret_cast<GeneratorStandIn*>(generator);
  if (is_coroutine(generator) || g->started || g->frame->finished || !g->frame->function) return {};
  const Frame& f = *g->frame;
  const Code& code = *f.code;
  size_t slot = 0;
  const auto argument = [&]() -> PyObject* {
    PyObject* value = f.fast[slot++];
    return value != nullptr && PyCell_Check(value) && is_cell_slot(code, static_cast<int>(slot) - 1)
               ? e.origins.cell_contents(value)
               : value;
  };
  const Owned positional = Owned::take(PyList_New(0)), named = Owned::take(PyDict_New());
  for (int i = 0; i < code.argument_count; ++i) {
    PyObject* value = argument();
    if (value == nullptr) return {};
    check(PyList_Append(positional.get(), value));
  }
  for (int i = 0; i < code.keyword_only; ++i) {
    PyObject* name = code.locals[slot].get();
    PyObject* value = argument();
    if (value == nullptr) return {};
    check(PyDict_SetItem(named.get(), name, value));
  }
  if (code.flags & CO_VARARGS) {
    PyObject* more = argument();
    if (more == nullptr || !PyTuple_CheckExact(more)) return {};
    check(PyList_SetSlice(positional.get(), PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, more));
  }
  if (code.flags & CO_VARKEYWORDS) {
    PyObject* more = argument();
    if (more == nullptr || !PyDict_CheckExact(more)) return {};
    check(PyDict_Update(named.get(), more));
  }
  static PyMethodDef definition = {"call", call, METH_VARARGS, nullptr};
  static PyObject* const function = Owned::take(PyCFunction_New(&definition, nullptr)).give();
  const Owned all = Owned::take(PyList_AsTuple(positional.get()));
  const Owned args = Owned::take(PyTuple_Pack(3, f.function.get(), all.get(), named.get()));
  return Owned::take(PyTuple_Pack(2, function, args.get()));
}

bool is_coroutine(PyObject* object) { return Py_IS_TYPE(object, &coroutine_type); }
bool is_generator(PyObject* object) { return Py_IS_TYPE(object, &generator_type) || is_coroutine(object); }

Owned Evaluator::make_generator(std::unique_ptr<Frame> frame) {
  static const bool ready = [] {
    for (PyTypeObject* type : {&generator_type, &coroutine_type}) {
      if (PyType_Ready(type) != 0) return false;
      for (const char* name : {"send", "throw", "close"})
        add_known(PyDict_GetItemString(type->tp_dict, name), Known{Treatment::blind, nullptr, false});
    }
    return true;
  }();
  if (!ready) throw PythonError();
  auto* g = PyObject_New(GeneratorStandIn, frame->code->flags & CO_COROUTINE ? &coroutine_type : &generator_type);
  if (g == nullptr) throw PythonError();
  g->frame = frame.release();
  g->of = this;
  g->running = g->started = false;
  Owned made = Owned::take(reinterpret_cast<PyObject*>(g));
  births.emplace(made.get(), frames.empty() ? 0 : frames.back()->step);  // not kept alive: it is closed when it dies
  return made;
}

void Evaluator::check_generators() {
  for (const auto& [object, step] : births) {
    if (!is_generator(object)) continue;
    const auto* g = reinterpret_cast<GeneratorStandIn*>(object);
    if (is_coroutine(object) && !g->frame->finished) throw Unrebuildable{object, "a coroutine that was not awaited"};
    if (is_left_inside(object)) throw Unrebuildable{object, "a generator that was left inside of a try"};
  }
}

Owned Evaluator::resume_generator(PyObject* object, PyObject* sent, Owned& returned, PyObject* thrown) {
  auto* g = reinterpret_cast<GeneratorStandIn*>(object);
  returned = Owned::share(Py_None);
  const bool coroutine = is_coroutine(object);
  if (g->running) raise(PyExc_ValueError, coroutine ? "coroutine already executing" : "generator already executing");
  Frame& f = *g->frame;
  if (f.finished && coroutine) raise(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
  if (f.finished) return {};
  struct Running {
    GeneratorStandIn* g;
    Evaluator& e;
    ~Running() {
      g->running = false;
      e.leave_handled(*g->frame);
    }
  } running{g, *this};
  enter_handled(f);
  g->running = true;
  g->started = true;
  const Owned kept_alive = Owned::share(object);
  f.back = frames.empty() ? nullptr : frames.back();
  Owned result;
  try {
    if (thrown != nullptr) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(thrown)), thrown);
      if (!unwind(f)) throw PythonError();
    } else {
      f.stack.push(Owned::share(sent));
      ++f.at;
    }
    result = run(f);
  } catch (const PythonError&) {
    f.finished = true;
    for (size_t i = 0; i < f.fast.size(); ++i)  // lives as long as the exception, whose traceback has this frame
      if (f.fast[i] != nullptr && is_left_inside(f.fast[i]) && !interrupt)
        interrupt = Break{Reason::escapes, "a generator that was left inside of a try"};
    if (!interrupt &&
        PyErr_ExceptionMatches(PyExc_StopIteration)) {  // PEP 479, where the bytecode does not do it (3.11)
      PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
      PyErr_Fetch(&type, &value, &trace);
      PyErr_NormalizeException(&type, &value, &trace);
      PyErr_SetString(PyExc_RuntimeError,
                      coroutine ? "coroutine raised StopIteration" : "generator raised StopIteration");
      PyObject *t = nullptr, *v = nullptr, *tb = nullptr;
      PyErr_Fetch(&t, &v, &tb);
      PyErr_NormalizeException(&t, &v, &tb);
      PyException_SetCause(v, Py_NewRef(value));
      PyException_SetContext(v, Py_NewRef(value));
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
      PyErr_Restore(t, v, tb);
    }
    throw;
  } catch (...) {
    f.finished = true;
    throw;
  }
  if (f.yielded) return result;
  f.finished = true;
  returned = std::move(result);
  return {};
}

Evaluator::Next Evaluator::step_generators(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  switch (in.op) {
    case Op::return_generator:
      s.push(Owned::share(Py_None));
      return Next::returned;
    case Op::yield_value:
      f.yielded = true;
      return Next::returned;
    case Op::get_awaitable: {
      if (is_coroutine(s.top())) return Next::go_on;
      Owned method = is_heap_instance(s.top()) ? special(s.top(), "__await__") : Owned();
      if (!method || !PyMethod_Check(method.get())) break_here(Reason::asynchronous);
      s.set_top(0, call(method.get(), {}));
      if (is_coroutine(s.top())) raise(PyExc_TypeError, "__await__() returned a coroutine");
      if (Py_TYPE(s.top())->tp_iternext == nullptr)
        raise(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'", Py_TYPE(s.top())->tp_name);
      return Next::go_on;
    }
    case Op::before_async_with: {
      const Owned manager = s.pop();
      Owned enter = special(manager.get(), "__aenter__"), exit = special(manager.get(), "__aexit__");
      if (!enter || !exit) break_here(Reason::asynchronous);
      s.push(std::move(exit));
      s.push(call(enter.get(), {}));
      return Next::go_on;
    }
    case Op::get_yield_from_iter:
      if (!is_generator(s.top())) s.set_top(0, iterate(s.top()));
      return Next::go_on;
    case Op::send: {
      const Owned value = s.pop();
      PyObject* receiver = s.top();
      Owned item, returned = Owned::share(Py_None);
      if (is_generator(receiver)) {
        item = resume_generator(receiver, value.get(), returned);
      } else if (value.get() == Py_None) {
        try {
          if (is_heap_instance(receiver) || origins.outside(receiver)) {
            static PyObject* const name = interned("__next__");
            const Owned method = python_special(receiver, name);
            if (!method) break_here(Reason::unknown_object, "yield from an iterator from outside");
            item = call(method.get(), {});
          } else {
            PyObject* got = Py_TYPE(receiver)->tp_iternext(receiver);
            if (got == nullptr && PyErr_Occurred()) throw PythonError();
            if (got != nullptr) item = canonical(Owned::take(got));
          }
        } catch (const PythonError&) {
          if (interrupt || !PyErr_ExceptionMatches(PyExc_StopIteration)) throw;
          PyObject *type = nullptr, *stop = nullptr, *trace = nullptr;
          PyErr_Fetch(&type, &stop, &trace);
          PyErr_NormalizeException(&type, &stop, &trace);
          const Owned kept_stop = Owned::take(stop);
          returned = Owned::take(PyObject_GetAttrString(stop, "value"));
          Py_XDECREF(type);
          Py_XDECREF(trace);
        }
      } else {
        static PyObject* const name = interned("send");
        const Owned method = get_attribute(receiver, name);
        item = call(method.get(), Arguments::of({value.get()}));
      }
      if (item) {
        s.push(std::move(item));
        return Next::go_on;
      }
      if (PY_VERSION_HEX < 0x030c0000) s.pop();
      s.push(std::move(returned));
      f.at = in.target;
      return Next::jumped;
    }
    case Op::end_send: {
      Owned value = s.pop();
      s.set_top(0, std::move(value));
      return Next::go_on;
    }
    case Op::stop_iteration_error: {  // PEP 479
      PyObject* error = s.top();
      if (PyErr_GivenExceptionMatches(error, PyExc_StopIteration)) {
        const bool coroutine = (f.code->flags & CO_COROUTINE) != 0;
        Owned other = Owned::take(PyObject_CallFunction(
            PyExc_RuntimeError, "s", coroutine ? "coroutine raised StopIteration" : "generator raised StopIteration"));
        PyException_SetCause(other.get(), Py_NewRef(error));
        PyException_SetContext(other.get(), Py_NewRef(error));
        s.set_top(0, std::move(other));
      }
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction, "an exception is thrown into a generator");
  }
}

}  // namespace sconce::python::capture
