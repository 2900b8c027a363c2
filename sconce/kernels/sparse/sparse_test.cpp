// Sparse tensors from construction to gradients; the numbers are PyTorch's.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/types/script_text.h"

namespace sconce {
namespace {

Tensor ints(std::initializer_list<int64_t> values, IntList sizes) {
  Tensor t = empty_tensor(sizes, DType::int64);
  std::copy(values.begin(), values.end(), t.data<int64_t>());
  return t;
}

Tensor doubles(std::initializer_list<double> values, IntList sizes) {
  Tensor t = empty_tensor(sizes, DType::float64);
  std::copy(values.begin(), values.end(), t.data<double>());
  return t;
}

// [[0, 1, 0], [2, 0, 3]], with the 1 in two halves.
Tensor halves() {
  return sparse_coo_tensor(ints({0, 1, 1, 0, 1, 0, 2, 1}, {2, 4}), doubles({0.5, 2, 3, 0.5}, {4}), {2, 3});
}

Tensor matrix() { return doubles({0, 1, 0, 2, 0, 3}, {2, 3}); }

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(Sparse, PrintsAsPyTorchDoes) {
  EXPECT_EQ(halves().to_string(),
            "tensor(indices=tensor([[0, 1, 1, 0],\n"
            "                       [1, 0, 2, 1]]),\n"
            "       values=tensor([0.5000, 2.0000, 3.0000, 0.5000]),\n"
            "       size=(2, 3), nnz=4, dtype=torch.float64, layout=torch.sparse_coo)");
  EXPECT_EQ(to_sparse_csr(matrix()).to_string(),
            "tensor(crow_indices=tensor([0, 1, 3]),\n"
            "       col_indices=tensor([1, 0, 2]),\n"
            "       values=tensor([1., 2., 3.]), size=(2, 3), nnz=3, dtype=torch.float64,\n"
            "       layout=torch.sparse_csr)");
  EXPECT_EQ(sparse_coo_tensor({2, 3}).to_string(),
            "tensor(indices=tensor([], size=(2, 0)),\n"
            "       values=tensor([], size=(0,)),\n"
            "       size=(2, 3), nnz=0, layout=torch.sparse_coo)");
  EXPECT_EQ(
      script_text(to_sparse(doubles({1, 0}, {2}))),
      "[ SparseCPUDoubleType{}\nindices:\n 0\n[ CPULongType{1,1} ]\nvalues:\n 1\n[ CPUDoubleType{1} ]\nsize:\n[2]\n]");
}

TEST(Sparse, ConvertsBetweenLayouts) {
  const Tensor dense = matrix();
  EXPECT_TRUE(equal(to_dense(halves()), dense));
  for (const Tensor& t : {to_sparse(dense), to_sparse_csr(dense), to_sparse_csc(dense), to_sparse_bsr(dense, {1, 3}),
                          to_sparse_bsc(dense, {2, 1})}) {
    EXPECT_TRUE(equal(to_dense(t), dense)) << t.to_string();
    EXPECT_TRUE(equal(to_dense(to_sparse_csc(to_sparse(t))), dense)) << t.to_string();
  }
  EXPECT_FALSE(is_coalesced(halves()));
  EXPECT_EQ(coalesce(halves()).to_string(), to_sparse(dense).to_string());
}

TEST(Sparse, RefusesIndicesOutsideOfTheSizes) {
  const Tensor one = doubles({1}, {1});
  EXPECT_EQ(message_of([&] {
              sparse_coo_tensor(ints({3}, {1, 1}), one, {3});
            }).find("size is inconsistent with indices") == std::string::npos,
            false);
  EXPECT_NE(message_of([&] { sparse_coo_tensor(ints({-1}, {1, 1}), one, {3}); }), "");
  EXPECT_NE(message_of([&] { sparse_coo_tensor(ints({0}, {1, 1}), one, {3, 4}); }), "");
  EXPECT_NE(message_of([&] { _sparse_coo_tensor_unsafe(ints({9}, {1, 1}), one, {3}); }), "");
  const auto csr = [&](std::initializer_list<int64_t> rows, int64_t column) {
    return message_of([&] { sparse_csr_tensor(ints(rows, {3}), ints({column}, {1}), one, {2, 3}); });
  };
  EXPECT_EQ(csr({0, 1, 1}, 2), "");
  for (const std::string& m :
       {csr({0, 1, 1}, 3), csr({0, 1, 1}, -1), csr({1, 1, 1}, 0), csr({0, 2, 1}, 0), csr({0, 0, 0}, 0)})
    EXPECT_NE(m, "");
}

TEST(Sparse, IndicesOfATensorNeverChange) {
  const Tensor indices = ints({0, 1}, {1, 2});
  const Tensor t = sparse_coo_tensor(indices, doubles({1, 2}, {2}), {2});
  fill_(indices, 1000);
  fill_(_indices(t), 1000);
  EXPECT_TRUE(equal(to_dense(t), doubles({1, 2}, {2})));
  mul_(_values(t), 2);  // values are shared
  EXPECT_TRUE(equal(to_dense(t), doubles({2, 4}, {2})));
}

TEST(Sparse, OtherOperatorsRefuseInPyTorchsWords) {
  EXPECT_NE(
      message_of([] { exp(halves()); }).find("Could not run 'aten::exp' with arguments from the 'SparseCPU' backend."),
      std::string::npos);
  EXPECT_NE(message_of([] { add(halves(), matrix()); }).find("add(sparse, dense) is not supported"), std::string::npos);
  EXPECT_NE(message_of([] { item_of(to_sparse(doubles({1}, {1}))); }), "");
  EXPECT_NE(message_of([] { copy_(matrix(), halves()); }).find("copy_() between dense and sparse"), std::string::npos);
  EXPECT_NE(message_of([] { sin_(halves()); }).find("sin_ requires coalesced input"), std::string::npos);
}

TEST(Sparse, InPlaceFormsReplaceWhatTheTensorHolds) {
  const Tensor t = halves();
  const uint32_t version = t.version();
  add_(t, halves());
  EXPECT_GT(t.version(), version);
  EXPECT_TRUE(equal(to_dense(t), mul(matrix(), 2)));
  const Tensor dense = matrix();
  add_(dense, t);
  EXPECT_TRUE(equal(dense, mul(matrix(), 3)));
  zero_(t);
  EXPECT_EQ(_nnz(t), 0);
}

TEST(Sparse, GradientsOfProducts) {
  const Tensor a = coalesce(halves()), b = doubles({1, 2, 3, 4, 5, 6}, {3, 2});
  autograd::set_requires_grad(a, true);
  autograd::set_requires_grad(b, true);
  autograd::backward({sum(_sparse_mm(a, b))});
  EXPECT_EQ(autograd::grad(a).layout(), Layout::sparse);
  EXPECT_TRUE(equal(to_dense(autograd::grad(a)), doubles({0, 7, 0, 3, 0, 11}, {2, 3})));
  EXPECT_TRUE(equal(autograd::grad(b), doubles({2, 2, 1, 1, 3, 3}, {3, 2})));
}

TEST(Sparse, GradientsReachValues) {
  const Tensor values = doubles({1, 2, 3}, {3});
  autograd::set_requires_grad(values, true);
  const Tensor t = sparse_coo_tensor(ints({0, 1, 1, 1, 0, 2}, {2, 3}), values, {2, 3});
  autograd::backward({sum(mul(to_dense(t), matrix()))});
  EXPECT_TRUE(equal(autograd::grad(values), doubles({1, 2, 3}, {3})));
  const Tensor csr_values = doubles({1, 2, 3}, {3});
  autograd::set_requires_grad(csr_values, true);
  const Tensor csr = sparse_csr_tensor(ints({0, 1, 3}, {3}), ints({1, 0, 2}, {3}), csr_values, {2, 3});
  autograd::backward({sum(matmul(csr, ones({3, 2}, DType::float64)))});
  EXPECT_TRUE(equal(autograd::grad(csr_values), doubles({2, 2, 2}, {3})));
}

TEST(Sparse, SparseGradientsAddUp) {
  const Tensor a = coalesce(halves());
  autograd::set_requires_grad(a, true);
  autograd::backward({sum(add(to_dense(a), to_dense(mul(a, 2))))});
  autograd::backward({sum(to_dense(a))});
  EXPECT_TRUE(equal(to_dense(autograd::grad(a)), doubles({0, 4, 0, 4, 0, 4}, {2, 3})));
}

}  // namespace
}  // namespace sconce
