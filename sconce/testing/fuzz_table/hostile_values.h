// Argument generation, for fuzzing: values of a schema's types that a hostile program may pass, and changes to values
// that were right. Everything follows from the random numbers: the same ones give the same values.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "sconce/dispatch/op.h"
#include "sconce/testing/fuzz_table/guard_pages.h"

namespace sconce::testing {

class HostileValues {
 public:
  explicit HostileValues(uint64_t seed);

  // One value for each argument, and a tuple behind them where the schema ends in "...".
  std::vector<Value> arguments(const Schema& schema);
  // One to three changes to arguments that fit.
  void mutate(const Schema& schema, std::vector<Value>& args);
  // All tensors, in lists too, again: each against a guard page of its own, with the strides that it has.
  void guard(std::vector<Value>& args);

  Value of_type(TypePtr type, const Argument* argument = nullptr);
  Tensor tensor();
  // A gradient for an output: mostly of its sizes and dtype.
  Tensor gradient_for(const Tensor& output);
  bool chance(int percent) { return static_cast<int>(below(100)) < percent; }
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  int64_t integer();
  double real();
  DType dtype();
  std::vector<int64_t> shape();
  std::string text();
  Value list_of(TypePtr element, const Argument* argument);
  Tensor strided(const std::vector<int64_t>& sizes, DType dtype);
  Tensor sparse();
  Tensor quantized(const std::vector<int64_t>& sizes);
  void fill(const Tensor& t);
  Value object_of(TypePtr type);
  Value changed(const Value& value, TypePtr type, const Argument* argument);
  Tensor changed(const Tensor& t);

  std::mt19937_64 random_;
  std::vector<int64_t> base_;  // sizes that arguments of one call tend to share
  DType base_dtype_ = DType::float32;
};

// Arguments as text: "float32[2, 3] strides [1, 2] requires_grad {0.5, nan, ...}".
std::string describe(const Value& value);

// Simpler forms of a value, most simple first, for the smallest form of a call that fails. `step` counts them from 0;
// nothing when there are no more, None itself (as a value) where the argument may be None.
std::optional<Value> simplified(const Value& value, const Argument& argument, int step);

}  // namespace sconce::testing
