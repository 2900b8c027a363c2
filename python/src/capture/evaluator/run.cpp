#include <cstdarg>

#include "capture/evaluator/evaluator.h"
#include "capture/graph/sym_int.h"
#include "tensor_object.h"

#include <frameobject.h>

namespace sconce::python::capture {
namespace {
[[gnu::tls_model("initial-exec")]] constinit thread_local Evaluator* active = nullptr;

// The exception that is set, as an object; the indicator is clear then.
Owned take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
  return Owned::take(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Owned::take(value);
#endif
}
}  // namespace

PyObject* interned(const char* text) { return Owned::take(PyUnicode_InternFromString(text)).give(); }

void break_here(Reason reason, std::string detail) { throw Break{reason, std::move(detail)}; }

void raise(PyObject* type, const char* format, ...) {
  va_list args;
  va_start(args, format);
  PyErr_FormatV(type, format, args);
  va_end(args);
  throw PythonError();
}

PyObject* Arguments::keyword(const char* text) const {
  for (size_t i = 0; i < named(); ++i) {
    if (PyUnicode_CompareWithASCIIString(name(i), text) == 0) return values[positional() + i].get();
  }
  return nullptr;
}

Evaluator::Evaluator(const EvaluateOptions& given, Sources& sources, Recorder& given_recorder,
                     PyFunctionObject* function)
    : origins(sources, given_recorder),
      recorder(given_recorder),
      options(given),
      function_(function),
      before_(std::exchange(active, this)) {
  number_is_wanted = [] {
    active->interrupt = Break{Reason::data_dependent, "a value that is known when the graph has run"};
    PyErr_SetString(PyExc_RuntimeError, "capture ends here");
  };
  if (PyObject* handled = PyErr_GetHandledException()) handled_before_ = Owned::take(handled);
  handled_ = Owned::share(handled_mark());
}
Evaluator::~Evaluator() {
  active = before_;
  PyErr_SetHandledException(handled_before_ ? handled_before_.get() : nullptr);
}
Evaluator* Evaluator::current() { return active; }

void Evaluator::born(PyObject* object) {
  births.emplace(object, frames.empty() ? 0 : frames.back()->step);
  kept.push_back(Owned::share(object));  // so that its address stays its own
}

Owned Evaluator::run(Frame& f) {
  struct Entered {
    Evaluator& e;
    CallbackScope* callbacks;
    ~Entered() {
      e.frames.pop_back();
      e.callbacks = callbacks;
    }
  } entered{*this, std::exchange(callbacks, nullptr)};
  frames.push_back(&f);
  if (frames.size() > 1000) {  // Python's own limit is 1000, too
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    throw PythonError();
  }
  f.yielded = false;
  if (f.first == 0) f.first = steps + 1;
  const std::vector<Instruction>& code = f.code->instructions;
  for (;;) {
    const Instruction& in = code[static_cast<size_t>(f.at)];
    f.step = ++steps;
    if (loop_ahead && f.first == loop_ahead->frame && loop_ahead->members[static_cast<size_t>(f.at)]) {
      const LoopAhead& l = *loop_ahead;
      leaves_loop = !is_worth_break(l.nodes - recorder.node_count(), l.elements - recorder.element_count() + l.behind);
      loop_ahead.reset();
      if (leaves_loop) stop_at = steps;
    }
    if (steps == stop_at) {
      if (break_step() == steps) {
        on_stop();
        throw Stopped();
      }
      const Break b{Reason::forced, {}};
      if (on_break) std::exchange(on_break, nullptr)(b);
      throw b;
    }
    if (steps > options.most_steps) break_here(Reason::limit, std::to_string(options.most_steps) + " instructions");
    Next next = Next::go_on;
    try {
      next = step(f, in);
      if (next == Next::returned && in.op == Op::return_value) f.fast.clear();
      if (interrupt) throw Break(*std::exchange(interrupt, std::nullopt));  // Note [Generators that die]
    } catch (const Break& b) {
      if (on_break) std::exchange(on_break, nullptr)(b);
      throw;
    } catch (const NotRecordable& n) {
      const Break b{n.needs_data ? Reason::data_dependent : Reason::unknown_callable, n.reason};
      if (on_break) std::exchange(on_break, nullptr)(b);
      throw b;
    } catch (const PythonError&) {
      if (interrupt) {
        PyErr_Clear();
        const Break b(*std::exchange(interrupt, std::nullopt));
        if (on_break) std::exchange(on_break, nullptr)(b);
        throw b;
      }
      note_raised();
      if (!unwind(f)) throw;
      continue;
    }
    if (next == Next::go_on) {
      ++f.at;
    } else if (next == Next::returned) {
      return f.stack.pop();
    }
  }
}

void check_overwritten(PyObject* object) {
  if (object == nullptr || !PyGen_CheckExact(object)) return;
  static PyObject* const suspended = interned("gi_suspended");
  if (Owned::take(PyObject_GetAttr(object, suspended)).get() == Py_True)
    break_here(Reason::unknown_object, "a generator from outside loses its variable");
}

bool reads_frame(const Code& code) {
  for (const Instruction& in : code.instructions) {
    const bool global = in.op == Op::load_global || in.op == Op::load_name;
    if (!global && in.op != Op::load_attr && in.op != Op::load_method) continue;
    const std::string_view name = text_of(code.names[static_cast<size_t>(in.arg)].get());
    if (global && (name == "locals" || name == "eval" || name == "exec" || name == "vars" || name == "dir"))
      return true;
    if (name == "_getframe" || name == "currentframe") return true;
  }
  return false;
}

// Is the code of the standard library, but for its tests?
static bool is_of_library(const Code& code) {
  static const std::string folder = [] {
    const Owned module = Owned::take(PyImport_ImportModule("os"));
    const Owned file = Owned::take(PyObject_GetAttrString(module.get(), "__file__"));
    const std::string path(text_of(file.get()));
    return path.substr(0, path.rfind('/') + 1);
  }();
  const std::string_view file = text_of(code.file.get());
  if (folder.empty() || !file.starts_with(folder)) return false;
  const std::string_view inside = file.substr(folder.size());
  return !inside.starts_with("site-packages/") && !inside.starts_with("test/");
}

int64_t Evaluator::break_step() const {
  // While a value lies where resumed code has a cell, no code can be resumed.
  const auto has_value_in_cell = [](const Frame& f) {
    for (size_t i = 0; i < f.fast.size() && f.aside > 0; ++i) {
      if ((f.code->kinds[i] & 0xc0) && f.fast[i] != nullptr && !PyCell_Check(f.fast[i])) return true;
    }
    return false;
  };
  const size_t count = resumable_frames();
  for (size_t i = 0; i < count; ++i) {
    if (has_value_in_cell(*frames[i])) return frames[i]->aside;
  }
  return frames[count - 1]->step;
}

size_t Evaluator::resumable_frames() const {
  size_t count = 1;
  for (; count < frames.size(); ++count) {
    const Frame &waiting = *frames[count - 1], &inner = *frames[count];
    const Op op = waiting.code->instructions[static_cast<size_t>(waiting.at)].op;
    if (!inner.plain || inner.names || (op != Op::call && op != Op::call_function_ex)) break;
    // Instructions in front of the body make cells: nothing can be resumed there.
    const Op first = inner.code->instructions[static_cast<size_t>(inner.at)].op;
    if (inner.at == 0 || first == Op::copy_free_vars || first == Op::resume || first == Op::make_cell) break;
    if (reads_frame(*inner.code)) break;
  }
  // The rest of a function of the standard library would hold no graph: the call that led there is Python's.
  while (count > 1 && is_of_library(*frames[count - 1]->code)) --count;
  return count;
}

int64_t Evaluator::raised_at(int64_t otherwise) {
  const Owned error = take_exception();
  const auto at = raises.find(error.get());
  return at == raises.end() ? otherwise : at->second;
}

// Of the outermost frame, not of the one that raises: the call that leads there is then made by Python, and the traceback
// has all the frames in between.
void Evaluator::note_raised() {
  const Owned error = take_exception();
  if (raises.try_emplace(error.get(), frames.empty() ? break_step() : frames.front()->step).second)
    kept.push_back(Owned::share(error.get()));
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(Py_NewRef(error.get()));
#else
  PyErr_Restore(Py_NewRef(Py_TYPE(error.get())), Py_NewRef(error.get()), PyException_GetTraceback(error.get()));
#endif
}

Owned Evaluator::traceback_of(PyObject* error) {
  if (PyObject* there = PyException_GetTraceback(error)) return Owned::take(there);
  Frame& f = *frames.back();
  const Owned frame = Owned::take(reinterpret_cast<PyObject*>(
      PyFrame_New(PyThreadState_Get(), reinterpret_cast<PyCodeObject*>(f.code->original), f.globals, nullptr)));
  const int line = f.code->instructions[static_cast<size_t>(f.at)].location.line;
  const Owned made = Owned::take(
      PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOii", Py_None, frame.get(), 0, line));
  check(PyException_SetTraceback(error, made.get()));
  return Owned::share(made.get());
}

bool Evaluator::unwind(Frame& f) {
  const int handler = f.code->instructions[static_cast<size_t>(f.at)].handler;
  if (handler < 0) return false;
  const Handler& h = f.code->handlers[static_cast<size_t>(handler)];
  Owned error = take_exception();
  f.stack.cut(static_cast<size_t>(h.depth));
  if (h.push_lasti) f.stack.push(Owned::take(PyLong_FromLong(f.at)));
  f.stack.push(std::move(error));
  f.at = h.target;
  return true;
}

Evaluator::Next Evaluator::step(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  const auto jump_to = [&](bool taken) {
    if (!taken) return Next::go_on;
    f.at = in.target;
    return Next::jumped;
  };
  switch (in.op) {
    case Op::nop:
    case Op::resume:
    case Op::make_cell:
    case Op::copy_free_vars:
      return in.op == Op::nop || in.op == Op::resume ? Next::go_on : step_names(f, in);
    case Op::push_null:
      s.push_null();
      return Next::go_on;
    case Op::pop_top:
    case Op::end_for:
      if (in.op == Op::pop_top) s.pop();
      return Next::go_on;
    case Op::copy: {
      PyObject* o = s.top(static_cast<size_t>(in.arg) - 1);
      if (o == nullptr)
        s.push_null();
      else
        s.push(Owned::share(o));
      return Next::go_on;
    }
    case Op::swap:
      s.swap(s.size() - 1, s.size() - static_cast<size_t>(in.arg));
      return Next::go_on;
    case Op::load_const:
      s.push(Owned::share(f.code->constants[static_cast<size_t>(in.arg)].get()));
      return Next::go_on;
    case Op::load_fast:
    case Op::load_fast_check:
      s.push(load_fast(f, in.arg));
      return Next::go_on;
    case Op::store_fast:
      check_overwritten(f.fast[static_cast<size_t>(in.arg)]);
      if (!f.raw.empty()) f.raw[static_cast<size_t>(in.arg)] = false;
      f.fast.set(static_cast<size_t>(in.arg), s.pop());
      return Next::go_on;

    case Op::unary_positive:
    case Op::unary_negative:
    case Op::unary_invert:
      s.set_top(0, unary(in.op, s.top()));
      return Next::go_on;
    case Op::unary_not:
      s.set_top(0, negation(s.top()));
      return Next::go_on;
    case Op::to_bool:
      if (f.code->instructions[static_cast<size_t>(f.at) + 1].op == Op::unary_not && !is_immutable(s.top()))
        return Next::go_on;  // which asks for the truth itself
      if (recorder.is_fake(s.top()) && assert_in_graph(f, f.at + 1)) {
        s.set_top(0, Owned::share(Py_True));
        return Next::go_on;
      }
      s.set_top(0, Owned::share(truth(s.top()) ? Py_True : Py_False));
      return Next::go_on;
    case Op::binary_op: {
      const Owned b = s.pop();
      s.set_top(0, binary(in.arg, s.top(), b.get()));
      return Next::go_on;
    }
    case Op::compare: {
      const Owned b = s.pop();
      s.set_top(0, compare(in.arg, s.top(), b.get()));
      return Next::go_on;
    }
    case Op::is_op: {
      const Owned b = s.pop();
      s.set_top(0, Owned::share(is_same(s.top(), b.get()) != (in.arg == 1) ? Py_True : Py_False));
      return Next::go_on;
    }
    case Op::contains_op: {
      const Owned container = s.pop();
      s.set_top(0, Owned::share(contains(container.get(), s.top()) != (in.arg == 1) ? Py_True : Py_False));
      return Next::go_on;
    }
    case Op::subscript: {
      const Owned key = s.pop();
      s.set_top(0, subscript(s.top(), key.get()));
      return Next::go_on;
    }
    case Op::store_subscript: {
      ++writes;
      const Owned key = s.pop(), container = s.pop(), value = s.pop();
      store_subscript(container.get(), key.get(), value.get());
      return Next::go_on;
    }
    case Op::delete_subscript: {
      const Owned key = s.pop(), container = s.pop();
      store_subscript(container.get(), key.get(), nullptr);
      return Next::go_on;
    }

    case Op::jump:
      return jump_to(true);
    case Op::jump_if_true:
    case Op::jump_if_false: {
      if (in.op == Op::jump_if_true && recorder.is_fake(s.top()) && assert_in_graph(f, f.at)) {
        s.pop();
        return jump_to(true);
      }
      const bool is = truth(s.top());
      s.pop();
      return jump_to(is == (in.op == Op::jump_if_true));
    }
    case Op::jump_if_none:
    case Op::jump_if_not_none: {
      const Owned o = s.pop();
      return jump_to(is_same(o.get(), Py_None) == (in.op == Op::jump_if_none));
    }
    case Op::jump_if_true_or_pop:
    case Op::jump_if_false_or_pop: {
      if (truth(s.top()) == (in.op == Op::jump_if_true_or_pop)) return jump_to(true);
      s.pop();
      return Next::go_on;
    }
    case Op::get_iter:
      s.set_top(0, iterate(s.top()));
      return Next::go_on;
    case Op::for_iter: {
      Owned item = next(s.top());
      if (item) {
        s.push(std::move(item));
        return Next::go_on;
      }
      s.pop();
      return jump_to(true);
    }
    case Op::return_value:
      return Next::returned;

    case Op::load_attr:
    case Op::load_method:
    case Op::load_super_attr:
    case Op::load_super_method:
    case Op::delete_fast:
    case Op::load_fast_and_clear:
    case Op::load_global:
    case Op::load_name:
    case Op::store_name:
    case Op::delete_name:
    case Op::load_locals:
    case Op::load_closure:
    case Op::load_deref:
    case Op::load_class_deref:
    case Op::load_build_class:
    case Op::load_assertion_error:
    case Op::import_name:
    case Op::import_from:
    case Op::setup_annotations:
      return step_names(f, in);
    case Op::store_attr:
    case Op::delete_attr:
    case Op::store_global:
    case Op::delete_global:
    case Op::store_deref:
    case Op::delete_deref:
      ++writes;
      return step_names(f, in);

    case Op::call:
    case Op::call_function_ex:
    case Op::make_function:
      return step_calls(f, in);

    case Op::raise_varargs:
    case Op::reraise:
    case Op::push_exc_info:
    case Op::pop_except:
    case Op::check_exc_match:
    case Op::check_eg_match:
    case Op::prep_reraise_star:
    case Op::before_with:
    case Op::with_except_start:
      return step_exceptions(f, in);

    case Op::return_generator:
    case Op::yield_value:
    case Op::send:
    case Op::end_send:
    case Op::get_yield_from_iter:
    case Op::cleanup_throw:
    case Op::stop_iteration_error:
      return step_generators(f, in);

    case Op::match_class:
    case Op::match_keys:
    case Op::match_mapping:
    case Op::match_sequence:
    case Op::get_len:
      return step_patterns(f, in);

    case Op::get_awaitable:
    case Op::before_async_with:
      return step_generators(f, in);
    case Op::get_aiter:
    case Op::get_anext:
    case Op::end_async_for:
    case Op::async_gen_wrap:
      break_here(Reason::asynchronous);
    case Op::import_star:
      break_here(Reason::instruction, "from ... import *");
    case Op::print_expr:
    case Op::intrinsic:
    case Op::unknown:
      break_here(Reason::instruction, "number " + std::to_string(in.arg));
    default:
      return step_containers(f, in);
  }
}

// ------------------------------------------------------------------------------------------------ exceptions

// assert on a tensor: the graph checks it in its turn. Only where nobody handles the exception inside of the function, and
// nothing was written that Python would see behind it. The message has to be a constant, or a text of constants and shapes.
bool Evaluator::assert_in_graph(Frame& f, int jump) {
  const std::vector<Instruction>& code = f.code->instructions;
  const auto op_at = [&](int i) {
    return static_cast<size_t>(i) < code.size() ? code[static_cast<size_t>(i)].op : Op::nop;
  };
  if (op_at(jump) != Op::jump_if_true || op_at(jump + 1) != Op::load_assertion_error) return false;
  int end = jump + 2;
  while (op_at(end) == Op::load_const || op_at(end) == Op::load_fast || op_at(end) == Op::load_fast_check ||
         op_at(end) == Op::load_attr || op_at(end) == Op::format_value || op_at(end) == Op::convert_value ||
         op_at(end) == Op::build_string)
    ++end;
  const bool has_message = end > jump + 2;
  const int raise = end + (has_message ? 1 : 0);
  if ((has_message && (op_at(end) != Op::call || code[static_cast<size_t>(end)].arg != 0)) ||
      op_at(raise) != Op::raise_varargs || code[static_cast<size_t>(raise)].arg != 1)
    return false;
  for (const Frame* frame : frames)
    if (frame->code->instructions[static_cast<size_t>(frame->at)].handler >= 0) return false;
  PyObject* condition = f.stack.top();
  if (!is_tensor(condition) || !origins.same({})) return false;
  const size_t depth = f.stack.size();
  const int at = f.at;
  std::vector<Owned> args;
  args.push_back(Owned::share(condition));
  bool known = true;
  try {
    for (int i = jump + 2; i < end && known; ++i) {
      const Instruction& in = code[static_cast<size_t>(i)];
      f.at = i;
      known = in.op != Op::load_attr || recorder.is_fake(f.stack.top());
      if (known) (void)step(f, in);
    }
  } catch (const Break&) {
    known = false;
  } catch (const PythonError&) {
    PyErr_Clear();
    known = false;
  }
  f.at = at;
  if (has_message && known) args.push_back(f.stack.pop());
  f.stack.cut(depth);
  if (!known) return false;
  if (has_message && !is_constant(args.back().get())) return false;
  static PyObject* const hold = [] {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._polyfills.of_builtins"));
    return Owned::take(PyObject_GetAttrString(module.get(), "assert_true")).give();
  }();
  std::vector<PyObject*> pointers;
  for (const Owned& arg : args) pointers.push_back(arg.get());
  recorder.call_in_turn(hold, pointers, nullptr, Py_None);
  return true;
}

Evaluator::Next Evaluator::step_exceptions(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  switch (in.op) {
    case Op::raise_varargs: {
      Owned cause, error;
      if (in.arg == 2) cause = s.pop();
      if (in.arg >= 1) error = s.pop();
      if (in.arg == 0) {
        const Owned again = Owned::share(handled_anywhere());
        if (again.get() == Py_None) raise(PyExc_RuntimeError, "No active exception to reraise");
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(again.get())), again.get());
        throw PythonError();
      }
      const auto instance = [&](Owned o, const char* what) {
        if (PyExceptionClass_Check(o.get())) {
          Owned made = call(o.get(), {});
          if (!PyExceptionInstance_Check(made.get()))
            raise(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", o.get(),
                  Py_TYPE(made.get()));
          return made;
        }
        if (!PyExceptionInstance_Check(o.get())) raise(PyExc_TypeError, what);
        return o;
      };
      error = instance(std::move(error), "exceptions must derive from BaseException");
      if (origins.outside(error.get())) break_here(Reason::mutation, "an exception object from outside is raised");
      if (cause) {
        if (cause.get() == Py_None) {
          PyException_SetCause(error.get(), nullptr);
        } else {
          PyException_SetCause(error.get(),
                               instance(std::move(cause), "exception causes must derive from BaseException").give());
        }
      }
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
      throw PythonError();
    }
    case Op::reraise: {
      const Owned error = s.pop();
#if PY_VERSION_HEX >= 0x030c0000
      PyErr_SetRaisedException(Py_NewRef(error.get()));
#else
      PyErr_Restore(Py_NewRef(Py_TYPE(error.get())), Py_NewRef(error.get()), PyException_GetTraceback(error.get()));
#endif
      throw PythonError();
    }
    case Op::push_exc_info: {
      Owned error = s.pop();
      s.push(Owned::share(handled()));
      set_handled(Owned::share(error.get()));
      s.push(std::move(error));
      return Next::go_on;
    }
    case Op::pop_except: {
      set_handled(s.pop());
      return Next::go_on;
    }
    case Op::check_exc_match: {
      const Owned type = s.pop();
      Owned plain = Owned::share(origins.absorb(type.get()));
      const auto is_class = [](PyObject* o) { return PyExceptionClass_Check(o); };
      bool fits = is_class(plain.get());
      if (PyTuple_Check(plain.get())) {
        fits = true;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plain.get()); ++i)
          fits = fits && is_class(PyTuple_GET_ITEM(plain.get(), i));
      }
      origins.guard_type(s.top());
      if (!fits) raise(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
      s.push(Owned::share(PyErr_GivenExceptionMatches(s.top(), plain.get()) ? Py_True : Py_False));
      return Next::go_on;
    }
    case Op::check_eg_match: {
      const Owned type = s.pop();
      PyObject* error = s.top();
      const auto is_plain = [](PyObject* o) {  // no group, whose class may not stand behind except*
        return PyExceptionClass_Check(o) && PyObject_IsSubclass(o, PyExc_BaseExceptionGroup) == 0;
      };
      bool fits = !origins.outside(error) && is_plain(type.get());
      if (PyTuple_CheckExact(type.get())) {
        fits = !origins.outside(error) && !origins.outside(type.get());
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type.get()); ++i)
          fits = fits && is_plain(PyTuple_GET_ITEM(type.get(), i));
      }
      // A class of the program may have a derive() of its own.
      const bool group = PyObject_IsInstance(error, PyExc_BaseExceptionGroup) == 1;
      const std::string_view name(Py_TYPE(error)->tp_name);
      if (!fits || (group && name != "ExceptionGroup" && name != "BaseExceptionGroup"))
        break_here(Reason::instruction, "except*");
      Owned rest = Owned::share(Py_None), match = Owned::share(Py_None);
      if (PyErr_GivenExceptionMatches(error, type.get())) {
        const Owned one = Owned::take(PyTuple_Pack(1, error));
        match = Owned::take(PyObject_CallFunction(PyExc_BaseExceptionGroup, "sO", "", one.get()));
      } else if (group) {
        const Owned parts = Owned::take(PyObject_CallMethod(error, "split", "O", type.get()));
        match = Owned::share(PyTuple_GET_ITEM(parts.get(), 0));
        rest = Owned::share(PyTuple_GET_ITEM(parts.get(), 1));
      }
      if (match.get() != Py_None) {
        set_handled(Owned::share(match.get()));
        s.set_top(0, std::move(rest));
      }
      s.push(std::move(match));
      return Next::go_on;
    }
    case Op::
        prep_reraise_star: {  // what the handlers have raised, and what none of them took: nothing, or Python's to join
      const Owned raised = s.pop();
      if (!PyList_CheckExact(raised.get()) || origins.outside(raised.get())) break_here(Reason::instruction, "except*");
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raised.get()); ++i)
        if (PyList_GET_ITEM(raised.get(), i) != Py_None) break_here(Reason::instruction, "except*");
      s.set_top(0, Owned::share(Py_None));
      return Next::go_on;
    }
    case Op::before_with: {
      const Owned manager = s.pop();
      Owned enter = special(manager.get(), "__enter__");
      if (!enter)
        raise(PyExc_TypeError, "'%s' object does not support the context manager protocol",
              Py_TYPE(manager.get())->tp_name);
      Owned exit = special(manager.get(), "__exit__");
      if (!exit)
        raise(PyExc_TypeError, "'%s' object does not support the context manager protocol (missed __exit__ method)",
              Py_TYPE(manager.get())->tp_name);
      s.push(std::move(exit));
      s.push(call(enter.get(), {}));
      return Next::go_on;
    }
    case Op::with_except_start: {
      PyObject* error = s.top();
      PyObject* exit = s.top(3);
      origins.guard_type(error);
      const Owned trace = traceback_of(error);
      s.push(call(exit, Arguments::of({reinterpret_cast<PyObject*>(Py_TYPE(error)), error, trace.get()})));
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction);
  }
}

}  // namespace sconce::python::capture
