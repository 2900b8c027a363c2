// Guards: what must hold for a call so that an entry of the cache may answer it. Sources and facts become one array of steps,
// parents first: each fetches one object from an earlier one and tests its facts.
//
// Note [What guards keep alive]
// Keys, constants and values that are compared are kept. Objects that are compared by identity, and classes, are not: a
// weak reference stands beside the address, so that another object at the address of a dead one does not pass. Once an
// object is dead the guards can never hold again (is_dead). Objects without weak references (list, dict) are kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/guards/relation.h"
#include "capture/guards/size_check.h"
#include "capture/guards/source.h"
#include "capture/guards/tensor_fact.h"
#include "object.h"
#include "sconce/base/small_vector.h"
#include "sconce/executor/state_word.h"

namespace sconce::python::capture {

class WatchedPart;

// The objects of inputs. `data` is good until the guards are asked again; own_all() makes it good for longer.
class FoundInputs {
 public:
  FoundInputs() = default;
  FoundInputs(const FoundInputs&) = delete;
  ~FoundInputs() { clear(); }
  void clear() {
    if (!owned_.empty() || !made_.empty()) drop_owned();
    data_ = nullptr;
    size_ = 0;
  }
  void own_all();
  PyObject* const* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  friend class Guards;
  void drop_owned();
  PyObject* const* data_ = nullptr;
  size_t size_ = 0;
  SmallVector<PyObject*, 16> owned_;
  std::vector<Owned> made_;  // objects that were made on the way
};

// The state that every entry depends on.
struct GlobalState {
  executor::AmbientState ambient;
  bool torch_function_disabled = false;
  static GlobalState now();
  friend bool operator==(const GlobalState&, const GlobalState&) = default;
};

class Guards {
 public:
  // `inputs`: sources whose objects check() returns, those of the graph. Throws PythonError.
  Guards(const Sources& sources, const std::vector<SourceId>& inputs, std::vector<std::string> locals,
         std::vector<std::string> free, PyObject* globals);
  ~Guards();
  Guards(const Guards&) = delete;

  // Do all guards hold for these arguments (slots of the frame) and this closure (a tuple or null)? Then `found` gets the
  // objects of `inputs`. Clears exceptions; runs code of Python only where a dict has keys with an __eq__
  // written in Python.
  bool check(PyObject* const* locals, PyObject* closure, FoundInputs& found);
  // The same where nothing but arguments has to be looked at, and the objects of `inputs`, borrowed until the guards are
  // asked again. Null: check() has to decide.
  PyObject* const* check_directly(PyObject* const* locals, PyObject* closure);
  // The objects of `inputs`, without any check but that they are there (set_stance(skip_guard_eval_unsafe=True)).
  bool fetch(PyObject* const* locals, PyObject* closure, FoundInputs& found);
  // The first guard that does not hold: "tensor 'L['x']' size mismatch at index 0. expected 2, actual 3". Empty: all hold.
  std::string why(PyObject* const* locals, PyObject* closure);
  // "TENSOR_MATCH: check_tensor(L['x'], ...)", one for each, parents first.
  std::vector<std::string> texts() const;
  size_t size() const { return facts_.size(); }
  size_t input_count() const { return inputs_.size(); }

  bool is_dead() const;
  // Makes them never hold again.
  void drop() { dropped_ = true; }

  // For the collector.
  int traverse(visitproc visit, void* arg);

 private:
  friend class WatchedPart;
  struct Row {
    FactKind kind = FactKind::type;
    int32_t other =
        -1;  // same_object, other_object: a step; tensor, relation, sizes, distinct: an index into their arrays
    PyObject* object = nullptr;  // what it is compared with
    PyObject* weak = nullptr;    // the weak reference that says that object lives; null: it is kept
    int64_t number = 0;
  };
  struct Fetch {
    Step step;
    bool may_be_absent = false;  // a fact says so: then null is right
    int32_t from = -1, index = 0;
    PyObject* key = nullptr;
    Py_hash_t hash = 0;
    PyObject* object = nullptr;
    uint32_t first = 0, count = 0;  // of its rows
    SourceId source = kNoSource;
  };
  struct Walk;

  PyObject* keep(PyObject* object);
  Row make_row(const Fact& fact, const std::vector<int32_t>& step_of);
  bool holds(const Row& row, PyObject* object, PyObject* const* slots) const;
  std::string fact_text(const Fetch& fetch, const Row& row) const;
  std::string failure_text(const Fetch& fetch, const Row& row, PyObject* object, PyObject* const* slots) const;
  std::string text_of_step(int32_t step) const;

  std::vector<Fetch> fetches_;
  std::vector<Row> facts_;
  std::vector<TensorFact> tensors_;
  std::vector<Relation> relations_;
  struct Sizes {
    std::shared_ptr<SizeCheck> check;
    std::vector<int32_t> steps;  // what it has to be given
  };
  std::vector<Sizes> sizes_;
  std::vector<std::vector<int32_t>> distinct_;  // steps
  std::vector<int32_t> inputs_;
  std::vector<Owned> kept_;
  std::vector<Source> sources_;  // for texts; their objects are in kept_
  std::vector<std::string> locals_, free_;
  PyObject* globals_ = nullptr;  // in kept_
  GlobalState state_;
  bool dropped_ = false;

  // Note [Three speeds]: nothing changed (WatchedPart), something did (its closer look), all steps (walk).
  bool check_loose(PyObject* const* locals, PyObject* closure, FoundInputs& found);
  bool walk_all(PyObject* const* locals, PyObject* closure, FoundInputs& found);
  std::unique_ptr<WatchedPart> watched_;
  std::vector<PyObject*> quick_inputs_;                    // of watched_; borrowed
  std::vector<std::pair<int32_t, int32_t>> loose_inputs_;  // position, step
  bool loose_alone_ = false;        // loose steps are arguments, and no fact of theirs looks at other steps
  bool arguments_only_ = false;     // so are all steps
  bool inputs_are_locals_ = false;  // the first of them, in order
  struct Argument {
    int32_t local;
    const TensorFact* tensor;  // null: `row`
    const Row* row;
  };
  std::vector<Argument> arguments_;  // facts of loose steps, when they are alone
  PyObject* const* check_arguments(PyObject* const* locals);
  void prepare_arguments(const std::vector<int32_t>& steps);
  uint32_t walks_ = 0, next_watch_ = 2;
};

// Are these constants the same? Same class and equal; floats bit by bit; texts, bytes, numbers, tuples, slices of such by
// value, everything else by identity.
bool same_constant(PyObject* a, PyObject* b);

// _capture_guards(...): guards by hand, for tests.
void add_guards(PyObject* module);

}  // namespace sconce::python::capture
