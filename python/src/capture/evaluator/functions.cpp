// Functions of Python: arguments bound to parameters, frames made, functions and calls of the bytecode.
#include "capture/evaluator/evaluator.h"
#include "capture/graph/sym_int.h"

namespace sconce::python::capture {
namespace {

// Annotations as MAKE_FUNCTION has them, names and values in turn; CPython makes a dict of them when one is asked for.
Owned annotations_dict(Owned given) {
  if (PyDict_Check(given.get())) return given;
  Owned dict = Owned::take(PyDict_New());
  for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(given.get()); i += 2)
    check(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(given.get(), i), PyTuple_GET_ITEM(given.get(), i + 1)));
  return dict;
}

}  // namespace

std::unique_ptr<Frame> Evaluator::root_frame(std::span<PyObject* const> slots) {
  auto f = std::make_unique<Frame>();
  f->function = Owned::share(reinterpret_cast<PyObject*>(function_));
  f->code = decode(reinterpret_cast<PyCodeObject*>(function_->func_code));
  f->globals = function_->func_globals;
  f->builtins = function_->func_builtins;
  origins.enter(f->globals, kNoSource).globals = true;
  new (&f->fast) Slots(f->code->locals.size());
  f->raw.assign(f->code->locals.size(), false);
  f->given.assign(slots.begin(), slots.end());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == nullptr) continue;
    f->fast.set(i, Owned::share(slots[i]));
    f->raw[i] = true;
  }
  return f;
}

// Where a function of this kind finds a default value: guarded once, as one tuple.
Owned Evaluator::function_default(PyObject* function, Py_ssize_t i) {
  PyObject* defaults = PyFunction_GET_DEFAULTS(function);
  PyObject* value = PyTuple_GET_ITEM(defaults, i);
  Origins::Entry* e = origins.find(function);
  if (e == nullptr || e->source == kNoSource) return Owned::share(value);
  const SourceId source = origins.sources().add(Step::defaults, e->source);
  origins.sources().guard(source, FactKind::identity, defaults);
  if (is_constant(value)) return Owned::share(value);
  return origins.wrap(value, origins.sources().add(Step::element, source, static_cast<int32_t>(i)));
}

std::unique_ptr<Frame> Evaluator::enter_function(PyObject* function, Arguments args) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  if (Origins::Entry* e = origins.find(function); e != nullptr && !e->identity_guarded && e->source != kNoSource) {
    origins.guard_type(function);
    origins.sources().guard(origins.sources().add(Step::code, e->source), FactKind::identity, f->func_code);
  }
  auto frame = std::make_unique<Frame>();
  frame->function = Owned::share(function);
  frame->code = decode(reinterpret_cast<PyCodeObject*>(f->func_code));
  frame->globals = f->func_globals;
  frame->builtins = f->func_builtins;
  origins.enter(frame->globals, kNoSource).globals = true;
  frame->back = frames.empty() ? nullptr : frames.back();
  const Code& code = *frame->code;
  new (&frame->fast) Slots(code.locals.size());
  const auto positional = static_cast<size_t>(code.argument_count), only = static_cast<size_t>(code.keyword_only);
  const size_t given = args.positional();
  const auto does_not_fit = [&]() {  // Python itself says why: no code of the function runs
    std::vector<PyObject*> all = args.pointers();
    const Owned result = Owned::take(PyObject_Vectorcall(function, all.data(), given, args.names.get()));
    break_here(Reason::unknown_callable, "arguments that do not fit");
  };
  Slots& fast = frame->fast;
  for (size_t i = 0; i < std::min(given, positional); ++i) fast.set(i, std::move(args.values[i]));
  const auto put_back = [&] {
    for (size_t i = 0; i < std::min(given, positional); ++i) args.values[i] = Owned::share(fast[i]);
  };
  size_t next_slot = positional + only;
  if (code.flags & CO_VARARGS) {
    const size_t more = given > positional ? given - positional : 0;
    Owned rest = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(more)));
    for (size_t i = 0; i < more; ++i)
      PyTuple_SET_ITEM(rest.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args.values[positional + i].get()));
    fast.set(next_slot++, std::move(rest));
  } else if (given > positional) {
    put_back();
    does_not_fit();
  }
  Owned keywords;
  if (code.flags & CO_VARKEYWORDS) {
    keywords = Owned::take(PyDict_New());
    fast.set(next_slot, Owned::share(keywords.get()));
  }
  for (size_t k = 0; k < args.named(); ++k) {
    PyObject* name = args.name(k);
    Owned& value = args.values[given + k];
    size_t slot = static_cast<size_t>(code.positional_only);
    const size_t end = positional + only;
    for (; slot < end; ++slot) {
      PyObject* candidate = code.locals[slot].get();
      if (candidate == name || PyUnicode_Compare(candidate, name) == 0) break;
    }
    if (slot < end) {
      if (fast[slot] != nullptr) {
        put_back();
        does_not_fit();
      }
      fast.set(slot, Owned::share(value.get()));
    } else if (keywords) {
      check(PyDict_SetItem(keywords.get(), name, value.get()));
    } else {
      put_back();
      does_not_fit();
    }
  }
  PyObject* defaults = PyFunction_GET_DEFAULTS(function);
  const size_t with_default = defaults == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(defaults));
  for (size_t i = 0; i < positional; ++i) {
    if (fast[i] != nullptr) continue;
    if (i + with_default < positional) {
      put_back();
      does_not_fit();
    }
    fast.set(i, function_default(function, static_cast<Py_ssize_t>(i + with_default - positional)));
  }
  PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(function);
  for (size_t i = positional; i < positional + only; ++i) {
    if (fast[i] != nullptr) continue;
    PyObject* found =
        keyword_defaults == nullptr ? nullptr : PyDict_GetItemWithError(keyword_defaults, code.locals[i].get());
    if (found == nullptr) {
      put_back();
      does_not_fit();
    }
    Origins::Entry* e = origins.find(function);
    if (e == nullptr || e->source == kNoSource) {
      fast.set(i, Owned::share(found));
    } else {
      const SourceId from = origins.sources().add(Step::keyword_defaults, e->source);
      fast.set(i, origins.wrap(found, origins.sources().add(Step::item, from, 0, code.locals[i].get())));
    }
  }
  return frame;
}

Owned Evaluator::call_function(PyObject* function, Arguments args, bool plain) {
  std::unique_ptr<Frame> frame = enter_function(function, std::move(args));
  if (frame->code->flags & CO_ASYNC_GENERATOR) break_here(Reason::asynchronous);
  frame->plain = plain;
  if (!(frame->code->flags & (CO_GENERATOR | CO_COROUTINE))) return run(*frame);
  frame->plain = false;
  const Owned nothing = run(*frame);  // up to return_generator
  return make_generator(std::move(frame));
}

Evaluator::Next Evaluator::step_calls(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  const auto callable_and_self = [&](Arguments& args) {
    Owned second = s.pop(), first = s.pop();
    if (!first) return second;
    if (second) args.prepend(std::move(second));
    return first;
  };
  switch (in.op) {
    case Op::call: {
      Arguments args;
      args.values.resize(static_cast<size_t>(in.arg));
      for (size_t i = args.values.size(); i-- > 0;) args.values[i] = s.pop();
      if (in.names != nullptr) args.names = Owned::share(in.names);
      const Owned callable = callable_and_self(args);
      s.push(call(callable.get(), std::move(args), true));
      return Next::go_on;
    }
    case Op::call_function_ex: {
      const Owned keywords = in.arg & 1 ? s.pop() : Owned();
      const Owned positional = s.pop();
      Arguments args;
      Owned callable;
      {
        Owned second = s.pop(), first = s.pop();
        callable = first ? std::move(first) : std::move(second);
      }
      PyObject* all = origins.absorb(positional.get());
      if (!PyTuple_Check(all) && Py_TYPE(all)->tp_iter == nullptr && !PySequence_Check(all))
        raise(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
              sym_number(all) ? Py_TYPE(fixed_number(all).get())->tp_name : Py_TYPE(all)->tp_name);
      if (PyTuple_CheckExact(all) || PyList_CheckExact(all)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all); ++i)
          args.values.push_back(canonical(Owned::share(PySequence_Fast_GET_ITEM(all, i))));
      } else {
        const Owned iterator = iterate(positional.get());
        while (Owned item = next(iterator.get())) args.values.push_back(std::move(item));
      }
      if (keywords) {
        PyObject* dict = origins.absorb(keywords.get());
        if (!PyDict_Check(dict)) break_here(Reason::unknown_object, "a mapping that is no dict after **");
        const Py_ssize_t n = PyDict_GET_SIZE(dict);
        if (n > 0) {
          args.names = Owned::take(PyTuple_New(n));
          Py_ssize_t at = 0, i = 0;
          PyObject *key = nullptr, *value = nullptr;
          while (PyDict_Next(dict, &at, &key, &value)) {
            if (!PyUnicode_Check(key)) raise(PyExc_TypeError, "keywords must be strings");
            PyTuple_SET_ITEM(args.names.get(), i++, Py_NewRef(key));
            args.values.push_back(canonical(Owned::share(value)));
          }
        }
      }
      s.push(call(callable.get(), std::move(args), true));
      return Next::go_on;
    }
    case Op::make_function: {
      const Owned code = s.pop();
      Owned closure, annotations, keyword_defaults, defaults;
      if (in.arg & 8) closure = s.pop();
      if (in.arg & 4) annotations = s.pop();
      if (in.arg & 2) keyword_defaults = s.pop();
      if (in.arg & 1) defaults = s.pop();
      Owned made = Owned::take(PyFunction_New(code.get(), f.globals));
      if (closure) check(PyFunction_SetClosure(made.get(), closure.get()));
      if (annotations) check(PyFunction_SetAnnotations(made.get(), annotations_dict(std::move(annotations)).get()));
      if (keyword_defaults) check(PyFunction_SetKwDefaults(made.get(), keyword_defaults.get()));
      if (defaults) check(PyFunction_SetDefaults(made.get(), defaults.get()));
      born(made.get());
      s.push(std::move(made));
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction);
  }
}

}  // namespace sconce::python::capture
