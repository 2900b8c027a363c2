// OpTerms: the cost model of an operator, how much work a call is, and who may call it: columns of the table that
// budgets (budget_scope.h) and readers of files ask for.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {

// How many elements' worth of work a call with these arguments is, one Value per schema argument. Throws Error, or
// gives any number, for arguments that the operator refuses. A float: a product of sizes that a program made up does
// not overflow.
using WorkFunction = double (*)(const Value* args, size_t count);

struct OpTerms {
  WorkFunction work;  // null: it only calls operators, which pay themselves
  bool loads;         // fit for loading: __setstate__ of a file that nobody vouches for may call it
  bool named;         // of the namespace sconce::, and programs and files may name it all the same
};

// Of a custom operator: it pays for the elements of its tensors, and is not fit for loading.
SCONCE_API const OpTerms& terms_of(const Op& op);

// Whether programs and files must not name the operator: those of the namespace sconce:: are parts of others, which
// call them with arguments that fit.
SCONCE_API bool is_hidden(const Op& op);
inline constexpr const char* kHidden = "is an operator of Sconce itself, which programs and files cannot name";

// The terms of the table, beside the operators of each family: OpTerms without addresses.
struct TermsRecord {
  uint8_t work;  // which of `work`, from 1 on; 0: null
  bool loads, named;
};
struct FamilyTerms {
  std::span<Op> ops;
  const TermsRecord* terms;
  const WorkFunction* work;
};
std::vector<FamilyTerms> generated_terms();

// All elements of tensors among the arguments: what an operator with a kernel reads.
SCONCE_API double work_of_elements(const Value* args, size_t count);
// Those of lists, dicts and strings.
SCONCE_API double work_of_items(const Value* args, size_t count);

// Functions of the column `work`.
namespace body {

// Of a sparse tensor, those that it holds.
SCONCE_API double elements(const Tensor& t);
inline double elements(TensorList list) {
  double sum = 0;
  for (const Tensor& t : list) sum += elements(t);
  return sum;
}
// Of a tensor with these sizes.
inline double elements(IntList sizes) {
  double product = 1;
  for (const int64_t n : sizes) product *= static_cast<double>(std::max<int64_t>(n, 0));
  return product;
}
// The largest element of a tensor of numbers, as far as it is a number: a degree, a size that data decides.
SCONCE_API double largest_element(const Tensor& t);
inline double number(const Scalar& s) { return s.is_complex() ? 0 : s.to_double(); }
// Of a convolution, forward or transposed: each place of the padded input meets all weights.
SCONCE_API double convolution_work(const Tensor& input, const Tensor& weight, IntList padding);
inline double log2(double n) { return n > 2 ? std::log2(n) : 1; }

}  // namespace body
}  // namespace sconce
