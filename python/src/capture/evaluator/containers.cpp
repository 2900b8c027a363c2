// Containers and texts, unpacking, patterns: instructions that build objects which this evaluation owns.
#include "capture/evaluator/callbacks.h"
#include "capture/evaluator/evaluator.h"
#include "capture/evaluator/later.h"
#include "capture/graph/sym_int.h"

namespace sconce::python::capture {

Evaluator::Next Evaluator::step_containers(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  const auto n = static_cast<size_t>(in.arg);
  const auto popped = [&](size_t count) {
    std::vector<Owned> items(count);
    for (size_t i = count; i-- > 0;) items[i] = s.pop();
    return items;
  };
  const auto hashable = [&](Owned key, CallbackScope& calls_back) {
    if (!prepare_key(key)) break_here(Reason::callback, "a key of a class with methods of Python");
    calls_back.start();
    return key;
  };
  const auto add_to_set = [&](PyObject* set, Owned item) {
    CallbackScope calls_back(*this);
    const Owned key = hashable(std::move(item), calls_back);
    check(PySet_Add(set, key.get()));
  };
  const auto add_to_dict = [&](PyObject* dict, Owned item, PyObject* value) {
    CallbackScope calls_back(*this);
    const Owned key = hashable(std::move(item), calls_back);
    check(PyDict_SetItem(dict, key.get(), value));
  };
  switch (in.op) {
    case Op::build_tuple: {
      Owned tuple = Owned::take(PyTuple_New(in.arg));
      for (size_t i = n; i-- > 0;) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), s.pop().give());
      s.push(std::move(tuple));
      return Next::go_on;
    }
    case Op::build_list: {
      Owned list = Owned::take(PyList_New(in.arg));
      for (size_t i = n; i-- > 0;) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), s.pop().give());
      s.push(std::move(list));
      return Next::go_on;
    }
    case Op::build_set: {
      std::vector<Owned> items = popped(n);
      Owned set = Owned::take(PySet_New(nullptr));
      for (Owned& item : items) add_to_set(set.get(), std::move(item));
      s.push(std::move(set));
      return Next::go_on;
    }
    case Op::build_map: {
      std::vector<Owned> items = popped(2 * n);
      Owned map = Owned::take(PyDict_New());
      for (size_t i = 0; i < n; ++i) add_to_dict(map.get(), std::move(items[2 * i]), items[2 * i + 1].get());
      s.push(std::move(map));
      return Next::go_on;
    }
    case Op::build_const_key_map: {
      const Owned keys = s.pop();
      std::vector<Owned> items = popped(n);
      Owned map = Owned::take(PyDict_New());
      for (size_t i = 0; i < n; ++i)
        check(PyDict_SetItem(map.get(), PyTuple_GET_ITEM(keys.get(), static_cast<Py_ssize_t>(i)), items[i].get()));
      s.push(std::move(map));
      return Next::go_on;
    }
    case Op::build_slice: {
      const Owned step = in.arg == 3 ? s.pop() : Owned::share(Py_None);
      const Owned stop = s.pop(), start = s.pop();
      s.push(Owned::take(PySlice_New(start.get(), stop.get(), step.get())));
      return Next::go_on;
    }
    case Op::build_string: {
      std::vector<Owned> items = popped(n);
      Owned list = Owned::take(PyList_New(0));
      for (const Owned& item : items) check(PyList_Append(list.get(), item.get()));
      const Owned empty = text("");
      static PyObject* const join =
          Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "join")).give();
      if (std::any_of(items.begin(), items.end(), [](const Owned& i) { return later_of(i.get()) != nullptr; })) {
        PyObject* const args[] = {empty.get(), list.get()};
        s.push(call_later(*this, join, args));
        return Next::go_on;
      }
      s.push(Owned::take(PyUnicode_Join(empty.get(), list.get())));
      return Next::go_on;
    }
    case Op::convert_value:
    case Op::format_value: {
      const Owned spec = in.arg & 4 ? s.pop() : Owned();
      Owned value = s.pop();
      static PyObject* const functions[] = {
          nullptr,
          Owned::take(PyEval_GetBuiltins() ? PyObject_GetItem(PyEval_GetBuiltins(), text("str").get()) : nullptr)
              .give(),
          Owned::take(PyObject_GetItem(PyEval_GetBuiltins(), text("repr").get())).give(),
          Owned::take(PyObject_GetItem(PyEval_GetBuiltins(), text("ascii").get())).give()};
      static PyObject* const format = Owned::take(PyObject_GetItem(PyEval_GetBuiltins(), text("format").get())).give();
      if (PyObject* convert = functions[in.arg & 3]) value = call(convert, Arguments::of({value.get()}));
      const bool is_text =
          PyUnicode_CheckExact(value.get()) || (later_of(value.get()) && later_class(value.get()) == &PyUnicode_Type);
      if (in.op == Op::convert_value || (is_text && !spec)) {
        s.push(std::move(value));
      } else {
        const Owned empty = text("");
        s.push(call(format, Arguments::of({value.get(), spec ? spec.get() : empty.get()})));
      }
      return Next::go_on;
    }
    case Op::list_append: {
      const Owned item = s.pop();
      check(PyList_Append(origins.absorb(s.top(n - 1)), item.get()));  // from outside after a break
      return Next::go_on;
    }
    case Op::set_add: {
      Owned item = s.pop();
      add_to_set(origins.absorb(s.top(n - 1)), std::move(item));
      return Next::go_on;
    }
    case Op::map_add: {
      const Owned value = s.pop();
      Owned key = s.pop();
      add_to_dict(origins.absorb(s.top(n - 1)), std::move(key), value.get());
      return Next::go_on;
    }
    case Op::list_extend: {
      const Owned items = fixed_number(s.pop().get());
      PyObject* list = origins.absorb(s.top(n - 1));
      if (Py_TYPE(items.get())->tp_iter == nullptr && !PySequence_Check(items.get()))
        raise(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
              sym_number(items.get()) ? Py_TYPE(fixed_number(items.get()).get())->tp_name
                                      : Py_TYPE(items.get())->tp_name);
      const Owned iterator = iterate(items.get());
      while (const Owned item = next(iterator.get())) check(PyList_Append(list, item.get()));
      return Next::go_on;
    }
    case Op::set_update: {
      const Owned items = fixed_number(s.pop().get());
      PyObject* set = origins.absorb(s.top(n - 1));
      const Owned iterator = iterate(items.get());
      while (Owned item = next(iterator.get())) add_to_set(set, std::move(item));
      return Next::go_on;
    }
    case Op::dict_update:
    case Op::dict_merge: {
      const Owned other = fixed_number(s.pop().get());
      PyObject* dict = origins.absorb(s.top(n - 1));
      PyObject* from = origins.absorb(other.get());
      if (!PyDict_Check(from)) {
        static PyObject* const keys_name = interned("keys");
        const Owned keys = find_attribute(other.get(), keys_name);
        if (!keys) {
          raise(PyExc_TypeError,
                in.op == Op::dict_update ? "'%.200s' object is not a mapping"
                                         : "argument after ** must be a mapping, not %.200s",
                Py_TYPE(other.get())->tp_name);
        }
        const Owned all = call(keys.get(), {});
        const Owned iterator = iterate(all.get());
        while (Owned key = next(iterator.get())) {
          const Owned value = subscript(other.get(), key.get());
          add_to_dict(dict, std::move(key), value.get());
        }
        return Next::go_on;
      }
      if (in.op == Op::dict_update) {
        CallbackScope calls_back(*this);
        PyObject *key = nullptr, *value = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(from, &at, &key, &value);)  // equal hashes: keys are compared
          if (is_heap_instance(key) && has_python_specials(Py_TYPE(key), Looks::at_equality)) calls_back.want();
        calls_back.start();
        check(PyDict_Update(dict, from));
        return Next::go_on;
      }
      Py_ssize_t at = 0;
      PyObject *key = nullptr, *value = nullptr;
      while (PyDict_Next(from, &at, &key, &value)) {
        if (PyDict_Contains(dict, key) == 1)
          raise(PyExc_TypeError, "got multiple values for keyword argument '%S'", key);
        check(PyDict_SetItem(dict, key, value));
      }
      return Next::go_on;
    }
    case Op::list_to_tuple:
      s.set_top(0, Owned::take(PyList_AsTuple(s.top())));
      return Next::go_on;
    case Op::unpack_sequence:
    case Op::unpack_ex: {
      const Owned from = fixed_number(s.pop().get());
      const size_t before = in.op == Op::unpack_ex ? n & 255 : n, after = in.op == Op::unpack_ex ? n >> 8 : 0;
      if (Py_TYPE(from.get())->tp_iter == nullptr && !PySequence_Check(from.get()) && !recorder.is_fake(from.get()))
        raise(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(from.get())->tp_name);
      const Owned iterator = iterate(from.get());
      std::vector<Owned> items;
      const bool star = in.op == Op::unpack_ex;
      while (items.size() < before || star) {
        Owned item = next(iterator.get());
        if (!item) break;
        items.push_back(std::move(item));
      }
      if (items.size() < before + after) {
        if (!star)
          raise(PyExc_ValueError, "not enough values to unpack (expected %d, got %zd)", static_cast<int>(before),
                static_cast<Py_ssize_t>(items.size()));
        raise(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %zd)",
              static_cast<int>(before + after), static_cast<Py_ssize_t>(items.size()));
      }
      if (!star && next(iterator.get()))
        raise(PyExc_ValueError, "too many values to unpack (expected %d)", static_cast<int>(before));
      if (star) {
        const size_t middle = items.size() - before - after;
        for (size_t i = items.size(); i-- > before + middle;) s.push(std::move(items[i]));
        Owned list = Owned::take(PyList_New(0));
        for (size_t i = 0; i < middle; ++i) check(PyList_Append(list.get(), items[before + i].get()));
        s.push(std::move(list));
      }
      for (size_t i = before; i-- > 0;) s.push(std::move(items[i]));
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction);
  }
}

// ------------------------------------------------------------------------------------------------ patterns

Evaluator::Next Evaluator::step_patterns(Frame& f, const Instruction& in) {
  Slots& s = f.stack;
  switch (in.op) {
    case Op::get_len:
      s.push(Owned::take(PyLong_FromSsize_t(length(s.top()))));
      return Next::go_on;
    case Op::match_mapping:
    case Op::match_sequence: {
      origins.guard_type(s.top());
      const unsigned long flag = in.op == Op::match_mapping ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE;
      s.push(Owned::share(Py_TYPE(s.top())->tp_flags & flag ? Py_True : Py_False));
      return Next::go_on;
    }
    case Op::match_keys: {
      PyObject* keys = s.top();
      PyObject* subject = s.top(1);
      if (!PyDict_Check(subject)) break_here(Reason::unknown_object, "a mapping that is no dict in a match statement");
      const Py_ssize_t n = PyTuple_GET_SIZE(keys);
      Owned values = Owned::take(PyTuple_New(n));
      for (Py_ssize_t i = 0; i < n; ++i) {
        Owned key = Owned::share(PyTuple_GET_ITEM(keys, i));
        if (!prepare(key, false)) break_here(Reason::callback, "a key of a pattern");
        PyObject* found = origins.dict_find(subject, key.get());
        if (found == nullptr) {
          s.push(Owned::share(Py_None));
          return Next::go_on;
        }
        PyTuple_SET_ITEM(values.get(), i, Py_NewRef(found));
      }
      s.push(std::move(values));
      return Next::go_on;
    }
    case Op::match_class: {
      const Owned names = s.pop(), type = s.pop(), subject = s.pop();
      if (!PyType_Check(type.get())) raise(PyExc_TypeError, "called match pattern must be a class");
      static PyObject* const isinstance = PyDict_GetItemString(PyEval_GetBuiltins(), "isinstance");
      const Owned is = call(isinstance, Arguments::of({subject.get(), type.get()}));
      if (!truth(is.get())) {
        s.push(Owned::share(Py_None));
        return Next::go_on;
      }
      auto* cls = reinterpret_cast<PyTypeObject*>(type.get());
      std::vector<Owned> values;
      const Py_ssize_t positional = in.arg;
      if (positional > 0) {
        static PyObject* const match_args = interned("__match_args__");
        Owned args = find_attribute(type.get(), match_args);
        const bool self_match = !args && (cls->tp_flags & _Py_TPFLAGS_MATCH_SELF);
        if (!args) args = Owned::take(PyTuple_New(0));
        if (!PyTuple_CheckExact(args.get()))
          raise(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)", cls->tp_name,
                Py_TYPE(args.get())->tp_name);
        const Py_ssize_t allowed = self_match ? 1 : PyTuple_GET_SIZE(args.get());
        if (allowed < positional)
          raise(PyExc_TypeError, "%s() accepts %zd positional sub-pattern%s (%zd given)", cls->tp_name, allowed,
                allowed == 1 ? "" : "s", positional);
        if (self_match) {
          values.push_back(Owned::share(subject.get()));
        } else {
          for (Py_ssize_t i = 0; i < positional; ++i) {
            Owned v = find_attribute(subject.get(), PyTuple_GET_ITEM(args.get(), i));
            if (!v) {
              s.push(Owned::share(Py_None));
              return Next::go_on;
            }
            values.push_back(std::move(v));
          }
        }
      }
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
        Owned v = find_attribute(subject.get(), PyTuple_GET_ITEM(names.get(), i));
        if (!v) {
          s.push(Owned::share(Py_None));
          return Next::go_on;
        }
        values.push_back(std::move(v));
      }
      Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
      for (size_t i = 0; i < values.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), values[i].give());
      s.push(std::move(tuple));
      return Next::go_on;
    }
    default:
      break_here(Reason::instruction);
  }
}

}  // namespace sconce::python::capture
