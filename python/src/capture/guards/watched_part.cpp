#include "capture/guards/watched_part.h"

#include <algorithm>
#include <unordered_map>

namespace sconce::python::capture {
namespace {

// Changes of watched dicts in the process.
uint64_t dict_epoch = 1;

#if PY_VERSION_HEX >= 0x030c0000
int on_dict_event(PyDict_WatchEvent, PyObject*, PyObject*, PyObject*) {
  ++dict_epoch;
  return 0;
}
// 3.13.0 does not tell watchers of stores to an instance whose dict shares the instance's inline values (mended in
// 3.13.1). A key that is no text makes the dict own its values, with the same identity and order.
void unshare(PyObject* dict) {
  if (Py_Version >> 16 != 0x030d || reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr) return;
  static PyObject* key = PyLong_FromLong(0x5c09ce);
  if (PyDict_SetItem(dict, key, Py_None) < 0 || PyDict_DelItem(dict, key) < 0) PyErr_Clear();
}
bool watch(PyObject* dict) {
  static const int watcher = PyDict_AddWatcher(on_dict_event);
  if (watcher < 0) return PyErr_Clear(), false;
  unshare(dict);
  return PyDict_Watch(watcher, dict) == 0;
}
#else
bool watch(PyObject*) { return true; }
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const uint64_t* tag_of(PyObject* dict) { return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }
#pragma GCC diagnostic pop

#if PY_VERSION_HEX < 0x030c0000
// Without watchers: every change of any dict takes the next number of one counter as the dict's tag. A dict of our own that is
// changed here, and gets the number behind the one that it got last, says that no dict was changed in between.
void count_dict_changes() {
  static PyObject* const dict = PyDict_New();
  static PyObject* const key = PyUnicode_InternFromString("epoch");
  static uint64_t last = 0;
  static bool turn = false;
  turn = !turn;
  if (dict == nullptr || key == nullptr || PyDict_SetItem(dict, key, turn ? Py_True : Py_False) < 0) {
    PyErr_Clear();
    ++dict_epoch;
    return;
  }
  const uint64_t now = *tag_of(dict);
  if (now != last + 1) ++dict_epoch;
  last = now;
}
#endif

uint64_t word_at(const void* address) {
  uint64_t word = 0;
  memcpy(&word, address, sizeof word);
  return word;
}

// Where an instance keeps the pointer to its dict; null: at no fixed place.
const void* dict_place(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return reinterpret_cast<PyObject**>(object) - 3;
  return type->tp_dictoffset > 0 ? reinterpret_cast<const char*>(object) + type->tp_dictoffset : nullptr;
}

bool is_immutable(PyObject* object) {
  if (PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_immutable(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  return !PyList_Check(object) && !PyDict_Check(object) && !PySet_Check(object) && !PyByteArray_Check(object);
}

uint64_t marks = 0;

uint64_t watched_tensor_changes() { return executor::tensor_changes() + marks; }

// After so few facts a walk is as fast.
constexpr size_t kFewest = 2;

}  // namespace

class WatchedPart::Builder {
 public:
  Builder(const Guards& guards, PyObject* closure, PyObject* const* slots)
      : g_(guards), closure_(closure), slots_(slots), part_(std::make_unique<WatchedPart>()) {}

  std::unique_ptr<WatchedPart> build() {
    const size_t n = g_.fetches_.size();
    part_->stable_.assign(n, false);
    part_->stable_rows_.assign(g_.facts_.size(), false);
    part_->slots_.assign(slots_, slots_ + n);
    has_children_.assign(n, false);
    for (const auto& f : g_.fetches_)
      if (f.from >= 0) has_children_[static_cast<size_t>(f.from)] = true;
    size_t watched_facts = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto& f = g_.fetches_[i];
      part_->stable_[i] = watch_step(i, f);
      bool all = part_->stable_[i];
      for (uint32_t row = f.first; row < f.first + f.count; ++row) {
        const bool stable = part_->stable_[i] && watch_fact(i, g_.facts_[row], row);
        part_->stable_rows_[row] = stable;
        watched_facts += stable;
        all = all && stable;
      }
      if (!all) part_->loose_.push_back(static_cast<int32_t>(i));
    }
    if (watched_facts < kFewest) return nullptr;
    finish();
    return std::move(part_);
  }

 private:
  void add(const void* address, PyObject* dict = nullptr) {
    part_->words_.push_back({address, word_at(address)});
    part_->infos_.push_back({dict});
  }
  bool word(const void* address) {
    if (words_.try_emplace(address, true).second) add(address);
    return true;
  }
  // The check of a dict, made at its first use: it stands before all that depends on it.
  bool dict(PyObject* object, size_t step) {
    const auto [at, added] = dicts_.try_emplace(object, dict_steps_.size());
    if (added) {
      if (!watch(object)) return false;
      add(tag_of(object), object);
      dict_steps_.emplace_back();
    }
    dict_steps_[at->second].push_back(static_cast<int32_t>(step));
    return true;
  }
  bool class_of(PyObject* object) {
    const bool may_change = (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyModule_Check(object);
    return !may_change || word(&object->ob_type);
  }
  bool instance_dict(PyObject* object) {
    const void* place = dict_place(object);
    return place != nullptr && class_of(object) && word(place);
  }

  // A number that is not fixed: it changes with each call, perhaps.
  bool is_free_number(const Guards::Fetch& f, PyObject* object) const {
    if (object == nullptr || !(PyLong_CheckExact(object) || PyFloat_CheckExact(object))) return false;
    for (uint32_t row = f.first; row < f.first + f.count; ++row)
      if (g_.facts_[row].kind == FactKind::equal) return false;
    return true;
  }

  bool watch_step(size_t i, const Guards::Fetch& f) {
    PyObject* object = slots_[i];
    if (is_free_number(f, object)) return false;
    switch (f.step) {
      case Step::local:
        // Instances with attributes of their own; others come anew with each call.
        if (!has_children_[i] || object == nullptr || dict_place(object) == nullptr ||
            !PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
          return false;
        part_->roots_.push_back({f.index, object, Owned::take(PyWeakref_NewRef(object, nullptr))});
        return true;
      case Step::free_variable:
        if (closure_ == nullptr || object == nullptr) return false;
        part_->closure_ = closure_;
        return word(&PyTuple_GET_ITEM(closure_, f.index));
      case Step::global:
      case Step::builtin:
        return PyUnicode_CheckExact(f.key) && dict(f.object, i);
      case Step::constant:
        return true;
      default:
        break;
    }
    if (f.from < 0 || !part_->stable_[static_cast<size_t>(f.from)]) return false;
    PyObject* from = slots_[f.from];
    if (from == nullptr) return false;
    switch (f.step) {
      case Step::instance_item: {
        if (!PyUnicode_CheckExact(f.key) || !instance_dict(from)) return false;
        PyObject** own = _PyObject_GetDictPtr(from);
        return own && *own && dict(*own, i);
      }
      case Step::instance_dict:
        return object != nullptr && instance_dict(from);
      case Step::type:
        return class_of(from);
      case Step::class_item: {
        if (!PyType_Check(from)) return false;
        const auto* type = reinterpret_cast<PyTypeObject*>(from);
        if (type->tp_version_tag == 0) return false;
        return word(&type->tp_version_tag);  // the rest of the word is padding
      }
      case Step::item:
      case Step::key_at:
        return PyDict_CheckExact(from) && (f.key == nullptr || PyUnicode_CheckExact(f.key)) && dict(from, i);
      case Step::element:
        if (object == nullptr) return false;
        if (PyTuple_Check(from)) return true;
        if (!PyList_CheckExact(from)) return false;
        return list(from) && word(&PyList_GET_ITEM(from, f.index));
      case Step::contents:
        return PyCell_Check(from) && word(&reinterpret_cast<PyCellObject*>(from)->ob_ref);
      case Step::method_function:
      case Step::method_self:
        return true;
      case Step::defaults:
        return word(&reinterpret_cast<PyFunctionObject*>(from)->func_defaults);
      case Step::keyword_defaults:
        return word(&reinterpret_cast<PyFunctionObject*>(from)->func_kwdefaults);
      case Step::code:
        return word(&reinterpret_cast<PyFunctionObject*>(from)->func_code);
      case Step::closure:
      case Step::globals:
        return true;  // read-only
      default:
        return false;
    }
  }
  bool list(PyObject* object) {
    return word(&reinterpret_cast<PyVarObject*>(object)->ob_size) &&
           word(&reinterpret_cast<PyListObject*>(object)->ob_item);
  }

  bool watch_fact(size_t i, const Guards::Row& row, uint32_t at) {
    PyObject* object = slots_[i];
    switch (row.kind) {
      case FactKind::present:
      case FactKind::absent:
      case FactKind::identity:
        return true;
      case FactKind::equal:
        return is_immutable(object);
      case FactKind::type:
        return class_of(object);
      case FactKind::same_object:
      case FactKind::other_object:
        return part_->stable_[static_cast<size_t>(row.other)];
      case FactKind::distinct: {
        const std::vector<int32_t>& steps = g_.distinct_[static_cast<size_t>(row.other)];
        return std::all_of(steps.begin(), steps.end(),
                           [&](int32_t step) { return part_->stable_[static_cast<size_t>(step)]; });
      }
      case FactKind::length:
      case FactKind::keys:
      case FactKind::truth:
        if (PyDict_CheckExact(object)) return dict(object, i);
        if (PyList_CheckExact(object)) return list(object);
        return PyTuple_CheckExact(object) || PyUnicode_CheckExact(object) || PyBool_Check(object) ||
               PyLong_CheckExact(object) || PyFloat_CheckExact(object) || object == Py_None;
      case FactKind::tensor: {
        if (!is_tensor(object) || tensor_of(object).is_view()) return false;
        part_->tensor_rows_.push_back(static_cast<int32_t>(at));
        part_->tensor_steps_.push_back(static_cast<int32_t>(i));
        return true;
      }
      default:
        return false;
    }
  }

  void finish() {
    size_t index = 0;
    for (size_t i = 0; i < part_->words_.size(); ++i) {
      DictInfo& info = part_->infos_[i];
      if (info.dict == nullptr) {
        part_->quick_.push_back(part_->words_[i]);
        continue;
      }
      const std::vector<int32_t>& steps = dict_steps_[index++];
      info.first = static_cast<int32_t>(part_->fetched_.size());
      info.count = static_cast<int32_t>(steps.size());
      part_->fetched_.insert(part_->fetched_.end(), steps.begin(), steps.end());
      part_->words_[i].value = *tag_of(info.dict);
    }
    part_->dict_epoch_ = dict_epoch;
    part_->tensor_epoch_ = watched_tensor_changes();
  }

  const Guards& g_;
  PyObject* closure_;
  PyObject* const* slots_;
  std::unique_ptr<WatchedPart> part_;
  std::vector<bool> has_children_;
  std::unordered_map<const void*, bool> words_;
  std::unordered_map<PyObject*, size_t> dicts_;
  std::vector<std::vector<int32_t>> dict_steps_;
};

void note_tensor_marks() { ++marks; }

std::unique_ptr<WatchedPart> WatchedPart::make(const Guards& guards, PyObject* closure, PyObject* const* slots) {
  return Builder(guards, closure, slots).build();
}

bool WatchedPart::unchanged(const Guards& guards, PyObject* const* locals, PyObject* closure) {
  for (const Root& root : roots_)
    if (locals[root.local] != root.object || PyWeakref_GET_OBJECT(root.weak.get()) != root.object) return false;
  if (closure_ && closure != closure_) return false;
#if PY_VERSION_HEX < 0x030c0000
  // Where dicts change between all calls, counting is in vain: it is tried again after some of them.
  if (uncounted_ == 0) count_dict_changes();
  const bool changed = uncounted_ > 0 || dict_epoch_ != dict_epoch;
  if (uncounted_ > 0)
    --uncounted_;
  else if (changed)
    uncounted_ = 15;
#else
  const bool changed = dict_epoch_ != dict_epoch;
#endif
  if (changed) {
    if (!look_closely(guards)) return false;
  } else {
    for (const Word& word : quick_)
      if (word_at(word.address) != word.value) return false;
  }
  const uint64_t tensors = watched_tensor_changes();
  if (tensors != tensor_epoch_) [[unlikely]] {
    for (size_t i = 0; i < tensor_rows_.size(); ++i) {
      const Guards::Row& row = guards.facts_[static_cast<size_t>(tensor_rows_[i])];
      if (!guards.holds(row, slots_[static_cast<size_t>(tensor_steps_[i])], slots_.data())) return false;
    }
    tensor_epoch_ = tensors;
  }
  return true;
}

bool WatchedPart::look_closely(const Guards& guards) {
  const uint64_t now = dict_epoch;
  for (size_t i = 0; i < words_.size(); ++i) {
    Word& word = words_[i];
    const uint64_t is = word_at(word.address);
    if (is == word.value) [[likely]]
      continue;
    if (infos_[i].dict == nullptr || !same_contents(guards, infos_[i])) return false;
    word.value = is;
  }
  dict_epoch_ = now;
  return true;
}

// Does a dict that changed still have what was fetched from it?
bool WatchedPart::same_contents(const Guards& guards, const DictInfo& info) const {
  PyObject* dict = info.dict;
  for (int32_t k = info.first; k < info.first + info.count; ++k) {
    const int32_t step = fetched_[static_cast<size_t>(k)];
    const Guards::Fetch& f = guards.fetches_[static_cast<size_t>(step)];
    PyObject* expected = slots_[static_cast<size_t>(step)];
    if (expected == dict) {  // facts of the dict itself
      for (uint32_t row = f.first; row < f.first + f.count; ++row)
        if (!guards.holds(guards.facts_[row], dict, slots_.data())) return false;
      continue;
    }
    if (f.step == Step::key_at) return false;  // order: the walk decides
    if (_PyDict_GetItem_KnownHash(dict, f.key, f.hash) != expected) return false;
  }
  return true;
}

}  // namespace sconce::python::capture
