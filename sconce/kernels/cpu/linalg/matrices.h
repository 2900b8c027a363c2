// Column-major batches: matrices as LAPACK wants them, the last two dimensions column by column in memory.
#pragma once

#include <complex>
#include <string_view>

#include "sconce/base/error.h"
#include "sconce/base/function_ref.h"
#include "sconce/base/small_vector.h"
#include "sconce/kernels/any/linalg_errors.h"
#include "sconce/kernels/cpu/linalg/lapack.h"
#include "sconce/tensor/tensor.h"

namespace sconce::linalg {

using lapack::Int;
using lapack::to_int;

// The dimensions in front of the matrix, and the same followed by a matrix' or a vector's sizes.
Dims batch_sizes(const Tensor& t);
Dims with_sizes(IntList batch, int64_t rows, int64_t columns);
Dims with_size(IntList batch, int64_t size);

// A new tensor, uninitialised, in which every matrix is stored by columns.
Tensor empty_columns(IntList sizes, DType dtype, Device device);
// The same with the values of `t`, broadcast to `sizes`. Of a Meta tensor, only the geometry.
Tensor copy_columns(const Tensor& t, IntList sizes);
inline Tensor copy_columns(const Tensor& t) { return copy_columns(t, t.sizes()); }
// Sets the elements above (or below) the diagonal of every matrix to zero, from the k-th diagonal on.
void clear_above(const Tensor& columns, int64_t k = 1);
void clear_below(const Tensor& columns, int64_t k = 1);

// Throw Error that begins with `op`.
void check_matrices(const Tensor& t, std::string_view op, std::string_view name = "A");
void check_square(const Tensor& t, std::string_view op, std::string_view name = "A");
void check_floating(const Tensor& t, std::string_view op, bool reduced = false);
// The sizes of A X = B, or of X A = B when left is false.
void check_product(const Tensor& a, const Tensor& b, std::string_view op, bool left = true);

// A batch of matrices stored by columns, read with the indices of a broadcast batch. Others are copied.
class Columns {
 public:
  Columns(const Tensor& t, IntList batch);
  int64_t ld() const { return ld_; }
  // The first element of matrix i of the broadcast batch.
  template <class T>
  T* at(int64_t i) const {
    return tensor_.data<T>() + offset(i);
  }

 private:
  int64_t offset(int64_t i) const;
  Tensor tensor_;
  Dims batch_, strides_;
  int64_t ld_, matrix_;  // matrix_: the distance between matrices where batch dimensions are plain, else -1
};

// The same for vectors (pivots, tau), stored densely.
class Vectors {
 public:
  Vectors(const Tensor& t, IntList batch);
  template <class T>
  T* at(int64_t i) const {
    return tensor_.data<T>() + i * length_;
  }

 private:
  Tensor tensor_;
  int64_t length_;
};

// A view with rows as columns.
Tensor transposed(const Tensor& t);

// body(begin, end) over the matrices of a batch, on several threads if `work` (operations for one) makes that pay.
void for_matrices(int64_t count, double work, FunctionRef<void(int64_t, int64_t)> body);

// f.operator()<T>() for the four types of LAPACK; others throw Error that begins with `op`.
template <class F>
decltype(auto) visit_lapack(DType t, std::string_view op, F&& f) {
  switch (t) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::complex64:
      return f.template operator()<std::complex<float>>();
    case DType::complex128:
      return f.template operator()<std::complex<double>>();
    default:
      fail_as(ErrorKind::not_implemented, "{}: not implemented for '{}'", op, dtype_legacy_name(t));
  }
}

// For routines that do not end on NaN or infinity.
bool all_finite(const float* p, int64_t n);
bool all_finite(const double* p, int64_t n);
template <class T>
bool all_finite(const T* p, int64_t n) {
  return all_finite(reinterpret_cast<const typename T::value_type*>(p), 2 * n);
}

}  // namespace sconce::linalg
