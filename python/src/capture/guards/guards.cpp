#include "capture/guards/guards.h"

#include <algorithm>

#include "capture/dict_keys.h"
#include "capture/guards/items_ahead.h"
#include "capture/guards/watched_part.h"
#include "capture/set_entries.h"
#include "interop/torch_function.h"

namespace sconce::python::capture {

GlobalState GlobalState::now() { return {executor::ambient_state(), python::torch_function_disabled()}; }

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyUnicode_Type) return PyUnicode_Compare(a, b) == 0;
  if (type == &PyLong_Type || type == &PyBytes_Type) {
    const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
  }
  const auto same_bits = [](double x, double y) { return memcmp(&x, &y, sizeof x) == 0; };
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (type == &PyComplex_Type) {
    const Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (PyTuple_Check(a)) {  // of any class: sizes, named tuples
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
      if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    const auto *x = reinterpret_cast<PySliceObject*>(a), *y = reinterpret_cast<PySliceObject*>(b);
    return same_constant(x->start, y->start) && same_constant(x->stop, y->stop) && same_constant(x->step, y->step);
  }
  if (PyAnySet_CheckExact(a)) {  // element by element in their order, which a loop over the set shows
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
    Py_ssize_t at_a = 0, at_b = 0;
    Py_hash_t hash = 0;
    PyObject *x = nullptr, *y = nullptr;
    while (_PySet_NextEntry(a, &at_a, &x, &hash) && _PySet_NextEntry(b, &at_b, &y, &hash))
      if (!same_constant(x, y)) return false;
    return true;
  }
  const std::string_view name(type->tp_name);
  if (name.starts_with("datetime.") || name.starts_with("decimal.")) {  // equal ones may differ: 1.0 and 1.00
    PyObject *x = PyObject_Repr(a), *y = PyObject_Repr(b);
    const bool same = x != nullptr && y != nullptr && PyUnicode_Compare(x, y) == 0;
    Py_XDECREF(x);
    Py_XDECREF(y);
    PyErr_Clear();
    return same;
  }
  const bool compared_in_c =
      type == &PyRange_Type || type == &PyByteArray_Type || std::string_view(type->tp_name).ends_with("device");
  if (!compared_in_c) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal > 0;
}

// One run over all steps. Objects that are new references die with it.
struct Guards::Walk {
  PyObject* const* locals;
  PyObject* closure;
  SmallVector<PyObject*, 64> slots;
  std::vector<Owned> made;

  Walk(const Guards& g, PyObject* const* frame, PyObject* cells)
      : locals(frame), closure(cells), slots(g.fetches_.size(), nullptr) {}

  PyObject* own(PyObject* object) {
    if (object == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    made.push_back(Owned::take(object));
    return object;
  }
  PyObject* look_up(PyObject* dict, const Fetch& f) {
    PyObject* found = _PyDict_GetItem_KnownHash(dict, f.key, f.hash);
    if (found == nullptr)
      PyErr_Clear();
    else if (!PyUnicode_CheckExact(f.key))  // an __eq__ written in Python may drop it
      made.push_back(Owned::share(found));
    return found;
  }
  // An iterator that cannot be looked into gives an object whose class no item has: neither its end nor any item of it.
  PyObject* of_iterator(const Fetch& f, PyObject* iterator) {
    static PyObject* const unknown = PyCapsule_New(&unknown_item, nullptr, nullptr);
    try {
      if (!has_items_ahead(iterator)) return unknown;
      Owned found;
      if (f.step == Step::ahead) {
        found = item_ahead(iterator, f.index);
      } else if (f.step == Step::iterated) {
        found = iterated(iterator);
      } else {
        std::vector<Owned> inner = inner_iterators(iterator);
        if (static_cast<size_t>(f.index) < inner.size()) found = std::move(inner[static_cast<size_t>(f.index)]);
      }
      return found ? own(found.give()) : nullptr;
    } catch (const PythonError&) {
      PyErr_Clear();
      return unknown;
    }
  }
  static inline char unknown_item = 0;
  static PyObject* or_none(PyObject* object) { return object ? object : Py_None; }

  // Null when there is no such object.
  PyObject* fetch(const Fetch& f) {
    PyObject* from = f.from >= 0 ? slots[static_cast<size_t>(f.from)] : nullptr;
    switch (f.step) {
      case Step::local:
        return locals[f.index];
      case Step::free_variable:
        return closure && f.index < PyTuple_GET_SIZE(closure) ? PyTuple_GET_ITEM(closure, f.index) : nullptr;
      case Step::global:
      case Step::builtin:
        return look_up(f.object, f);
      case Step::constant:
        return f.object;
      default:
        break;
    }
    if (from == nullptr) return nullptr;
    switch (f.step) {
      case Step::attribute:
        return own(PyObject_GetAttr(from, f.key));
      case Step::gradient: {
        static PyObject* grad = PyUnicode_InternFromString("grad");
        return own(PyObject_GetAttr(from, grad));
      }
      case Step::instance_item: {
        PyObject** dict = _PyObject_GetDictPtr(from);
        return dict && *dict ? look_up(*dict, f) : nullptr;
      }
      case Step::instance_dict: {
        PyObject** dict = _PyObject_GetDictPtr(from);
        if (dict == nullptr) return nullptr;
        if (*dict == nullptr) own(PyObject_GenericGetDict(from, nullptr));
        return *dict;
      }
      case Step::type:
        return reinterpret_cast<PyObject*>(Py_TYPE(from));
      case Step::class_item:
        return PyType_Check(from) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(from), f.key) : nullptr;
      case Step::item:
        if (Py_IS_TYPE(from, &PyDictProxy_Type)) return own(PyObject_GetItem(from, f.key));
        return PyDict_Check(from) ? look_up(from, f) : nullptr;
      case Step::key_at: {
        if (!PyDict_Check(from)) return nullptr;
        if (PyODict_Check(from)) {
          const Owned keys = dict_keys(from);  // the dict keeps them
          return f.index < PyTuple_GET_SIZE(keys.get()) ? PyTuple_GET_ITEM(keys.get(), f.index) : nullptr;
        }
        PyObject *key = nullptr, *value = nullptr;
        Py_ssize_t at = 0;
        for (int32_t i = 0; PyDict_Next(from, &at, &key, &value); ++i)
          if (i == f.index) return key;
        return nullptr;
      }
      case Step::element:
        if (PyList_Check(from)) return f.index < PyList_GET_SIZE(from) ? PyList_GET_ITEM(from, f.index) : nullptr;
        if (PyTuple_Check(from)) return f.index < PyTuple_GET_SIZE(from) ? PyTuple_GET_ITEM(from, f.index) : nullptr;
        if (std::string_view(Py_TYPE(from)->tp_name) == "collections.deque")
          return own(PySequence_GetItem(from, f.index));
        return nullptr;
      case Step::contents:
        return PyCell_Check(from) ? PyCell_GET(from) : nullptr;
      case Step::inner:
      case Step::iterated:
      case Step::ahead:
        return of_iterator(f, from);
      case Step::method_function:
        return PyMethod_Check(from) ? PyMethod_GET_FUNCTION(from) : nullptr;
      case Step::method_self:
        return PyMethod_Check(from) ? PyMethod_GET_SELF(from) : nullptr;
      default:
        break;
    }
    if (!PyFunction_Check(from)) return nullptr;
    const auto* function = reinterpret_cast<PyFunctionObject*>(from);
    switch (f.step) {
      case Step::defaults:
        return or_none(function->func_defaults);
      case Step::keyword_defaults:
        return or_none(function->func_kwdefaults);
      case Step::closure:
        return or_none(function->func_closure);
      case Step::code:
        return function->func_code;
      case Step::globals:
        return function->func_globals;
      default:
        return nullptr;
    }
  }
};

Guards::Guards(const Sources& sources, const std::vector<SourceId>& inputs, std::vector<std::string> locals,
               std::vector<std::string> free, PyObject* globals)
    : locals_(std::move(locals)), free_(std::move(free)), state_(GlobalState::now()) {
  const std::vector<Source>& all = sources.all();
  const std::vector<Fact>& facts = sources.facts();
  // What facts and inputs need, with all that it is reached through.
  std::vector<bool> needed(all.size());
  const auto need = [&](int64_t id) {
    for (; id >= 0 && static_cast<size_t>(id) < all.size() && !needed[static_cast<size_t>(id)];
         id = all[static_cast<size_t>(id)].base)
      needed[static_cast<size_t>(id)] = true;
  };
  std::function<void(PyObject*)> need_relation = [&](PyObject* e) {
    if (!PyTuple_Check(e) || PyTuple_GET_SIZE(e) < 2) return;
    PyObject* name = PyTuple_GET_ITEM(e, 0);
    const std::string_view what = PyUnicode_Check(name) ? text_of(name) : "";
    if (what == "size" || what == "stride" || what == "offset" || what == "int" || what == "float")
      need(PyLong_AsLong(PyTuple_GET_ITEM(e, 1)));
    else
      for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(e); ++i) need_relation(PyTuple_GET_ITEM(e, i));
  };
  for (const Fact& fact : facts) {
    need(fact.source);
    if (fact.kind == FactKind::same_object || fact.kind == FactKind::other_object) need(fact.number);
    if (fact.kind == FactKind::relation) need_relation(fact.object);
    if (fact.kind == FactKind::distinct)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fact.object); ++i)
        need(PyLong_AsLong(PyTuple_GET_ITEM(fact.object, i)));
    if (fact.kind == FactKind::sizes)
      for (const SourceId id : size_check_in(fact.object)->sources()) need(id);
  }
  for (const SourceId id : inputs) need(id);

  sources_ = all;
  fetches_.reserve(all.size());
  kept_.reserve(2 * all.size() + facts.size());
  globals_ = globals ? keep(globals) : nullptr;
  std::vector<int32_t> step_of(all.size(), -1);
  for (size_t id = 0; id < all.size(); ++id) {
    const Source& s = all[id];
    if (s.key) keep(s.key);
    if (s.object) keep(s.object);
    if (!needed[id]) continue;
    step_of[id] = static_cast<int32_t>(fetches_.size());
    Fetch f{s.step};
    f.from = s.base >= 0 ? step_of[static_cast<size_t>(s.base)] : -1;
    f.index = s.index;
    f.key = s.key;
    f.object = s.object;
    f.source = static_cast<SourceId>(id);
    if (s.key) {
      f.hash = PyObject_Hash(s.key);
      if (f.hash == -1) throw PythonError();
    }
    fetches_.push_back(f);
  }
  // Facts of a step stand together; those that compare with other steps stand with the last of these. The class first:
  // other facts lean on it.
  std::vector<std::pair<int32_t, Row>> rows;  // and their steps
  rows.reserve(facts.size());
  for (const Fact& fact : facts) {
    Row row = make_row(fact, step_of);
    int32_t at = fact.source >= 0 ? step_of[static_cast<size_t>(fact.source)] : -1;
    if (fact.kind == FactKind::same_object || fact.kind == FactKind::other_object) {
      if (row.other > at) std::swap(row.other, at);
    } else if (fact.kind == FactKind::relation) {
      for (const int32_t step : relations_[static_cast<size_t>(row.other)].steps()) at = std::max(at, step);
    } else if (fact.kind == FactKind::sizes || fact.kind == FactKind::distinct) {
      at = static_cast<int32_t>(fetches_.size()) - 1;  // when all else holds
    }
    if (fact.kind == FactKind::absent) fetches_[static_cast<size_t>(at)].may_be_absent = true;
    if (at >= 0) rows.emplace_back(at, row);
  }
  for (const auto& [at, row] : rows) ++fetches_[static_cast<size_t>(at)].count;
  uint32_t first = 0;
  for (Fetch& f : fetches_) {
    f.first = first;
    first += std::exchange(f.count, 0);
  }
  facts_.resize(rows.size());
  for (const bool types : {true, false}) {
    for (const auto& [at, row] : rows) {
      Fetch& f = fetches_[static_cast<size_t>(at)];
      if ((row.kind == FactKind::type) == types) facts_[f.first + f.count++] = row;
    }
  }
  for (const SourceId id : inputs) inputs_.push_back(step_of.at(static_cast<size_t>(id)));
  // Guards of arguments alone need nothing watched.
  std::vector<int32_t> steps(fetches_.size());
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int32_t>(i);
  prepare_arguments(steps);
  arguments_only_ = loose_alone_;
  if (!arguments_only_) return;
  quick_inputs_.assign(inputs_.size(), nullptr);
  for (size_t i = 0; i < inputs_.size(); ++i) loose_inputs_.emplace_back(static_cast<int32_t>(i), inputs_[i]);
}

Guards::~Guards() = default;

PyObject* Guards::keep(PyObject* object) {
  kept_.push_back(Owned::share(object));
  return object;
}

Guards::Row Guards::make_row(const Fact& fact, const std::vector<int32_t>& step_of) {
  Row row{fact.kind};
  row.number = fact.number;
  row.object = fact.object;
  const auto step = [&](int64_t id) -> int32_t {
    if (id < 0 || static_cast<size_t>(id) >= step_of.size() || step_of[static_cast<size_t>(id)] < 0) {
      PyErr_Format(PyExc_ValueError, "a guard names source %lld, and there is none", static_cast<long long>(id));
      throw PythonError();
    }
    return step_of[static_cast<size_t>(id)];
  };
  switch (fact.kind) {
    case FactKind::identity:
    case FactKind::type:
      if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(fact.object)) && fact.object != Py_None) {
        kept_.push_back(Owned::take(PyWeakref_NewRef(fact.object, nullptr)));
        row.weak = kept_.back().get();
      } else {
        keep(fact.object);
      }
      break;
    case FactKind::equal:
    case FactKind::keys:
      keep(fact.object);
      break;
    case FactKind::tensor:
      row.other = static_cast<int32_t>(tensors_.size());
      tensors_.emplace_back(fact.object, static_cast<uint64_t>(fact.number));
      row.object = nullptr;
      break;
    case FactKind::relation:
      row.other = static_cast<int32_t>(relations_.size());
      relations_.emplace_back(fact.object, step);
      row.object = nullptr;
      break;
    case FactKind::distinct:
      row.other = static_cast<int32_t>(distinct_.size());
      row.object = nullptr;
      distinct_.emplace_back();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fact.object); ++i)
        distinct_.back().push_back(step(PyLong_AsLong(PyTuple_GET_ITEM(fact.object, i))));
      break;
    case FactKind::sizes:
      row.other = static_cast<int32_t>(sizes_.size());
      row.object = nullptr;
      sizes_.push_back({size_check_in(fact.object), {}});
      for (const SourceId id : sizes_.back().check->sources()) sizes_.back().steps.push_back(step(id));
      break;
    case FactKind::same_object:
    case FactKind::other_object:
      row.other = step(fact.number);
      break;
    default:
      break;
  }
  return row;
}

bool Guards::holds(const Row& row, PyObject* object, PyObject* const* slots) const {
  if (row.kind == FactKind::absent) return object == nullptr;
  if (row.kind == FactKind::relation) return relations_[static_cast<size_t>(row.other)].holds(slots);
  if (row.kind == FactKind::distinct) {
    SmallVector<PyObject*, 64> objects;
    for (const int32_t at : distinct_[static_cast<size_t>(row.other)]) objects.push_back(slots[at]);
    std::sort(objects.begin(), objects.end());
    return std::adjacent_find(objects.begin(), objects.end()) == objects.end();
  }
  if (row.kind == FactKind::sizes) {
    const Sizes& sizes = sizes_[static_cast<size_t>(row.other)];
    SmallVector<PyObject*, 16> objects;
    for (const int32_t at : sizes.steps) {
      if (slots[at] == nullptr) return false;
      objects.push_back(slots[at]);
    }
    return sizes.check->holds({objects.data(), objects.size()});
  }
  if (object == nullptr) return false;
  switch (row.kind) {
    case FactKind::present:
      return true;
    case FactKind::type:
      return reinterpret_cast<PyObject*>(Py_TYPE(object)) == row.object;  // an object of it lives, so it lives
    case FactKind::identity:
      return object == row.object && (row.weak == nullptr || PyWeakref_GET_OBJECT(row.weak) == object);
    case FactKind::equal:
      return same_constant(object, row.object);
    case FactKind::length: {
      if (PyList_Check(object)) return PyList_GET_SIZE(object) == row.number;
      if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object) == row.number;
      if (PyDict_Check(object)) return PyDict_GET_SIZE(object) == row.number;
      const Py_ssize_t n = PyObject_Size(object);
      if (n < 0) PyErr_Clear();
      return n == row.number;
    }
    case FactKind::keys: {
      if (!PyDict_Check(object) || PyDict_GET_SIZE(object) != PyTuple_GET_SIZE(row.object)) return false;
      if (PyODict_Check(object)) {
        const Owned keys = dict_keys(object);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i)
          if (!same_constant(PyTuple_GET_ITEM(keys.get(), i), PyTuple_GET_ITEM(row.object, i))) return false;
        return true;
      }
      PyObject *key = nullptr, *value = nullptr;
      Py_ssize_t at = 0;
      for (Py_ssize_t i = 0; PyDict_Next(object, &at, &key, &value); ++i)
        if (!same_constant(key, PyTuple_GET_ITEM(row.object, i))) return false;
      return true;
    }
    case FactKind::tensor:
      return tensors_[static_cast<size_t>(row.other)].holds(object);
    case FactKind::same_object:
      return object == slots[row.other];
    case FactKind::other_object:
      return object != slots[row.other];
    case FactKind::truth: {
      const int truth = PyObject_IsTrue(object);
      if (truth < 0) PyErr_Clear();
      return truth == static_cast<int>(row.number);
    }
    default:
      return false;
  }
}

bool Guards::is_dead() const {
  if (dropped_) return true;
  for (const Row& row : facts_)
    if (row.weak && PyWeakref_GET_OBJECT(row.weak) == Py_None) return true;
  return std::any_of(tensors_.begin(), tensors_.end(), [](const TensorFact& t) { return t.is_dead(); });
}

void FoundInputs::drop_owned() {
  for (PyObject* object : owned_) Py_DECREF(object);
  owned_.clear();
  made_.clear();
}
void FoundInputs::own_all() {
  if (!owned_.empty()) return;
  for (size_t i = 0; i < size_; ++i) owned_.push_back(Py_NewRef(data_[i]));
  data_ = owned_.data();
}

bool Guards::check(PyObject* const* locals, PyObject* closure, FoundInputs& found) {
  if (dropped_ || !(state_ == GlobalState::now())) return false;
  if (arguments_only_) {
    found.data_ = check_arguments(locals);
    found.size_ = inputs_.size();
    return found.data_ != nullptr;
  }
  if (watched_ && watched_->unchanged(*this, locals, closure)) return check_loose(locals, closure, found);
  return walk_all(locals, closure, found);
}

bool Guards::walk_all(PyObject* const* locals, PyObject* closure, FoundInputs& found) {
  Walk walk(*this, locals, closure);
  PyObject** slots = walk.slots.data();
  for (size_t i = 0; i < fetches_.size(); ++i) {
    const Fetch& f = fetches_[i];
    PyObject* object = slots[i] = walk.fetch(f);
    if (object == nullptr && !f.may_be_absent) return false;
    for (uint32_t k = 0; k < f.count; ++k)
      if (!holds(facts_[f.first + k], object, slots)) return false;
  }
  for (const int32_t step : inputs_) found.owned_.push_back(Py_NewRef(slots[step]));
  found.data_ = found.owned_.data();
  found.size_ = inputs_.size();
  // What walks pass again and again is watched; what changes with every call is not tried for ever.
  if (++walks_ >= next_watch_) {
    walks_ = 0;
    if (next_watch_ < 4096) next_watch_ *= 2;
    try {
      watched_ = WatchedPart::make(*this, closure, slots);
    } catch (const PythonError&) {
      PyErr_Clear();
      watched_ = nullptr;
    }
    if (!watched_) return true;
    quick_inputs_.assign(inputs_.size(), nullptr);
    loose_inputs_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (watched_->has_step(static_cast<size_t>(inputs_[i])))
        quick_inputs_[i] = slots[inputs_[i]];
      else
        loose_inputs_.emplace_back(static_cast<int32_t>(i), inputs_[i]);
    }
    prepare_arguments(watched_->loose());
  }
  return true;
}

// The usual case: what is left to test are facts of arguments alone.
void Guards::prepare_arguments(const std::vector<int32_t>& steps) {
  loose_alone_ = true;
  arguments_.clear();
  for (const int32_t step : steps) {
    const Fetch& f = fetches_[static_cast<size_t>(step)];
    loose_alone_ = loose_alone_ && f.step == Step::local && !f.may_be_absent;
    for (uint32_t k = f.first; k < f.first + f.count; ++k) {
      const Row& row = facts_[k];
      loose_alone_ = loose_alone_ && row.kind != FactKind::relation && row.kind != FactKind::sizes &&
                     row.kind != FactKind::distinct && row.kind != FactKind::same_object &&
                     row.kind != FactKind::other_object && (!watched_ || !watched_->has_fact(k));
      arguments_.push_back(
          {f.index, row.kind == FactKind::tensor ? &tensors_[static_cast<size_t>(row.other)] : nullptr, &row});
    }
  }
  inputs_are_locals_ = true;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Fetch& f = fetches_[static_cast<size_t>(inputs_[i])];
    inputs_are_locals_ = inputs_are_locals_ && f.step == Step::local && static_cast<size_t>(f.index) == i &&
                         (!watched_ || !watched_->has_step(static_cast<size_t>(inputs_[i])));
  }
}

PyObject* const* Guards::check_arguments(PyObject* const* locals) {
  for (const Argument& a : arguments_) {
    PyObject* object = locals[a.local];
    if (object == nullptr || !(a.tensor ? a.tensor->holds(object) : holds(*a.row, object, nullptr))) return nullptr;
  }
  if (inputs_are_locals_) return locals;
  for (const auto& [at, step] : loose_inputs_)
    quick_inputs_[static_cast<size_t>(at)] = locals[fetches_[static_cast<size_t>(step)].index];
  return quick_inputs_.data();
}

PyObject* const* Guards::check_directly(PyObject* const* locals, PyObject* closure) {
  if (dropped_ || !(state_ == GlobalState::now())) return nullptr;
  const bool rest_holds = arguments_only_ || (watched_ && loose_alone_ && watched_->unchanged(*this, locals, closure));
  return rest_holds ? check_arguments(locals) : nullptr;
}

bool Guards::check_loose(PyObject* const* locals, PyObject* closure, FoundInputs& found) {
  if (loose_alone_) {
    found.data_ = check_arguments(locals);
    found.size_ = inputs_.size();
    return found.data_ != nullptr;
  }
  Walk walk(*this, locals, closure);
  walk.slots.clear();
  walk.slots.append(ListRef<PyObject*>(watched_->slots(), fetches_.size()));
  PyObject** slots = walk.slots.data();
  for (const int32_t step : watched_->loose()) {
    const Fetch& f = fetches_[static_cast<size_t>(step)];
    if (!watched_->has_step(static_cast<size_t>(step))) {
      slots[step] = walk.fetch(f);
      if (slots[step] == nullptr && !f.may_be_absent) return false;
    }
    for (uint32_t k = f.first; k < f.first + f.count; ++k)
      if (!watched_->has_fact(k) && !holds(facts_[k], slots[step], slots)) return false;
  }
  for (const auto& [at, step] : loose_inputs_) quick_inputs_[static_cast<size_t>(at)] = slots[step];
  found.made_ = std::move(walk.made);
  found.data_ = quick_inputs_.data();
  found.size_ = quick_inputs_.size();
  return true;
}

bool Guards::fetch(PyObject* const* locals, PyObject* closure, FoundInputs& found) {
  Walk walk(*this, locals, closure);
  for (size_t i = 0; i < fetches_.size(); ++i) walk.slots[i] = walk.fetch(fetches_[i]);
  for (const int32_t step : inputs_)
    if (walk.slots[static_cast<size_t>(step)] == nullptr) return false;
  for (const int32_t step : inputs_) found.owned_.push_back(Py_NewRef(walk.slots[static_cast<size_t>(step)]));
  found.data_ = found.owned_.data();
  found.size_ = inputs_.size();
  return true;
}

std::string Guards::why(PyObject* const* locals, PyObject* closure) {
  if (dropped_) return "the entry was dropped";
  const GlobalState now = GlobalState::now();
  if (!(now == state_)) {
    std::string what = executor::difference(state_.ambient, now.ambient);
    if (now.torch_function_disabled != state_.torch_function_disabled)
      what += (what.empty() ? "" : ", ") + std::string("torch_function");
    return "GLOBAL_STATE changed: " + what;
  }
  Walk walk(*this, locals, closure);
  PyObject** slots = walk.slots.data();
  for (size_t i = 0; i < fetches_.size(); ++i) {
    const Fetch& f = fetches_[i];
    PyObject* object = slots[i] = walk.fetch(f);
    if (object == nullptr && !f.may_be_absent)
      return text_of_step(static_cast<int32_t>(i)) + "  # there is no such object";
    for (uint32_t k = 0; k < f.count; ++k)
      if (!holds(facts_[f.first + k], object, slots)) return failure_text(f, facts_[f.first + k], object, slots);
  }
  return "";
}

int Guards::traverse(visitproc visit, void* arg) {
  for (const Owned& kept : kept_) Py_VISIT(kept.get());
  for (const TensorFact& tensor : tensors_)
    if (const int status = tensor.traverse(visit, arg)) return status;
  return 0;
}

}  // namespace sconce::python::capture
