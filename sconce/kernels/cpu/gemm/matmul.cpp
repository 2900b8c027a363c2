// Products of matrices and vectors on tensors: strides go to gemm as they are, nothing is copied.
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/matmul_kernels.h"
#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(addend_as_bias, "addmm.bias", "a contiguous row, alpha and beta of 1");

ConstMatrix matrix(const Tensor& t) { return {t.data(), t.strides()[0], t.strides()[1]}; }
Matrix out_matrix(const Tensor& t) { return {t.data(), t.strides()[0], t.strides()[1]}; }
// One matrix of a batch.
ConstMatrix item(const Tensor& t) { return {t.data(), t.strides()[1], t.strides()[2]}; }

// Integer tensors take numbers as integers, cut towards zero.
Scalar in_dtype(const Tensor& t, const Scalar& s) {
  return category(t.dtype()) >= Category::floating || !s.is_real() ? s : Scalar(s.to_int());
}

// out = beta * self + alpha * product(out), where product writes `out`. With alpha 1 the product is added
// in the kernel.
template <class Product>
void add_product(const Tensor& self, const Scalar& given_beta, const Scalar& given_alpha, const Tensor& out,
                 Product&& product) {
  const Scalar beta = in_dtype(out, given_beta), alpha = in_dtype(out, given_alpha);
  const bool reads_self = !beta.equals(0);
  if (alpha.equals(1)) {
    Epilogue epilogue;
    const bool row =
        addend_as_bias(self.dim() <= 1 && beta.equals(1) && self.numel() == out.size(-1) && self.is_contiguous());
    if (!reads_self) {
      product(out, epilogue);
    } else if (row) {
      epilogue.bias = self.data();
      product(out, epilogue);
    } else {
      copy_tensor(out, beta.equals(1) ? self : sconce::mul(self, beta));
      epilogue.accumulate = true;
      product(out, epilogue);
    }
    return;
  }
  product(out, Epilogue());
  const Tensor scaled = sconce::mul(out, alpha);
  copy_tensor(out, reads_self ? sconce::add(scaled, beta.equals(1) ? self : sconce::mul(self, beta)) : scaled);
}

// float8 is multiplied and added up in float32, and rounded at the end.
Tensor wide(const Tensor& t) { return to_dtype(t, DType::float32); }

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  if (is_float8(out.dtype())) {
    const Tensor sums = empty_tensor(out.sizes(), DType::float32);
    mm(wide(self), wide(mat2), sums);
    return copy_tensor(out, sums);
  }
  gemm(out.dtype(), self.size(0), mat2.size(1), self.size(1), matrix(self), matrix(mat2), out_matrix(out));
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
           const Tensor& out) {
  if (is_float8(out.dtype())) {
    const Tensor sums = empty_tensor(out.sizes(), DType::float32);
    addmm(wide(self), wide(mat1), wide(mat2), beta, alpha, sums);
    return copy_tensor(out, sums);
  }
  add_product(self, beta, alpha, out, [&](const Tensor& target, const Epilogue& epilogue) {
    gemm(target.dtype(), mat1.size(0), mat2.size(1), mat1.size(1), matrix(mat1), matrix(mat2), out_matrix(target),
         epilogue);
  });
}

void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  gemm_batched(out.dtype(), self.size(0), self.size(1), mat2.size(2), self.size(2), item(self), item(mat2),
               {out.data(), out.strides()[1], out.strides()[2]},
               {self.strides()[0], mat2.strides()[0], out.strides()[0]});
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha,
             const Tensor& out) {
  add_product(self, beta, alpha, out, [&](const Tensor& target, const Epilogue& epilogue) {
    gemm_batched(target.dtype(), batch1.size(0), batch1.size(1), batch2.size(2), batch1.size(2), item(batch1),
                 item(batch2), {target.data(), target.strides()[1], target.strides()[2]},
                 {batch1.strides()[0], batch2.strides()[0], target.strides()[0]}, epilogue);
  });
}

void mv(const Tensor& self, const Tensor& vec, const Tensor& out) {
  gemm(out.dtype(), self.size(0), 1, self.size(1), matrix(self), {vec.data(), vec.strides()[0], 1}, {out.data(), 1, 1});
}

void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha,
           const Tensor& out) {
  add_product(self, beta, alpha, out, [&](const Tensor& target, const Epilogue& epilogue) {
    // A column, so a bias per column does not apply: the vector is added by rows.
    Epilogue column = epilogue;
    if (epilogue.bias) {
      copy_tensor(target, self);
      column.bias = nullptr;
      column.accumulate = true;
    }
    gemm(target.dtype(), mat.size(0), 1, mat.size(1), matrix(mat), {vec.data(), vec.strides()[0], 1},
         {target.data(), 1, 1}, column);
  });
}

void dot(const Tensor& self, const Tensor& tensor, const Tensor& out) {
  const int64_t n = self.numel();
  gemm(out.dtype(), 1, 1, n, {self.data(), 1, n == 0 ? 1 : self.strides()[0]},
       {tensor.data(), n == 0 ? 1 : tensor.strides()[0], 1}, {out.data(), 1, 1});
}

}  // namespace sconce::cpu
