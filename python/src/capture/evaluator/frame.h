// Frame: a function of Python while its bytecode is evaluated.
#pragma once

#include <memory>
#include <vector>

#include "capture/bytecode/instruction.h"
#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

// References that may be null, as the stack and the locals of a frame hold them.
class Slots {
 public:
  Slots() = default;
  explicit Slots(size_t n) : items_(n, nullptr) {}
  Slots(const Slots&) = delete;
  ~Slots() { cut(0); }

  size_t size() const { return items_.size(); }
  PyObject* operator[](size_t i) const { return items_[i]; }
  PyObject* top(size_t below = 0) const { return items_[items_.size() - 1 - below]; }
  void set(size_t i, Owned object) { Py_XDECREF(std::exchange(items_[i], object.give())); }
  void set_top(size_t below, Owned object) { set(items_.size() - 1 - below, std::move(object)); }
  void push(Owned object) { items_.push_back(object.give()); }
  void push_null() { items_.push_back(nullptr); }
  // Null for a null.
  Owned pop() {
    PyObject* object = items_.back();
    items_.pop_back();
    return object == nullptr ? Owned() : Owned::take(object);
  }
  // Empties them, first to last, as a frame of CPython does when it ends.
  void clear() {
    for (PyObject*& item : items_) Py_CLEAR(item);
  }
  void swap(size_t a, size_t b) { std::swap(items_[a], items_[b]); }
  void cut(size_t n) {
    while (items_.size() > n) {
      PyObject* object = items_.back();
      items_.pop_back();
      Py_XDECREF(object);
    }
  }

 private:
  std::vector<PyObject*> items_;
};

struct Frame {
  std::shared_ptr<const Code> code;
  Owned function;
  PyObject* globals = nullptr;   // borrowed from the function
  PyObject* builtins = nullptr;  // the same
  Slots fast, stack;
  std::vector<bool> raw;         // locals of the outermost frame that were not looked at yet
  std::vector<PyObject*> given;  // of the outermost frame: its arguments, borrowed
  Owned names;                   // of class bodies: the dict of names
  int at = 0;                    // the instruction
  int64_t step = 0;              // its number, counted over all frames
  int64_t first = 0;             // the number of the first one: no other frame has it
  int64_t aside = 0;             // the step at which a comprehension put a cell aside, to use its slot (3.12)
  Frame* back = nullptr;
  bool plain = false;     // entered by a call instruction of `back`, which pushes what this one returns
  bool yielded = false;   // run() returned because of a yield
  bool finished = false;  // of generators
  Owned handled;          // of generators that stand at a yield: the exception that they handle
};

// The arguments of a call; the last ones have names.
struct Arguments {
  std::vector<Owned> values;
  Owned names;  // a tuple, or null

  size_t named() const { return names ? static_cast<size_t>(PyTuple_GET_SIZE(names.get())) : 0; }
  size_t positional() const { return values.size() - named(); }
  PyObject* operator[](size_t i) const { return values[i].get(); }
  PyObject* name(size_t i) const { return PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i)); }
  // The value of a keyword; null: not given.
  PyObject* keyword(const char* text) const;
  std::vector<PyObject*> pointers() const {
    std::vector<PyObject*> all(values.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = values[i].get();
    return all;
  }
  void prepend(Owned self) { values.insert(values.begin(), std::move(self)); }

  static Arguments of(std::initializer_list<PyObject*> positional) {
    Arguments a;
    for (PyObject* o : positional) a.values.push_back(Owned::share(o));
    return a;
  }
};

}  // namespace sconce::python::capture
