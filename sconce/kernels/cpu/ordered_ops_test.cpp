// What the recorded cases do not say of operators on order: errors, out= tensors, several threads, long lines.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/ops.h"

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
Ints values(const Tensor& t) {
  const Tensor dense = contiguous(to(t, DType::int64));
  return {dense.data<int64_t>(), dense.data<int64_t>() + dense.numel()};
}
// n numbers in no order, each once: i * 7919 mod n, for n without the factor 7919.
Tensor shuffled(int64_t n, DType dtype) {
  const Tensor t = empty({n}, DType::int64);
  for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = i * 7919 % n;
  return to(t, dtype);
}
bool fails_with(std::string_view reason, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message().find(reason) != std::string::npos;
  }
  return false;
}

TEST(OrderedOps, SayWhatTheyCannotDo) {
  const Tensor x = floats({3, 1, 2}), z = to(x, DType::complex64), b = gt(x, 1);
  EXPECT_TRUE(fails_with("complex", [&] { sort(z); }));
  EXPECT_TRUE(fails_with("Dimension out of range", [&] { sort(x, 1); }));
  EXPECT_TRUE(fails_with("selected index k out of range", [&] { topk(x, 4); }));
  EXPECT_TRUE(fails_with("selected index k out of range", [&] { topk(x, -1); }));
  EXPECT_TRUE(fails_with("bool", [&] { topk(b, 1); }));
  EXPECT_TRUE(fails_with("not implemented", [&] { _unique2(z); }));
  EXPECT_TRUE(fails_with("no dimensions", [&] { unique_dim(scalar_tensor(1), 0); }));
  EXPECT_TRUE(fails_with("0 sized dimensions", [&] { unique_dim(zeros({0, 3}), 1); }));
  EXPECT_TRUE(fails_with("isin", [&] { isin(b, b); }));
  EXPECT_TRUE(fails_with("in the range [0, 1]", [&] { quantile(x, 1.5); }));
  EXPECT_TRUE(fails_with("in the range [0, 1]", [&] { quantile(x, floats({0.5f, 2})); }));
  EXPECT_TRUE(fails_with("same dtype", [&] { quantile(x, to(x, DType::float64)); }));
  EXPECT_TRUE(fails_with("interpolation", [&] { quantile(x, 0.5, {}, false, "cubic"); }));
}

TEST(OrderedOps, SearchesAreChecked) {
  const Tensor x = floats({1, 2, 3});
  EXPECT_TRUE(fails_with("can only be 'left' or 'right'", [&] { searchsorted(x, x, false, false, "up"); }));
  EXPECT_TRUE(fails_with("opposites", [&] { searchsorted(x, x, false, true, "left"); }));
  EXPECT_TRUE(fails_with("must match", [&] { searchsorted(zeros({2, 3}), zeros({3, 3})); }));
  EXPECT_TRUE(fails_with("out of range", [&] { searchsorted(x, x, false, false, {}, ints({0, 1, 3})); }));
  EXPECT_TRUE(fails_with("out of range", [&] { searchsorted(x, x, false, false, {}, ints({0, -1, 2})); }));
  EXPECT_TRUE(fails_with("1 dimension", [&] { bucketize(x, zeros({2, 2})); }));
  EXPECT_EQ(values(searchsorted(x, floats({0, 1, 1.5f, 3, 9}))), (Ints{0, 0, 1, 2, 3}));
  EXPECT_EQ(values(searchsorted(x, floats({0, 1, 1.5f, 3, 9}), false, true)), (Ints{0, 1, 1, 3, 3}));
}

TEST(OrderedOps, CountsAndSegmentsAreChecked) {
  const Tensor x = floats({1, 2, 3, 4});
  EXPECT_TRUE(fails_with("non-negative", [&] { bincount(ints({1, -1})); }));
  EXPECT_TRUE(fails_with("same length", [&] { bincount(ints({1, 1}), x); }));
  EXPECT_TRUE(fails_with("max must be larger", [&] { histc(x, 3, 2, 1); }));
  EXPECT_TRUE(fails_with("not finite", [&] { histc(x, 3, 0, std::numeric_limits<double>::infinity()); }));
  EXPECT_TRUE(fails_with("bins must be > 0", [&] { histc(x, 0); }));
  EXPECT_TRUE(fails_with("not implemented", [&] { histc(ints({1, 2}), 3); }));
  EXPECT_TRUE(fails_with("negative", [&] { segment_reduce(x, "sum", ints({-1, 5})); }));
  EXPECT_TRUE(fails_with("sum to data.size", [&] { segment_reduce(x, "sum", ints({1, 2})); }));
  EXPECT_TRUE(fails_with("sum to data.size", [&] { segment_reduce(x, "sum", ints({3, 2}), {}, {}, 0, true); }));
  EXPECT_TRUE(fails_with("offsets", [&] { segment_reduce(x, "sum", {}, {}, ints({0, 5})); }));
  EXPECT_TRUE(fails_with("offsets", [&] { segment_reduce(x, "sum", {}, {}, ints({0, 3, 2})); }));
  EXPECT_TRUE(fails_with("reduce argument", [&] { segment_reduce(x, "median", ints({4})); }));
}

TEST(OrderedOps, ContractionsAreChecked) {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  const auto run = [&](std::string_view equation, std::vector<Tensor> operands) { einsum(equation, operands); };
  EXPECT_TRUE(fails_with("fewer operands", [&] { run("ij,jk", {a}); }));
  EXPECT_TRUE(fails_with("more operands", [&] { run("ij", {a, b}); }));
  EXPECT_TRUE(fails_with("does not match", [&] { run("ijk", {a}); }));
  EXPECT_TRUE(fails_with("ellipsis", [&] { run("i..j", {a}); }));
  EXPECT_TRUE(fails_with("more than once", [&] { run("ij->ii", {a}); }));
  EXPECT_TRUE(fails_with("does not appear", [&] { run("ij->k", {a}); }));
  EXPECT_TRUE(fails_with("[a-zA-Z]", [&] { run("i1", {a}); }));
  EXPECT_TRUE(fails_with("repeated", [&] { run("ii", {a}); }));
  EXPECT_TRUE(fails_with("broadcast", [&] { run("ij,jk", {a, a}); }));
  EXPECT_TRUE(fails_with("at least one", [&] { run("", {}); }));
  EXPECT_TRUE(fails_with("need to match", [&] { tensordot(a, a, {1}, {0}); }));
  EXPECT_TRUE(fails_with("multiple times", [&] { tensordot(a, zeros({3, 3}), {1, 1}, {0, 1}); }));
}

// Lines long enough for other methods, and for several threads.
TEST(OrderedOps, LongLines) {
  const int64_t n = 100003;
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    for (DType dtype : {DType::float32, DType::float64, DType::int64}) {
      const Tensor x = shuffled(n, dtype);
      const auto [sorted, order] = sort(x);
      EXPECT_EQ(values(sorted), values(arange(n)));
      EXPECT_TRUE(equal(gather(x, 0, order), sorted));
      for (int64_t k : {int64_t{5}, int64_t{2000}, n}) {
        const auto [top, at] = topk(x, k);
        EXPECT_TRUE(equal(top, to(arange(n - 1, n - 1 - k, -1), dtype)));
        EXPECT_TRUE(equal(gather(x, 0, at), top));
      }
      EXPECT_EQ(item_of(median(x)).to_double(), static_cast<double>((n - 1) / 2));
      EXPECT_EQ(item_of(std::get<0>(kthvalue(x, 78))).to_double(), 77);
      EXPECT_EQ(values(std::get<0>(_unique2(x))).size(), static_cast<size_t>(n));
      EXPECT_TRUE(item_of(all(isin(x, slice(x, 0, 0, n, 1)))).to_bool());
    }
    EXPECT_EQ(values(bincount(remainder(shuffled(n, DType::int64), 7)))[0], 14287);
  }
  set_num_threads(1);
}

TEST(OrderedOps, OutTensorsAreResizedAndMayBeStrided) {
  const Tensor x = floats({3, 1, 2}), wide = zeros({3, 2}), indices = empty({0}, DType::int64);
  const Tensor column = select(wide, 1, 1);
  sort_out(column, indices, x);
  EXPECT_EQ(values(wide), (Ints{0, 1, 0, 2, 0, 3}));
  EXPECT_EQ(values(indices), (Ints{1, 2, 0}));
  topk_out(column, indices, x, 3);
  EXPECT_EQ(values(wide), (Ints{0, 3, 0, 2, 0, 1}));
}

}  // namespace
}  // namespace sconce
