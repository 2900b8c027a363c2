// Without formats and float8: linear is one product by a weight that lies along k, where its body in the table calls
// addmm or matmul, which take any layout, batches and factors. Words of errors, and the operators that they name, are
// those of the body: opgen writes them (sconce/small/linear_body.h).
#include "sconce/small/linear_body.h"

#include "sconce/base/weak.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/same.h"
#include "sconce/generated/view.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/lite/without/refuse.h"
#include "sconce/tensor/inner_view.h"

namespace sconce::matmul_kernels {
namespace {

// bias + a * b, of m * n elements. b is a transposed weight [k, n], or a vector [k], and lies along k.
Tensor product(KeySet keys, const char* name, IntList sizes, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Tensor out = make_output({Dims(sizes), a.dtype(), MemoryFormat::contiguous}, a.device());
  if (out.is_meta()) return out;
  if (keys.has(Key::meta)) fail_on_meta(name);
  if (is_float8(out.dtype())) lite::refuse_dtype(out.dtype());
  const int64_t k = b.size(0), n = b.dim() == 2 ? b.size(1) : 1, m = n == 0 ? 0 : out.numel() / n;
  Epilogue epilogue;
  if (bias.defined()) {
    if (bias.dim() <= 1 && bias.numel() == n && bias.is_contiguous()) {
      epilogue.bias = bias.data();
    } else {
      copy_tensor(out, bias);
      epilogue.accumulate = true;
    }
  }
  const IntList steps = a.strides();
  gemm_along_k(out.dtype(), m, n, k, {a.data(), steps[0], k == 0 ? 1 : steps[steps.size() - 1]},
               {b.data(), 1, b.strides()[b.dim() - 1]}, {out.data(), n, 1}, epilogue);
  return out;
}

Tensor addmm_rows(KeySet keys, const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  check_addmm(self, mat1, mat2);
  return product(keys, "addmm", {mat1.size(0), mat2.size(1)}, mat1, mat2, self);
}

Tensor mm_rows(KeySet keys, const Tensor& self, const Tensor& mat2) {
  check_mm(self, mat2);
  return product(keys, "mm", {self.size(0), mat2.size(1)}, self, mat2, {});
}

Tensor mv_rows(KeySet keys, const Tensor& self, const Tensor& vec) {
  check_mv(self, vec);
  return product(keys, "mv", {self.size(0)}, self, vec, {});
}

Tensor dot_rows(KeySet keys, const Tensor& self, const Tensor& tensor) {
  check_dot(self, tensor);
  return product(keys, "dot", {}, self, tensor, {});
}

using OfTwo = DirectFunction<Tensor(const Tensor&, const Tensor&), 0, -1>;

// A tensor as a matrix of its rows.
Tensor rows_of(const Tensor& t) {
  if (t.dim() == 2) return t;
  return make_contiguous_view(contiguous_tensor(t), {body::prod(body::slice_of(t.sizes(), 0, -1)), t.size(-1)});
}
// A product of such rows, as a tensor of their shape with `columns` in place of the last size; none: without it.
Tensor shaped_as(const Tensor& product, const Tensor& t, std::optional<int64_t> columns) {
  if (product.dim() == t.dim()) return product;
  Dims sizes(body::slice_of(t.sizes(), 0, -1));
  if (columns) sizes.push_back(*columns);
  return make_contiguous_view(product, sizes);
}

Tensor matmul_rows(KeySet, const Tensor& self, const Tensor& other) {
  if (other.dim() == 2) return shaped_as(OfTwo::call(rows_of(self), other, mm_rows, mm_terms), self, other.size(1));
  if (self.dim() == 1) return OfTwo::call(self, other, dot_rows, dot_terms);
  return shaped_as(OfTwo::call(rows_of(self), other, mv_rows, mv_terms), self, {});
}

}  // namespace

SCONCE_WEAK Tensor linear(KeySet keys, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_linear(input, weight);
  const bool along = keys.has(Key::sparse) || weight.size(-1) <= 1 || weight.strides()[weight.dim() - 1] == 1;
  const Tensor transposed = sconce::t(along ? weight : contiguous_tensor(weight));
  if (!bias.defined()) return OfTwo::call(input, transposed, matmul_rows, matmul_terms);
  const Tensor out = DirectFunction<Tensor(const Tensor&, const Tensor&, const Tensor&), 0, -1>::call(
      bias, rows_of(input), transposed, addmm_rows, addmm_terms);
  return shaped_as(out, input, weight.size(0));
}

}  // namespace sconce::matmul_kernels
