// SymInt: a size of a tensor that is not fixed while a graph is recorded, or a number computed from such sizes. An object of
// Python: its arithmetic is recorded, what decides something (a comparison, its use as an index) is a relation that guards
// check.
//
// Note [Witnesses]
// A size that is free is a symbol. Every operator is run on Meta tensors for the sizes that the program has, and for some
// other sizes, the witnesses; sizes of results that are the same for all do not depend on symbols. Numbers inside a graph
// are computed by it (aten::size), so nothing has to be inferred for them. Only for a guard the number must be known as an
// expression of sizes of inputs: exactly for these and arithmetic with them; for sizes of results, the linear function of
// one symbol, or the product of two, that all witnesses have. What has no such expression fixes the symbols.
// Symbols with the same size are one, and guards say that they stay the same.
#pragma once

#include <array>
#include <memory>

#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python::capture {

// The least size, twice and three times the program's.
inline constexpr size_t kWitnesses = 3;
using Witnesses = std::array<int64_t, kWitnesses>;

struct SymNumber {
  ir::Value* value = nullptr;  // of the graph
  int64_t hint = 0;            // in the program that is recorded
  Witnesses others{};
  Owned expression;  // Note [Relations] in source.h; null: not known
  SymNumber copy() const {
    SymNumber made{value, hint, others, {}};
    if (expression) made.expression = Owned::share(expression.get());
    return made;
  }
};

// Whoever records arithmetic of SymInts.
class SymOwner {
 public:
  virtual ~SymOwner() = default;
  // "+", "-", "*", "//", "%", "min", "max"; `b` unused for "neg".
  virtual Owned arithmetic(const char* op, PyObject* a, PyObject* b) = 0;
  // A relation that holds now, and must hold.
  virtual bool compare(const char* op, PyObject* a, PyObject* b) = 0;
  // From now on the number is what it is now.
  virtual void fix(PyObject* number) = 0;
};
// SymInts refer to it; it is null when the recorder is gone.
using SymOwnerPtr = std::shared_ptr<SymOwner*>;

Owned make_sym_int(SymOwnerPtr owner, SymNumber number);
// Null for other objects.
const SymNumber* sym_number(PyObject* object);

void add_sym_int(PyObject* module);

}  // namespace sconce::python::capture
