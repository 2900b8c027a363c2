// Rebuilder: code that makes objects of the evaluated program again when the graph has run. An object that several places
// share is made once, so that identity is kept.
#pragma once

#include <unordered_map>
#include <vector>

#include "capture/evaluator/evaluator.h"
#include "capture/output/writer.h"

namespace sconce::python::capture {

// Thrown for an object that cannot be made again: the evaluation breaks in front of the instruction that made it.
struct Unrebuildable {
  PyObject* object;
  std::string what;
};

class Rebuilder {
 public:
  Rebuilder(Evaluator& evaluator, PyObject* globals) : e_(evaluator), globals_(globals) {}

  // First all objects that will be written; then the graph's outputs are known.
  void scan(PyObject* object);
  const std::vector<PyObject*>& outputs() const { return outputs_; }

  // Then: objects from outside are fetched, before anything is changed; `results`: the local with the graph's tuple.
  void fetch(Writer& writer);
  void set_results(int local) { results_ = local; }
  // Pushes the object.
  void write(Writer& writer, PyObject* object);

  // Is it among those that were scanned?
  bool has(PyObject* object) const { return items_.contains(object); }
  // It lies in this local.
  void place(PyObject* object, int local) { items_.at(object).local = local; }

  // Makes it and puts it aside, so that it is there on every way that the code takes from here on.
  void settle(Writer& writer, PyObject* object);

  // Empties the local in which it was put aside: nothing that is written from here on needs it.
  void forget(Writer& writer, PyObject* object);

  // The same without code of Python; null when that cannot be.
  std::optional<Recipe> recipe(PyObject* object);

 private:
  enum class Kind : uint8_t {
    constant,
    source,
    number,  // computed from numbers of the program, by code in front of the graph
    output,
    tuple,
    list,
    dict,
    set,
    slice,
    cell,
    function,
    method,
    c_method,
    super,
    instance,
    exception,
    reduced,
    later,  // Note [Values that come later]
  };
  struct Item {
    Kind kind = Kind::constant;
    int uses = 0;
    int local = -1;  // where it lies once it is made
    int output = 0;
    bool begun = false;  // of a tuple, or what __reduce_ex__ gave: its parts are being made
    SourceId source = kNoSource;
    Owned kept, parts;  // parts: what __reduce_ex__ gave; the dict of an instance
  };

  Item& classify(PyObject* object);
  void write_expression(Writer& writer, PyObject* expression);
  void fill(Writer& writer, PyObject* object, Item& item);
  void fill_container(Writer& writer, PyObject* object, PyTypeObject* base, int local);
  void write_exception(Writer& writer, PyObject* object, Item& item);
  void make_shell(Writer& writer, PyObject* object, Item& item);

  Evaluator& e_;
  PyObject* globals_;
  std::unordered_map<PyObject*, Item> items_;
  bool has_class(PyObject* o) const;
  std::vector<PyObject*> fetched_, outputs_;
  int results_ = -1;
};

}  // namespace sconce::python::capture
