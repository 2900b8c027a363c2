// Without formats and float8: linear is one product by a weight that lies along k, where its body in the table calls
// addmm or matmul, which take any layout, batches and factors. Words of errors, and the operators that they name, are
// those of the body.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/dispatch/body_runtime.h"
#include "sconce/dispatch/direct.h"
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

void check_factors(const Tensor& a, const Tensor& b) {
  SCONCE_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.size(0),
               a.size(1), b.size(0), b.size(1));
  SCONCE_CHECK(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: {} != {}",
               dtype_name(a.dtype()), dtype_name(b.dtype()));
}

Tensor addmm_rows(KeySet keys, const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  SCONCE_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got {}-D tensor", mat2.dim());
  check_factors(mat1, mat2);
  SCONCE_CHECK(self.dtype() == mat1.dtype(), "self and mat2 must have the same dtype, but got {} and {}",
               dtype_name(self.dtype()), dtype_name(mat2.dtype()));
  const int64_t sizes[] = {mat1.size(0), mat2.size(1)};
  bool fits = self.dim() <= 2;
  for (int64_t d = 1; fits && d <= self.dim(); ++d) fits = self.size(-d) == sizes[2 - d] || self.size(-d) == 1;
  SCONCE_CHECK(fits, "The expanded size of the tensor must match the existing size: self is {}, the product is {}",
               self.sizes(), IntList(sizes, 2));
  return product(keys, "addmm", IntList(sizes, 2), mat1, mat2, self);
}

Tensor mm_rows(KeySet keys, const Tensor& self, const Tensor& mat2) {
  check_factors(self, mat2);
  return product(keys, "mm", {self.size(0), mat2.size(1)}, self, mat2, {});
}

Tensor mv_rows(KeySet keys, const Tensor& self, const Tensor& vec) {
  const int64_t m = self.size(0), k = self.size(1);
  SCONCE_CHECK(k == vec.size(0), "size mismatch, got input ({}), mat ({}x{}), vec ({})", m, m, k, vec.size(0));
  SCONCE_CHECK(self.dtype() == vec.dtype(), "expected scalar type {} but found {}", dtype_name(self.dtype()),
               dtype_name(vec.dtype()));
  return product(keys, "mv", {m}, self, vec, {});
}

Tensor dot_rows(KeySet keys, const Tensor& self, const Tensor& tensor) {
  SCONCE_CHECK(self.dtype() == tensor.dtype(), "dot : expected both vectors to have same dtype, but found {} and {}",
               dtype_name(self.dtype()), dtype_name(tensor.dtype()));
  const int64_t n = self.numel(), other = tensor.numel();
  SCONCE_CHECK(n == other,
               "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements, but "
               "got {} and {} elements respectively",
               n, other, n, other);
  return product(keys, "dot", {}, self, tensor, {});
}

using OfTwo = DirectFunction<Tensor(const Tensor&, const Tensor&), 0, -1>;
constexpr char two[] = "self mat2";
constexpr DirectTerms addmm_terms{"aten::addmm", "self mat1 mat2", 6, 0}, mm_terms{"aten::mm", two, 6, 0},
    mv_terms{"aten::mv", "self vec", 0, 0}, dot_terms{"aten::dot", "self tensor", 0, 0},
    matmul_terms{"aten::matmul", "self other", 7, 3};

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
  SCONCE_CHECK(input.dim() > 0 && weight.dim() > 0,
               "both arguments to linear need to be at least 1D, but they are {}D and {}D", input.dim(), weight.dim());
  const bool along = keys.has(Key::sparse) || weight.size(-1) <= 1 || weight.strides()[weight.dim() - 1] == 1;
  const Tensor transposed = sconce::t(along ? weight : contiguous_tensor(weight));
  if (!bias.defined()) return OfTwo::call(input, transposed, matmul_rows, matmul_terms);
  const Tensor out = DirectFunction<Tensor(const Tensor&, const Tensor&, const Tensor&), 0, -1>::call(
      bias, rows_of(input), transposed, addmm_rows, addmm_terms);
  return shaped_as(out, input, weight.size(0));
}

}  // namespace sconce::matmul_kernels
