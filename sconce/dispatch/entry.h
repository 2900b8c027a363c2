// OpEntry: the operator as data for a compiler. It has the arithmetic and the sizes of the table in a form that code
// reads: a fuser needs no parser and no list of operators of its own. op.info.entry is null if the table has neither.
//
// Note [Steps]
// A scalar expression is kept as text, for people, and as steps, for compilers (three-address code, in SSA form). Each
// step names its operands, which are earlier steps, by number; the last one is the result. Equal subexpressions are one
// step, and arithmetic of literals is done. `fma(alpha, other, self)` is
//     {argument, 2}  {argument, 1}  {argument, 0}  {fma, 0, 1, 2}
// Steps know no dtypes: an expression serves the classes in `classes`, and computes in the dtype that the rules of its
// case give. A comparison used as a number is 1 or 0, a number used as a condition is true unless 0. opgen's
// loops/expression.py describes the language; docs/operators.md the columns that this header carries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sconce/dispatch/op.h"

namespace sconce {

struct PointwiseLoops;  // kernels/cpu/engine/loop.h
struct ReduceLoops;     // kernels/cpu/engine/reduce_loop.h
class PreparedCall;     // dispatch/prepare.h
struct CallFacts;

// Makes a call ready to be repeated with other elements: see dispatch/prepare.h.
using PrepareCall = PreparedCall* (*)(const CallFacts& call);

enum class StepKind : uint8_t {
  // Leaves: `a` is a number of something else than a step.
  argument,     // argument a of the schema: an element of a tensor, or a number
  constant,     // Expression::constants[a]
  count,        // how many elements were reduced
  accumulator,  // accumulator a of a reduction
  left,         // accumulator a of the first of two partial results
  right,        // and of the second
  left_count,   // how many elements the first of two partial results has seen
  right_count,
  // Python's operators.
  neg,
  invert,
  not_,
  add,
  sub,
  mul,
  div,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  and_,
  or_,
  where,  // a ? b : c
// Functions, as opgen lists them: floor_div, remainder and pow (which are //, % and **), exp, fma, to_int, ...
#define SCONCE_STEP_FUNCTION(name, arity) name,
#include "sconce/generated/step_functions.inc"
#undef SCONCE_STEP_FUNCTION
};

struct Step {
  StepKind kind;
  uint8_t a = 0, b = 0, c = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

// A literal, for loops of floats and complex numbers, and for those of integers.
struct Constant {
  double real;
  int64_t integer;
};

SCONCE_API std::string_view step_name(StepKind kind);
// How many operands are steps: 0 for the leaves.
SCONCE_API int step_arity(StepKind kind);

// Classes of dtypes, as bits: an expression may differ by class.
enum NumberClass : uint8_t { kBools = 1, kIntegers = 2, kFloats = 4, kComplexNumbers = 8 };

// The role of an expression of a reduction.
enum class ExpressionRole : uint8_t {
  value,     // no reduction: the result itself
  map,       // what an element contributes to accumulator `index`
  combine,   // two partial results of it to one, elementwise
  identity,  // its value before the first element
  merge,     // the same as combine, where accumulators need each other and the counts
  finish,    // result `index` from the accumulators
};

// See Note [Steps].
struct Expression {
  const char* text;
  const Step* first;
  const Constant* constants;
  uint8_t size;     // number of steps
  uint8_t classes;  // bits of NumberClass
  ExpressionRole role = ExpressionRole::value;
  uint8_t index = 0;

  std::span<const Step> steps() const { return {first, size}; }
};

// The dtype that a pointwise operator computes in.
enum class DTypeRule : uint8_t {
  promote,   // the common dtype of the operands that take part
  floating,  // the same, but integers and bools compute in the default float dtype
  wide,      // the same again, and 16-bit floats are refused
  self,      // the dtype of the first operand; the others are converted to it
};
// The dtype that a reduction computes in, unless its `dtype` argument says another.
enum class ReduceDType : uint8_t {
  self,       // the input's
  sum,        // the input's; integers and bools in int64. An out= tensor's dtype comes first
  floating,   // the same for floats and complex numbers; others are an error
  promoted,   // the input's; integers and bools in the default float dtype
  predicate,  // bool
};
// The dtype of a result.
enum class ResultRule : uint8_t {
  common,     // what was computed in
  predicate,  // bool; of a reduction, uint8 for uint8, as PyTorch has it
  index,      // int64
  real,       // the real dtype of a complex one
};

// A pointwise operator, or one case of it: the first whose condition holds is taken.
struct PointwiseCase {
  const char* when;  // script over the arguments, null: always
  const Expression* first;
  uint8_t size;     // number of expressions: each serves other classes
  uint8_t classes;  // bits of NumberClass: others are refused
  DTypeRule dtype;
  ResultRule result;
  uint16_t promoting;  // bit k: argument k takes part in promotion
  uint16_t integral;   // must be an integer when the common dtype is one, a bool only with bools (alpha)
  uint16_t masks;      // is bool whatever the common dtype is
  const PointwiseLoops* loops;

  std::span<const Expression> expressions() const { return {first, size}; }
};

// A reduction, or one case of it. Its axes are the arguments `dim` and `keepdim`.
struct ReduceCase {
  const char* when;          // script over the arguments, null: always
  const char* loops;         // hand-written loops that have no expressions: "argmax"
  const char* accumulators;  // their names: "mean m2"
  const Expression* first;
  uint8_t size;
  uint8_t classes;
  ReduceDType dtype;
  ResultRule results[2];
  bool empty_is_error;      // there is no result for no elements
  bool empty_list_is_none;  // dim=[] reduces nothing; otherwise everything
  const ReduceLoops* kernels;

  std::span<const Expression> expressions() const { return {first, size}; }
};

// The forms of an operator share one.
struct OpEntry {
  const PointwiseCase* first_pointwise = nullptr;
  const ReduceCase* first_reduce = nullptr;
  const Expression* number = nullptr;  // of an operator on Python's numbers
  const char* absent = nullptr;        // what numbers are that are None: lines "weight: 1.0", script over the arguments
  const char* shape = nullptr;         // script: lines that return the sizes of the results, for valid arguments
  const char* scatter = nullptr;       // of a view, script: `self` with `src` written to what the view shows
  const char* functional = nullptr;    // "aten::fill.Scalar", where it is not a record beside this one
  const char* decompose = nullptr;     // of a leaf, script: the same results by other operators, for compilers
  PrepareCall prepare = nullptr;       // on the CPU, where there is something to prepare
  uint8_t cases = 0;

  std::span<const PointwiseCase> pointwise() const { return {first_pointwise, first_pointwise ? cases : size_t{0}}; }
  std::span<const ReduceCase> reductions() const { return {first_reduce, first_reduce ? cases : size_t{0}}; }
};

// The operation of a number operator that does just one with its arguments, in their order: add for `a + b`, to_float
// for `float(a)`. StepKind::argument for every other operator.
SCONCE_API StepKind number_operation(const Op& op);

// Whether a number operator computes an element of a range: start + index * step, of (index, start, step).
SCONCE_API bool is_range_element(const Op& op);

// The operator that gives the same values as new tensors, of an in-place or out= form; null where there is none.
SCONCE_API const Op* functional_twin(const Op& op);

}  // namespace sconce
