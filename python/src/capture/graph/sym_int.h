// SymInt, SymFloat: a number that is not fixed while a graph is recorded (a size of a tensor, an int or float of the program
// that changed between calls), or one computed from such. Objects of Python: their arithmetic is recorded, what decides
// something (a comparison, the use as an index) is a relation that guards check.
//
// Note [Witnesses]
// A size that is free is a symbol. Every operator is run on Meta tensors for the sizes that the program has, and for some
// other sizes, the witnesses; sizes of results that are the same for all do not depend on symbols. Numbers inside a graph
// are computed by it (aten::size), so nothing has to be inferred for them. Only for a guard the number must be known as an
// expression of sizes of inputs: exactly for these and arithmetic with them; for sizes of results, the linear function of
// one symbol, or the product of two, that all witnesses have. What has no such expression fixes the symbols.
// Symbols with the same size are one, and guards say that they stay the same; ints of the program are symbols of their own.
// Guesses from witnesses are claims, which guards check by running the shapes (size_replay.h).
#pragma once

#include <array>
#include <memory>

#include "capture/guards/number.h"
#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python::capture {

// The least size, twice and three times the program's.
inline constexpr size_t kWitnesses = 3;
using Witnesses = std::array<int64_t, kWitnesses>;

struct SymNumber {
  ir::Value* value = nullptr;  // of the graph
  Number hint;                 // in the program that is recorded
  std::array<Number, kWitnesses> others{};
  Owned expression;         // Note [Relations] in source.h; null: not known
  int terms = 1;            // of the expression
  int bits = 0;             // no more than so many, where ints of the program are in it; 0: sizes alone
  bool of_numbers = false;  // an int or float of the program is in it
  bool unknown = false;     // an element of a tensor: known when the graph runs, and `hint` is any number
  SymNumber copy() const {
    SymNumber made{value, hint, others, {}, terms, bits, of_numbers, unknown};
    if (expression) made.expression = Owned::share(expression.get());
    return made;
  }
};

// Whoever records arithmetic of such numbers.
class SymOwner {
 public:
  virtual ~SymOwner() = default;
  // "+", "-", "*", "/", "//", "%", "**", "neg" (`b` is null then). Empty: it cannot be recorded, both are to be fixed.
  virtual Owned arithmetic(const char* op, PyObject* a, PyObject* b) = 0;
  // A relation that holds now, and must hold.
  virtual bool compare(const char* op, PyObject* a, PyObject* b) = 0;
  // From now on the number is what it is now.
  virtual void fix(PyObject* number) = 0;
};
// SymInts refer to it; it is null when the recorder is gone.
using SymOwnerPtr = std::shared_ptr<SymOwner*>;

// Called where an unknown number would have to be known: sets an exception of Python, which is a break.
extern void (*number_is_wanted)();

// A SymInt or SymFloat, by its hint.
Owned make_sym_number(SymOwnerPtr owner, SymNumber number);
// Null for other objects.
const SymNumber* sym_number(PyObject* object);
// The int or float that it is, which is a fact from now on; other objects as they are.
Owned fixed_number(PyObject* object);

void add_sym_numbers(PyObject* module);

}  // namespace sconce::python::capture
