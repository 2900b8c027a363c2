// Products of matrices and vectors on CUDA tensors: which matrices lie how, then product.h.
#include "sconce/generated/matmul_cuda_kernels.h"
#include "sconce/kernels/cuda/matmul/product.h"
#include "sconce/tensor/copy.h"

namespace sconce::cuda {
namespace {

Number number_of(const Scalar& s, DType dtype) {
  if (category(dtype) < Category::floating) {
    const int64_t n = s.is_real() ? static_cast<int64_t>(s.to_double()) : s.to_int();  // cut towards zero
    return {static_cast<double>(n), 0, n};
  }
  const std::complex<double> z = s.to_complex();
  return {z.real(), z.imag(), static_cast<int64_t>(z.real())};
}

// Rows and columns of the last two dimensions lie one after the other, without overlap.
bool is_usable(const Tensor& t) {
  const int64_t rows = t.size(-2), columns = t.size(-1), row = t.stride(-2), column = t.stride(-1);
  return (column == 1 && (row >= columns || rows == 1)) || (row == 1 && (column >= rows || columns == 1));
}
Tensor usable(const Tensor& t) {
  if (is_usable(t)) return t;
  const Tensor dense = empty_tensor(t.sizes(), t.dtype(), t.device());
  copy_tensor(dense, t);
  return dense;
}

// Of [batch, rows, columns] or [rows, columns]. The stride of a dimension of size 1 means nothing: it is replaced.
MatrixBatch matrices(const Tensor& t) {
  MatrixBatch m{t.data(), t.stride(-2), t.stride(-1), t.dim() == 3 ? t.stride(0) : 0};
  const int64_t rows = t.size(-2), columns = t.size(-1);
  if (columns == 1 && m.row != 1) m.column = 1;
  if (rows == 1 && m.column == 1) m.row = std::max<int64_t>(columns, 1);
  return m;
}

// out = alpha * (a @ b) + beta * out + bias; a and b have as many dimensions as out.
void compute(const Tensor& a, const Tensor& b, const Tensor& out, const Scalar& alpha, const Scalar& beta,
             const void* bias, const char* name) {
  if (out.numel() == 0) return;
  const Tensor left = usable(a), right = usable(b);
  Product product{.dtype = out.dtype(),
                  .batches = out.dim() == 3 ? out.size(0) : 1,
                  .m = out.size(-2),
                  .n = out.size(-1),
                  .k = a.size(-1),
                  .a = matrices(left),
                  .b = matrices(right),
                  .out = {out.data(), out.size(-1), 1, out.dim() == 3 ? out.stride(0) : 0},
                  .bias = bias,
                  .alpha = number_of(alpha, out.dtype()),
                  .beta = number_of(beta, out.dtype())};
  multiply(product, out.device(), name);
}

// out = beta * self + alpha * (a @ b): a vector over columns is added in the kernel, all else goes into `out` first.
void add_product(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
                 const Tensor& out, const char* name) {
  if (out.numel() == 0) return;
  const Number factor = number_of(beta, out.dtype());
  const bool reads_self = factor.real != 0 || factor.imag != 0;
  // cuBLAS refuses a bias that does not begin at a multiple of 16 bytes.
  const bool is_row = self.dim() == 1 && self.size(0) == out.size(-1) && self.stride(0) == 1 && beta.equals(1) &&
                      category(out.dtype()) == Category::floating && reinterpret_cast<uintptr_t>(self.data()) % 16 == 0;
  if (reads_self && is_row) return compute(a, b, out, alpha, Scalar(0), self.data(), name);
  if (reads_self) copy_tensor(out, self);
  compute(a, b, out, alpha, reads_self ? beta : Scalar(0), nullptr, name);
}

Tensor column_of(const Tensor& t) {
  return make_view(t, {t.numel(), 1}, {t.dim() == 0 ? 1 : t.stride(0), 1}, t.storage_offset());
}

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  compute(self, mat2, out, Scalar(1), Scalar(0), nullptr, "mm");
}
void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  compute(self, mat2, out, Scalar(1), Scalar(0), nullptr, "bmm");
}
void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
           const Tensor& out) {
  add_product(self, mat1, mat2, beta, alpha, out, "addmm");
}
void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha,
             const Tensor& out) {
  add_product(self, batch1, batch2, beta, alpha, out, "baddbmm");
}
void mv(const Tensor& self, const Tensor& vec, const Tensor& out) {
  compute(self, column_of(vec), column_of(out), Scalar(1), Scalar(0), nullptr, "mv");
}
void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha,
           const Tensor& out) {
  const Tensor added = self.dim() == 1 && self.size(0) == mat.size(0) ? column_of(self) : self;
  add_product(added, mat, column_of(vec), beta, alpha, column_of(out), "addmv");
}
void dot(const Tensor& self, const Tensor& tensor, const Tensor& out) {
  const Tensor row = make_view(self, {1, self.numel()}, {1, self.stride(0)}, self.storage_offset());
  compute(row, column_of(tensor), make_view(out, {1, 1}, {1, 1}, out.storage_offset()), Scalar(1), Scalar(0), nullptr,
          "dot");
}

}  // namespace sconce::cuda
