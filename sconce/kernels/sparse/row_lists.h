// Row lists: a sparse matrix as lists of (column, element) by row, in the types that the loops over it take.
#pragma once

#include <complex>
#include <vector>

#include "sconce/tensor/element.h"
#include "sconce/tensor/tensor.h"

namespace sconce::sparse {

struct RowLists {
  Tensor pointers;               // int64 [rows + 1]: where each row begins
  std::vector<int64_t> columns;  // n
  std::vector<int64_t> order;    // n: which element of the tensor's values each one is
  Tensor values;                 // [n], contiguous, in this order
  int64_t rows() const { return pointers.numel() - 1; }
  const int64_t* starts() const { return pointers.data<int64_t>(); }
};

// Of a sparse matrix in any layout; elements with equal indices stay apart.
RowLists row_lists(const Tensor& matrix);

// The dtype in which products of a dtype are computed: 16-bit floats in float32, integers in int64.
DType product_dtype(DType dtype);

// f(T()) with the C++ type of a product_dtype.
template <class F>
auto with_product_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64:
      return f(double());
    case DType::complex64:
      return f(std::complex<float>());
    case DType::complex128:
      return f(std::complex<double>());
    case DType::int64:
      return f(int64_t());
    case DType::float32:
      return f(float());
    default:
      fail_not_implemented(dtype);  // float8: nothing is computed in it
  }
}

}  // namespace sconce::sparse
