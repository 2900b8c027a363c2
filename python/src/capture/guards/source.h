// Sources: how an object that capture saw is reached again when the compiled function is called. Facts: what capture saw
// of it, and what must hold again. Guards (guards.h) are made of both.
//
//   L['self'].layers[3].weight     {local 0} <- attribute "layers" <- element 3 <- attribute "weight"
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/guards/index_table.h"
#include "object.h"

namespace sconce::python::capture {

using SourceId = int32_t;
constexpr SourceId kNoSource = -1;

enum class Step : uint8_t {
  local,          // index: slot of the frame
  free_variable,  // index: the cell in the function's closure
  global,         // key: a name; object: the dict of globals
  builtin,        // key: a name; object: the dict of builtins
  constant,       // object: this very object, kept alive; needs no guard
  attribute,      // key: by the general protocol; runs code of C only
  instance_item,  // key: in the instance's own dict
  instance_dict,  // __dict__
  type,           // type(base)
  class_item,     // key: of a class, as its method resolution order has it, not bound
  item,           // key: of a dict, by value
  key_at,         // index: of a dict, in order
  element,        // index: of a list or tuple
  contents,       // of a cell
  defaults,
  keyword_defaults,
  closure,
  code,
  globals,  // of a function
  method_function,
  method_self,  // of a bound method
  gradient,     // of a tensor
  inner,        // index: an iterator that an enumerate or zip takes from
  iterated,     // what an iterator goes through
  ahead,        // index: the item with so many before it that an iterator is going to give: Note [Items ahead]
};

struct Source {
  SourceId base = kNoSource;
  Step step = Step::local;
  int32_t index = 0;
  PyObject* key = nullptr;     // kept by Sources
  PyObject* object = nullptr;  // kept by Sources
  bool operator==(const Source&) const = default;
};

enum class FactKind : uint8_t {
  present,   // it can be fetched
  absent,    // it cannot: no such key, attribute, name; an empty cell
  type,      // object: its class
  identity,  // object; not kept alive: an entry dies with it
  equal,     // object: same class and equal, floats bit by bit; for None, numbers, texts, bytes, tuples of such
  length,    // number
  keys,      // object: a tuple of all keys of a dict, in order
  tensor,  // object: a tensor with the same class, dtype, sizes, strides, device, requires_grad, keys; number: a set of
           // bits, one for each dimension whose size and stride are free
  same_object,   // number: a SourceId that reaches the same object
  other_object,  // number: a SourceId that reaches another object
  truth,         // number: 0 or 1, of an object whose truth is decided in C
  relation,      // object: an expression of sizes and numbers that must be true: Note [Relations]
  distinct,      // object: a tuple of SourceIds, which reach objects of their own each
  sizes,         // object: of size_check_object(), what was guessed of sizes of results must be right
};

// Note [Relations]
// An expression is an int, a float, or a tuple whose first element says what it is:
//   ("size", SourceId, dim)  ("stride", SourceId, dim)  ("offset", SourceId)            what a call brings of a tensor
//   ("int", SourceId)  ("float", SourceId)                                              a number that it brings
//   ("+", a, b)  "-" "*" "/" "//" "%" "**" "min" "max"  ("neg", a)                      as Python's
//   ("==", a, b)  "!=" "<" "<=" ">" ">="  ("and", a, b)  ("or", a, b)  ("not", a)       0 or 1
// What number.h does not compute (a division by zero, an int of more than 64 bits ...) makes the relation false.
struct Fact {
  SourceId source = kNoSource;
  FactKind kind = FactKind::type;
  PyObject* object = nullptr;  // kept by Sources
  int64_t number = 0;
  bool operator==(const Fact&) const = default;
};

// What an interface of texts needs of a source: "L['self'].layers[3].weight" for the last of `all` up to `source`.
std::string source_text(const std::vector<Source>& all, SourceId source, const std::vector<std::string>& locals,
                        const std::vector<std::string>& free, PyObject* globals);

// Sources and facts of one capture; each is there once.
class Sources {
 public:
  Sources() = default;
  Sources(const Sources&) = delete;

  SourceId add(Step step, SourceId base, int32_t index = 0, PyObject* key = nullptr, PyObject* object = nullptr);
  void guard(SourceId source, FactKind kind, PyObject* object = nullptr, int64_t number = 0);

  const std::vector<Source>& all() const { return sources_; }
  const std::vector<Fact>& facts() const { return facts_; }
  // "L['self'].layers[3].weight", with the names of the frame's locals and free variables.
  std::string text(SourceId source, const std::vector<std::string>& locals, const std::vector<std::string>& free) const;
  // "L_self_layers_3_weight_": what a graph calls an input from there.
  std::string input_name(SourceId source, const std::vector<std::string>& locals,
                         const std::vector<std::string>& free) const;
  // The globals of the evaluated function, for texts: names of others get the module's. Not kept.
  void set_globals(PyObject* dict) { globals_ = dict; }

 private:
  struct Hash {
    size_t operator()(const Source& s) const;
    size_t operator()(const Fact& f) const;
  };
  void keep(PyObject* object) {
    if (object != nullptr) kept_.push_back(Owned::share(object));
  }

  std::vector<Source> sources_;
  std::vector<Fact> facts_;
  IndexTable ids_, known_;
  std::vector<Owned> kept_;
  PyObject* globals_ = nullptr;
};

}  // namespace sconce::python::capture
