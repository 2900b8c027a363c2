// Origins: where objects that the evaluated program reads came from, and what it wrote to them in the meantime.
//
// Note [Shadows]
// An outside object is never written while evaluating. What the program sees of it is made of three layers, the first
// that knows an answer wins:
//   shadow    a copy of a list, tuple, dict or set with wrapped elements, made when code of C needs the whole of it
//   overlay   keys of a dict (also the dict of an instance or a module), attributes in slots, contents of a cell, that
//             were stored or deleted
//   original  read with a guard for just what was read
// On the stack lies the original always, so that identity is that of the program; code of C gets the shadow.
#pragma once

#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/graph/recorder.h"
#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

class Origins {
 public:
  struct Entry {
    SourceId source = kNoSource;
    SourceId items = kNoSource;  // of the dict of an instance: the instance, whose keys are Step::instance_item
    Owned object;                // kept alive, so that its address stays its own
    Owned shadow, snapshot;      // snapshot: what the shadow held when it was made, as a tuple or dict
    Owned overlay;               // a dict; kDeleted stands for what is gone
    Owned seen;                  // a dict: what was read before, by key
    int order = 0;               // of the first write to the overlay, or of the shadow; 0: none
    bool type_guarded = false, identity_guarded = false, length_guarded = false, is_cell = false, is_slots = false;
    bool globals = false;          // the globals of a function
    int32_t taken = 0;             // of an iterator: how often the program asked it for an item
    PyObject* taken_by = nullptr;  // the iterator that the program asked: this one, or one that takes from it
  };

  Origins(Sources& sources, Recorder& recorder) : sources_(sources), recorder_(recorder) {}

  std::function<uint64_t(const Sources&, SourceId, PyObject*)> free_dims;
  std::function<bool(const Sources&, SourceId, PyObject*, PyObject*)> free_number;
  std::vector<std::string> local_names, free_names;

  // What the program sees for a real object from there: a constant is guarded and stays as it is, a tensor becomes a
  // fake, anything else is registered and stays.
  Owned wrap(PyObject* object, SourceId source);
  // Registers an object without a look at what it is.
  Entry& enter(PyObject* object, SourceId source);
  // Registers an object that is reached through what is guarded already. One that is known from another source is guarded to
  // be this very object: the program sees that both are the same.
  void enter_constant(PyObject* object);

  Entry* find(PyObject* object) {
    const auto at = entries_.find(object);
    return at == entries_.end() ? nullptr : &at->second;
  }
  bool outside(PyObject* object) { return find(object) != nullptr; }
  SourceId source_of(PyObject* object);
  // The original of a shadow; the object itself for others. Borrowed.
  PyObject* canonical(PyObject* object) const {
    if (originals_.empty()) return object;
    const auto at = originals_.find(object);
    return at == originals_.end() ? object : at->second;
  }
  // The tensor that a fake stands for; the object itself for others. Borrowed.
  PyObject* real_of(PyObject* object) const {
    const auto at = reals_.find(object);
    return at == reals_.end() ? object : at->second;
  }

  // What the program sees of a real object: a fake for a tensor.
  PyObject* seen_as(PyObject* object) const {
    for (const auto& [fake, real] : reals_)
      if (real == object) return fake;
    return object;
  }

  // The object that was read from there first; null: none was.
  PyObject* owner_of(SourceId source) const {
    return source >= 0 && static_cast<size_t>(source) < owners_.size() ? owners_[static_cast<size_t>(source)] : nullptr;
  }
  // Does it have another content than the original?
  bool has_other_content(PyObject* object);

  void guard_type(PyObject* object);
  void guard_identity(PyObject* object);
  void guard_length(PyObject* object);

  // The object on which code of C may work in place of this one: its shadow, made now if need be; owned objects stay.
  // Throws Break for outside objects of kinds that cannot be copied. Borrowed.
  PyObject* absorb(PyObject* object);
  bool can_absorb(PyObject* object) const;

  // Dicts, owned or outside: lookups with guards, also for absence. Borrowed; null without an exception: not there.
  PyObject* dict_find(PyObject* dict, PyObject* key);
  bool dict_contains(PyObject* dict, PyObject* key);
  void dict_store(PyObject* dict, PyObject* key, PyObject* value);  // value null: deletes
  // The dict of an instance or module, registered; null when it has none. Borrowed.
  PyObject* instance_dict(PyObject* object);

  // What the class has under a name, in its method resolution order, guarded. Borrowed; null: nothing.
  PyObject* class_find(PyTypeObject* type, PyObject* name);
  void class_store(PyTypeObject* type, PyObject* name, PyObject* value);
  // The source of a class; constants need no other.
  SourceId class_source(PyTypeObject* type);

  // Cells. Borrowed; null: empty.
  PyObject* cell_contents(PyObject* cell);
  void cell_store(PyObject* cell, PyObject* value);  // value null: empties it
  // Attributes in slots (member descriptors) of outside objects.
  PyObject* slot_find(PyObject* object, PyObject* name, bool& known);
  void slot_store(PyObject* object, PyObject* name, PyObject* value);

  // The next item of an iterator from outside: Note [Items ahead]. Empty: it has ended, or `known` is false: it is of another
  // kind, or goes through what the program has written to.
  Owned take_item(PyObject* iterator, bool& known);

  // What was written so far, to see later whether more was.
  struct Written {
    int64_t stores = 0;
    std::vector<std::pair<PyObject*, Owned>> shadows;   // objects from outside, and what their copies held
    std::vector<std::pair<PyObject*, Owned>> overlays;  // the same for what was stored
  };
  Written written() const;
  // Does it all hold what it held? What was put back where it was has not changed.
  bool same(const Written& before) const;

  Sources& sources() { return sources_; }
  Recorder& recorder() { return recorder_; }
  std::pmr::unordered_map<PyObject*, Entry>& entries() { return entries_; }
  int next_order() { return ++order_; }
  // Marks keys of overlays that were deleted. Borrowed.
  static PyObject* deleted();
  // Marks those that a call of the graph will have changed by then: reading one is a break.
  static PyObject* changed();
  void mark_changed(PyObject* dict, PyObject* key);
  // Did the program write to this object from outside? `but`: a key that does not count.
  bool is_written(PyObject* object, PyObject* but = nullptr);
  // Keeps an object alive while the evaluation lasts.
  PyObject* keep(Owned object) {
    kept_.push_back(std::move(object));
    return kept_.back().get();
  }

 private:
  Owned wrap_tensor(PyObject* tensor, SourceId source);
  Owned wrap_number(PyObject* number, SourceId source);
  Entry& overlay_of(PyObject* object);
  bool claim(PyObject* iterator, PyObject* root);

  Sources& sources_;
  Recorder& recorder_;
  std::pmr::monotonic_buffer_resource memory_{4096};  // of entries_: they go all at once
  std::pmr::unordered_map<PyObject*, Entry> entries_{&memory_};
  std::unordered_map<PyObject*, PyObject*> originals_;  // shadow -> original
  std::unordered_map<PyObject*, PyObject*> reals_;      // fake -> tensor
  std::unordered_map<PyObject*, SourceId> classes_;
  std::vector<PyObject*> owners_;  // objects that were entered, by their first source; null: none was
  struct Lookup {
    PyTypeObject* type;
    PyObject* name;
    bool operator==(const Lookup&) const = default;
  };
  struct LookupHash {
    size_t operator()(const Lookup& l) const { return std::hash<void*>()(l.type) * 31 + std::hash<void*>()(l.name); }
  };
  std::unordered_map<Lookup, PyObject*, LookupHash> lookups_;
  std::vector<Owned> kept_;
  int order_ = 0;
  int64_t stores_ = 0;  // to overlays
  bool class_written_ = false;
};

// Exactly a collections.deque.
bool is_deque(PyObject* object);
// None, numbers, texts, bytes, and tuples of such: objects that are what they are wherever they come from.
bool is_constant(PyObject* object);
// Also objects that only identity tells apart, and that programs do not change: classes of C, functions of C, dtypes.
bool is_immutable(PyObject* object);

}  // namespace sconce::python::capture
