// Effects: what the evaluated program wrote to objects from outside, as code that writes it again after the graph.
//
//   self.steps = 3            store_attr, or object.__setattr__ where the class has a __setattr__ (it was evaluated)
//   log.append(x)             log.extend([x]) when the list only grew, else log[:] = [...]
//   queue.append(x)           queue.clear(); queue.extend([...])
//   next(items)               before all others: Note [Items ahead]
//   d["k"] = v; del d["j"]    item by item, or d.clear(); d.update({...}) when the order of keys changed
#pragma once

#include <vector>

#include "capture/output/rebuild.h"

namespace sconce::python::capture {

class Effects {
 public:
  explicit Effects(Evaluator& evaluator);

  bool empty() const { return writes_.empty(); }
  void scan(Rebuilder& rebuilder);
  void write(Writer& writer, Rebuilder& rebuilder, PyObject* globals);

 private:
  enum class Kind : uint8_t {
    moved,
    attribute,
    key,
    global,
    cell,
    list_extend,
    list_all,
    dict_all,
    set_all,
    deque_all
  };
  struct Write {
    Kind kind;
    Owned target;  // the object from outside
    Owned key;     // a name or key
    Owned value;   // null: deletes
  };
  void add(Kind kind, PyObject* target, PyObject* key, PyObject* value);
  void add_overlay(PyObject* object, Origins::Entry& entry);
  void add_shadow(PyObject* object, Origins::Entry& entry);

  Evaluator& e_;
  std::vector<Write> writes_;
};

}  // namespace sconce::python::capture
