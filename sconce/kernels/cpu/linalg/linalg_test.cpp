// What recorded calls do not show: errors, hostile arguments, threads, and a machine without LAPACK.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor numbers(IntList sizes, DType dtype = DType::float64) { return to(randn(sizes, DType::float64), dtype); }

Tensor pivots_of(std::initializer_list<int32_t> v) {
  const Tensor t = empty({static_cast<int64_t>(v.size())}, DType::int32);
  std::copy(v.begin(), v.end(), t.data<int32_t>());
  return t;
}

double distance(const Tensor& a, const Tensor& b) {
  return item_of(to(amax(abs(sub(a, b))), DType::float64)).to_double();
}

using testing::error_of;

// Two matrices, of which the second is all zeros.
Tensor second_is_zero() { return stack(std::vector<Tensor>{eye(3), zeros({3, 3})}); }

TEST(Linalg, ErrorsNameTheMatrix) {
  EXPECT_ERROR(linalg_inv(second_is_zero()), "linalg.inv: (Batch element 1): The diagonal element 1 is zero");
  EXPECT_ERROR(linalg_inv(zeros({2, 2})), "linalg.inv: The diagonal element 1 is zero");
  EXPECT_ERROR(linalg_solve(second_is_zero(), ones({3, 1})),
               "(Batch element 1): The solver failed because the input matrix is singular");
  EXPECT_ERROR(linalg_cholesky(second_is_zero()),
               "(Batch element 1): The factorization could not be completed because the input "
               "is not positive-definite (the leading minor of order 1");
  EXPECT_ERROR(linalg_lu_factor(zeros({2, 2})), "U[1,1] is zero");
  EXPECT_ERROR(linalg_ldl_factor(zeros({2, 2})), "torch.linalg.ldl_factor: D[1,1] is zero");
  EXPECT_ERROR(linalg_svd(full({2, 2}, NAN)), "non-finite values");
  EXPECT_ERROR(linalg_svdvals(full({2, 2}, INFINITY)), "non-finite values");
  EXPECT_ERROR(linalg_eigh(full({3, 3}, NAN)), "failed to converge");
  EXPECT_ERROR(linalg_eig(full({3, 3}, INFINITY)), "should not contain infs or NaNs");
}

TEST(Linalg, ShapesAndDtypesAreChecked) {
  const Tensor wide = ones({2, 3}), square = eye(3);
  EXPECT_ERROR(linalg_det(wide), "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices");
  EXPECT_ERROR(linalg_eigh(ones({3})), "must have at least 2 dimensions");
  EXPECT_ERROR(linalg_eigh(square, "X"), "Expected UPLO argument to be 'L' or 'U', but got X");
  EXPECT_ERROR(linalg_inv(ones({3, 3}, DType::int64)),
               "Expected a floating point or complex tensor as input. Got Long");
  EXPECT_ERROR(linalg_svd(ones({3, 3}, DType::float16)), "Low precision dtypes not supported. Got Half");
  EXPECT_ERROR(linalg_solve(square, wide), "Incompatible shapes of A and B for the equation AX = B (3x3 and 2x3)");
  EXPECT_ERROR(linalg_solve(square, ones({3}, DType::float64)), "same dtype");
  EXPECT_ERROR(linalg_qr(wide, "x"), "unrecognized mode 'x'");
  EXPECT_ERROR(linalg_matrix_norm(square, 3), "Order 3 not supported");
  EXPECT_ERROR(linalg_matrix_norm(square, 1, {0, 0}), "dims must be different");
  EXPECT_ERROR(linalg_multi_dot(std::vector<Tensor>{square, wide}),
               "tensors 0 and 1 with shapes [3, 3] and [2, 3] cannot be multiplied");
  EXPECT_ERROR(linalg_cross(ones({4}), ones({4})), "must have length 3. Got 4 and 4");
  EXPECT_ERROR(linalg_lstsq(square, square, {}, "x"), "parameter `driver` should be one of");
  EXPECT_ERROR(linalg_lu_factor(square, false), "LU without pivoting is not implemented on the CPU");
}

// What is added has the sizes of the product, or is repeated to them; on Meta tensors, too.
TEST(Linalg, AddmmRepeatsWhatFitsTheProduct) {
  for (const Device device : {Device(DeviceType::cpu), Device(DeviceType::meta)}) {
    const auto filled = [&](IntList sizes) { return zeros(sizes, {}, {}, device); };
    const Tensor a = filled({2, 3}), b = filled({3, 4});
    for (const Dims& sizes : {Dims{}, {1}, {4}, {1, 1}, {1, 4}, {2, 1}, {2, 4}}) {
      EXPECT_EQ(addmm(filled(sizes), a, b).sizes(), IntList({2, 4}));
    }
    for (const Dims& sizes : {Dims{0}, {2}, {3}, {2, 3}, {4, 2}, {4, 4}, {2, 0}, {1, 2, 4}}) {
      EXPECT_ERROR(addmm(filled(sizes), a, b),
                   "The expanded size of the tensor must match the existing size: self is [");
    }
    EXPECT_EQ(addmm(filled({4}), filled({0, 3}), b).sizes(), IntList({0, 4}));
    EXPECT_ERROR(addmm(filled({2, 4}), filled({0, 3}), b), "the product is [0, 4]");
  }
}

// LAPACK reads and writes where pivots point.
TEST(Linalg, PivotsAreChecked) {
  const Tensor a = eye(3);
  EXPECT_ERROR(linalg_lu_solve(a, pivots_of({0, 1, 2}), a), "greater or equal to 1");
  EXPECT_ERROR(linalg_lu_solve(a, pivots_of({1, 2, 4}), a), "smaller or equal to LU.size(-2)");
  EXPECT_ERROR(lu_unpack(a, pivots_of({1, 2, 40})), "between 1 and LU.size(-2)");
  EXPECT_ERROR(lu_unpack(a, pivots_of({1, 2})), "LU_pivots to have shape [3]");
  EXPECT_ERROR(linalg_ldl_solve(a, pivots_of({1, 2, 9}), a), "pivots must be those that ldl_factor gave");
  EXPECT_ERROR(linalg_ldl_solve(a, pivots_of({1, 2, -3}), a), "pivots must be those that ldl_factor gave");
}

TEST(Linalg, ThreadsShareABatch) {
  manual_seed(0);
  const Tensor a = numbers({64, 20, 20}), b = numbers({64, 20, 3});
  const Tensor x = linalg_solve(a, b), s = linalg_svdvals(a);
  set_num_threads(4);
  EXPECT_EQ(distance(linalg_solve(a, b), x), 0);
  EXPECT_EQ(distance(linalg_svdvals(a), s), 0);
  set_num_threads(1);
  EXPECT_LT(distance(matmul(a, x), b), 1e-9);
}

// One batch with norms from 0 to 60, each scaled by itself: exp of [[0, -t], [t, 0]] turns by t.
TEST(Linalg, ExponentialsOfSmallAndLargeMatrices) {
  const std::vector<double> angles = {0, 1e-3, 0.5, 7, 60};
  const Tensor a = zeros({5, 2, 2}, DType::float64), expected = zeros({5, 2, 2}, DType::float64);
  for (size_t i = 0; i < angles.size(); ++i) {
    double *from = a.data<double>() + 4 * i, *to = expected.data<double>() + 4 * i;
    from[1] = -angles[i];
    from[2] = angles[i];
    to[0] = to[3] = std::cos(angles[i]);
    to[1] = -std::sin(angles[i]);
    to[2] = std::sin(angles[i]);
  }
  EXPECT_LT(distance(linalg_matrix_exp(a), expected), 1e-13);
  EXPECT_LT(distance(linalg_matrix_exp(to(a, DType::float32)), expected), 3e-5);
}

TEST(Linalg, OutTensorsAreResizedAndFilled) {
  const Tensor a = numbers({4, 3}), u = empty({0}, DType::float64), s = empty({0}, DType::float64),
               vh = empty({0}, DType::float64);
  linalg_svd_out(u, s, vh, a, false);
  EXPECT_LT(distance(matmul(mul(u, unsqueeze(s, -2)), vh), a), 1e-12);
  const Tensor inverse = empty({3, 3}, DType::float64);
  linalg_inv_out(inverse, narrow(a, 0, 0, 3));
  EXPECT_LT(distance(matmul(inverse, narrow(a, 0, 0, 3)), eye(3, DType::float64)), 1e-9);
}

// Distances that must be rounding errors, for matrices of an order that LAPACK would get.
double worst_of_own_loops() {
  manual_seed(0);
  double worst = 0;
  for (const DType dtype : {DType::float64, DType::complex128}) {
    const Tensor a = randn({20, 20}, dtype), b = randn({20, 3}, dtype), unit = eye(20, dtype);
    const Tensor positive = add(matmul(a, adjoint(a)), unit);
    const auto [q, r] = linalg_qr(narrow(a, 1, 0, 12), "complete");
    const auto [h, tau] = geqrf(a);
    const auto [qa, ra] = linalg_qr(a);
    const Tensor upper = linalg_cholesky(positive, true), lower = linalg_cholesky(positive);
    const Tensor pairs[][2] = {
        {matmul(a, linalg_solve(a, b)), b},
        {matmul(linalg_solve(a, adjoint(b), false), a), adjoint(b)},
        {matmul(a, linalg_inv(a)), unit},
        {matmul(lower, adjoint(lower)), positive},
        {matmul(adjoint(upper), upper), positive},
        {matmul(positive, cholesky_solve(b, lower)), b},
        {matmul(positive, cholesky_inverse(upper, true)), unit},
        {matmul(q, r), narrow(a, 1, 0, 12)},
        {matmul(adjoint(q), q), unit},
        {ormqr(h, tau, unit), qa},
        {ormqr(h, tau, unit, false, true), adjoint(qa)},
        {matmul(linalg_solve_triangular(ra, adjoint(b), true, false), ra), adjoint(b)},
    };
    for (const auto& [got, expected] : pairs) worst = std::max(worst, distance(got, expected));
  }
  return worst;
}

// In a process of its own, since the library is looked for once.
TEST(LinalgDeathTest, WithoutLapackTheErrorSaysWhatToInstall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto without = [] {
    setenv("SCONCE_LAPACK", "none", 1);
    const Tensor a = eye(3);
    linalg_vecdot(a, a);
    linalg_cross(a, a);
    linalg_matrix_power(a, -3);
    linalg_multi_dot(std::vector<Tensor>{a, a, a});
    linalg_matrix_norm(a, 1);
    linalg_norm(a, Scalar(3), IntList{0});
    linalg_vander(ones({3}));
    linalg_matrix_exp(a);
    linalg_svd(ones({0, 3, 3}));
    const std::string text = error_of([&] { linalg_svd(a); }) + error_of([&] { linalg_eigvalsh(a); });
    std::fputs(text.c_str(), stderr);
    std::exit(worst_of_own_loops() < 1e-10 ? 0 : 1);
  };
  EXPECT_EXIT(without(), ::testing::ExitedWithCode(0),
              "linalg.svd: needs LAPACK.*Install the Debian package libopenblas0-pthread.*linalg.eigh: needs LAPACK");
}

// LAPACK writes to the diagonal of its input for a while, and OpenBLAS reads behind the end.
TEST(Linalg, OrmqrOnlyReadsItsInput) {
  for (const DType dtype : {DType::float32, DType::complex64, DType::complex128}) {
    const size_t bytes = size_t{4096};
    void* page = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const auto at = static_cast<int64_t>(bytes / item_size(dtype)) - 25;  // the page ends behind the matrix
    const Tensor self = make_tensor(wrap_storage(page, bytes, nullptr, nullptr), dtype, {5, 5}, {1, 5}, at);
    copy_(self, numbers({5, 5}, dtype));
    ASSERT_EQ(::mprotect(page, bytes, PROT_READ), 0);
    ASSERT_EQ(::mprotect(static_cast<char*>(page) + bytes, bytes, PROT_NONE), 0);
    for (const bool transpose : {false, true}) {
      const Tensor tau = ones({5}, dtype), other = numbers({10, 5}, dtype);
      EXPECT_EQ(distance(ormqr(self, tau, other, false, transpose), ormqr(clone(self), tau, other, false, transpose)),
                0);
    }
    ::munmap(page, 2 * bytes);
  }
}

}  // namespace
}  // namespace sconce
