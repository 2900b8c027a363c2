// Formulas: the derivatives of an operator as code. The generator translates the table's formulas (`grad.x`) into
// functions; those of custom operators run as graphs (body.h). Both read the values of the forward call that autograd
// kept for them.
#pragma once

#include <cstdint>
#include <span>

#include "sconce/types/value.h"

namespace sconce {

struct Formula;

// FormulaCall: the values that a formula reads. Those it does not read may be None.
struct FormulaCall {
  const Formula* formula;
  const Value* args;     // of the forward call
  const Value* results;  // of the forward call
  // One per result, or per element of a result that is a list. Zeros where there is none, except of results that do not
  // count (Formulas::differentiable), which are undefined.
  std::span<const Tensor> grads;
  uint32_t needs;          // bit i: the gradient of argument i is wanted
  bool owns_grad = false;  // the only gradient may be written over: it is like the result in sizes and dtype
};

// One formula. The sets have bit i for argument (or result) i of the schema. `facts` are read only for sizes, strides,
// dtype and rank: a tensor on the meta device serves.
struct Formula {
  uint32_t targets;  // the arguments whose gradients it gives
  uint32_t args, arg_facts;
  uint32_t results, result_facts;
  // The gradient: a tensor or None for Tensor and Tensor?, a list of tensors for Tensor[], a tuple of these where there
  // are several targets, in the order of arguments.
  Value (*run)(const FormulaCall& call);
  const void* context = nullptr;  // of an interpreted formula
};

struct Formulas {
  std::span<const Formula> all;
  uint32_t targets;         // the arguments that have gradients
  uint32_t differentiable;  // the results whose gradients a formula reads: the others do not require grad
};

}  // namespace sconce
