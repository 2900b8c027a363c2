// What the recorded cases do not say of operators on order: errors, out= tensors, several threads, long lines.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using Ints = std::vector<int64_t>;

Tensor ints(std::initializer_list<int64_t> v) {
  const Tensor t = empty({static_cast<int64_t>(v.size())}, DType::int64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}
Tensor floats(std::initializer_list<float> v) {
  const Tensor t = empty({static_cast<int64_t>(v.size())});
  std::copy(v.begin(), v.end(), t.data<float>());
  return t;
}
Ints values_of(const Tensor& t) {
  const Tensor dense = contiguous(to(t, DType::int64));
  return {dense.data<int64_t>(), dense.data<int64_t>() + dense.numel()};
}
// n numbers in no order, each once: i * 7919 mod n, for n without the factor 7919.
Tensor shuffled(int64_t n, DType dtype) {
  const Tensor t = empty({n}, DType::int64);
  for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = i * 7919 % n;
  return to(t, dtype);
}

TEST(OrderedOps, SayWhatTheyCannotDo) {
  const Tensor x = floats({3, 1, 2}), z = to(x, DType::complex64), b = gt(x, 1);
  EXPECT_ERROR(sort(z), "complex");
  EXPECT_ERROR(sort(x, 1), "Dimension out of range");
  EXPECT_ERROR(topk(x, 4), "selected index k out of range");
  EXPECT_ERROR(topk(x, -1), "selected index k out of range");
  EXPECT_ERROR(topk(b, 1), "bool");
  EXPECT_ERROR(_unique2(z), "not implemented");
  EXPECT_ERROR(unique_dim(scalar_tensor(1), 0), "no dimensions");
  EXPECT_ERROR(unique_dim(zeros({0, 3}), 1), "0 sized dimensions");
  EXPECT_ERROR(isin(b, b), "isin");
  EXPECT_ERROR(quantile(x, 1.5), "in the range [0, 1]");
  EXPECT_ERROR(quantile(x, floats({0.5f, 2})), "in the range [0, 1]");
  EXPECT_ERROR(quantile(x, to(x, DType::float64)), "same dtype");
  EXPECT_ERROR(quantile(x, 0.5, {}, false, "cubic"), "interpolation");
}

TEST(OrderedOps, SearchesAreChecked) {
  const Tensor x = floats({1, 2, 3});
  EXPECT_ERROR(searchsorted(x, x, false, false, "up"), "can only be 'left' or 'right'");
  EXPECT_ERROR(searchsorted(x, x, false, true, "left"), "opposites");
  EXPECT_ERROR(searchsorted(zeros({2, 3}), zeros({3, 3})), "must match");
  EXPECT_ERROR(searchsorted(x, x, false, false, {}, ints({0, 1, 3})), "out of range");
  EXPECT_ERROR(searchsorted(x, x, false, false, {}, ints({0, -1, 2})), "out of range");
  EXPECT_ERROR(bucketize(x, zeros({2, 2})), "1 dimension");
  EXPECT_EQ(values_of(searchsorted(x, floats({0, 1, 1.5f, 3, 9}))), (Ints{0, 0, 1, 2, 3}));
  EXPECT_EQ(values_of(searchsorted(x, floats({0, 1, 1.5f, 3, 9}), false, true)), (Ints{0, 1, 1, 3, 3}));
}

TEST(OrderedOps, CountsAndSegmentsAreChecked) {
  const Tensor x = floats({1, 2, 3, 4});
  EXPECT_ERROR(bincount(ints({1, -1})), "non-negative");
  EXPECT_ERROR(bincount(ints({1, 1}), x), "same length");
  EXPECT_ERROR(histc(x, 3, 2, 1), "max must be larger");
  EXPECT_ERROR(histc(x, 3, 0, std::numeric_limits<double>::infinity()), "not finite");
  EXPECT_ERROR(histc(x, 0), "bins must be > 0");
  EXPECT_ERROR(histc(ints({1, 2}), 3), "not implemented");
  EXPECT_ERROR(segment_reduce(x, "sum", ints({-1, 5})), "negative");
  EXPECT_ERROR(segment_reduce(x, "sum", ints({1, 2})), "sum to data.size");
  EXPECT_ERROR(segment_reduce(x, "sum", ints({3, 2}), {}, {}, 0, true), "sum to data.size");
  EXPECT_ERROR(segment_reduce(x, "sum", {}, {}, ints({0, 5})), "offsets");
  EXPECT_ERROR(segment_reduce(x, "sum", {}, {}, ints({0, 3, 2})), "offsets");
  EXPECT_ERROR(segment_reduce(x, "median", ints({4})), "reduce argument");
}

TEST(OrderedOps, ContractionsAreChecked) {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  const auto run = [&](std::string_view equation, std::vector<Tensor> operands) { einsum(equation, operands); };
  EXPECT_ERROR(run("ij,jk", {a}), "fewer operands");
  EXPECT_ERROR(run("ij", {a, b}), "more operands");
  EXPECT_ERROR(run("ijk", {a}), "does not match");
  EXPECT_ERROR(run("i..j", {a}), "ellipsis");
  EXPECT_ERROR(run("ij->ii", {a}), "more than once");
  EXPECT_ERROR(run("ij->k", {a}), "does not appear");
  EXPECT_ERROR(run("i1", {a}), "[a-zA-Z]");
  EXPECT_ERROR(run("ii", {a}), "repeated");
  EXPECT_ERROR(run("ij,jk", {a, a}), "broadcast");
  EXPECT_ERROR(run("", {}), "at least one");
  EXPECT_ERROR(tensordot(a, a, {1}, {0}), "need to match");
  EXPECT_ERROR(tensordot(a, zeros({3, 3}), {1, 1}, {0, 1}), "multiple times");
}

// Lines long enough for other methods, and for several threads.
TEST(OrderedOps, LongLines) {
  const int64_t n = 100003;
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    for (DType dtype : {DType::float32, DType::float64, DType::int64}) {
      const Tensor x = shuffled(n, dtype);
      const auto [sorted, order] = sort(x);
      EXPECT_EQ(values_of(sorted), values_of(arange(n)));
      EXPECT_TRUE(equal(gather(x, 0, order), sorted));
      for (int64_t k : {int64_t{5}, int64_t{2000}, n}) {
        const auto [top, at] = topk(x, k);
        EXPECT_TRUE(equal(top, to(arange(n - 1, n - 1 - k, -1), dtype)));
        EXPECT_TRUE(equal(gather(x, 0, at), top));
      }
      EXPECT_EQ(item_of(median(x)).to_double(), static_cast<double>((n - 1) / 2));
      EXPECT_EQ(item_of(std::get<0>(kthvalue(x, 78))).to_double(), 77);
      EXPECT_EQ(values_of(std::get<0>(_unique2(x))).size(), static_cast<size_t>(n));
      EXPECT_TRUE(item_of(all(isin(x, slice(x, 0, 0, n, 1)))).to_bool());
    }
    EXPECT_EQ(values_of(bincount(remainder(shuffled(n, DType::int64), 7)))[0], 14287);
  }
  set_num_threads(1);
}

TEST(OrderedOps, HistogramsOfHugeNumbersStayInTheirBins) {
  const Tensor x = floats({-1.7e38f, 0, 1.7e38f});  // four times the distance is infinite
  EXPECT_EQ(item(sum(std::get<0>(histogram(x, 4)))).to_double(), 3);
  EXPECT_EQ(item(sum(_histogramdd_from_bin_cts(reshape(x, {3, 1}), {4}))).to_double(), 3);
}

TEST(OrderedOps, OutTensorsAreResizedAndMayBeStrided) {
  const Tensor x = floats({3, 1, 2}), wide = zeros({3, 2}), indices = empty({0}, DType::int64);
  const Tensor column = select(wide, 1, 1);
  sort_out(column, indices, x);
  EXPECT_EQ(values_of(wide), (Ints{0, 1, 0, 2, 0, 3}));
  EXPECT_EQ(values_of(indices), (Ints{1, 2, 0}));
  topk_out(column, indices, x, 3);
  EXPECT_EQ(values_of(wide), (Ints{0, 3, 0, 2, 0, 1}));
}

}  // namespace
}  // namespace sconce
