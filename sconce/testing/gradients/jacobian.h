// Jacobian matrices as plain numbers, for gradcheck.
#pragma once

#include <string>
#include <vector>

#include "sconce/testing/gradients/gradcheck.h"

namespace sconce::testing {

// Real numbers by real numbers: a row per element of the input, a column per element of the result. Complex elements
// are two of each.
struct Jacobian {
  size_t rows = 0, columns = 0;
  std::vector<double> items;  // row by row

  Jacobian(size_t rows, size_t columns) : rows(rows), columns(columns), items(rows * columns) {}
  double& at(size_t row, size_t column) { return items[row * columns + column]; }
  double at(size_t row, size_t column) const { return items[row * columns + column]; }
  std::string to_string() const;  // at most 8 rows and columns
};

// Elements in logical order as float64, complex ones as two. Any floating dtype.
std::vector<double> real_elements(const Tensor& t);
size_t real_count(const Tensor& t);
// The other way: a tensor like `like` that has these numbers.
Tensor from_real_elements(const std::vector<double>& numbers, const Tensor& like);

// Whether f's gradient by it is asked for; whether a result has gradients.
bool is_differentiable(const Tensor& t);

// By central differences: one Jacobian per result of f. `input` says which one is moved.
std::vector<Jacobian> numerical_jacobians(const Differentiable& f, const std::vector<Tensor>& inputs, size_t input,
                                          double eps);
// By backward, for one result: one Jacobian per element of `inputs`, zeros if the result does not depend on it.
std::vector<Jacobian> analytical_jacobians(const Tensor& result, const std::vector<Tensor>& inputs);

}  // namespace sconce::testing
