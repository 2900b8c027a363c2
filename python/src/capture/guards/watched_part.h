// Watched guards: the part of an entry's guards that hangs on modules, functions and globals holds as long as nothing in it
// changed. A change is seen without fetching anything again.
//
// Note [How a change is seen]
//   dicts      3.12 and later: a watcher counts changes of all watched dicts (dict_epoch); 3.11: the numbers that changes of
//              all dicts take show whether there was one since the last look; after a change: the version tag of each dict is compared, and only what was fetched from a dict with another tag is fetched again
//   words      single words of memory that no watcher sees: the class and the dict of an instance, the contents of a
//              cell, the length and elements of a list, code and defaults of a function
//   classes    their version tags: a class attribute that changes gives it another
//   tensors    one counter of the library (tensor_changes): after a change, tensors are tested again
// The order is parents first, and the first difference ends it: an address is only read while all that it is reached
// through is as it was, so what is there is alive. The objects at the start are arguments (compared, and guarded by a weak
// reference, whose death ends the part) or kept by the guards.
#pragma once

#include <vector>

#include "capture/guards/guards.h"

namespace sconce::python::capture {

class WatchedPart {
 public:
  // Of guards that just held for these objects. Null when nothing in them can be watched.
  static std::unique_ptr<WatchedPart> make(const Guards& guards, PyObject* closure, PyObject* const* slots);

  // Is everything as it was? Then slot(i) are the objects of steps in the part.
  bool unchanged(const Guards& guards, PyObject* const* locals, PyObject* closure);

  bool has_step(size_t step) const { return stable_[step]; }
  // Steps that are not in the part, and whether it has all facts of a step.
  const std::vector<int32_t>& loose() const { return loose_; }
  PyObject* slot(size_t step) const { return slots_[step]; }
  PyObject* const* slots() const { return slots_.data(); }
  bool has_fact(size_t row) const { return stable_rows_[row]; }

 private:
  struct Root {
    int32_t local;
    PyObject* object;
    Owned weak;
  };
  struct Word {  // what must stand at an address: words, and version tags of dicts and classes
    const void* address;
    uint64_t value;
  };
  struct DictInfo {
    PyObject* dict = nullptr;      // null: the word is no tag of a dict
    int32_t first = 0, count = 0;  // what was fetched from it, in fetched_
  };
  class Builder;

  bool look_closely(const Guards& guards);
  bool same_contents(const Guards& guards, const DictInfo& info) const;

  std::vector<Root> roots_;
  PyObject* closure_ = nullptr;  // that cells were taken from; null: none were
  std::vector<Word> words_;      // all, parents first
  std::vector<DictInfo> infos_;  // of words_
  std::vector<Word> quick_;      // those that dict_epoch does not cover
  std::vector<int32_t> fetched_;
  std::vector<int32_t> tensor_rows_, tensor_steps_;
  uint64_t dict_epoch_ = 0, tensor_epoch_ = 0;
  int uncounted_ = 0;  // 3.11: so many calls go by before changes of dicts are counted again
  std::vector<bool> stable_, stable_rows_;
  std::vector<int32_t> loose_;
  std::vector<PyObject*> slots_;  // borrowed: see above
};

// Somebody marked sizes of a tensor (mark_dynamic): watched ones are tested again.
void note_tensor_marks();

}  // namespace sconce::python::capture
