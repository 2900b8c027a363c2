// Indices are checked, masks and broadcasting follow NumPy, and writes go where reads come from.
#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

using Sizes = std::vector<int64_t>;

Tensor ints(std::initializer_list<int64_t> v) {
  const Tensor t = empty({static_cast<int64_t>(v.size())}, DType::int64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}

std::vector<int64_t> values_of(const Tensor& t) {
  const Tensor dense = contiguous(to(t, DType::int64));
  return {dense.data<int64_t>(), dense.data<int64_t>() + dense.numel()};
}

bool fails_with(ErrorKind kind, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind() == kind;
  }
  return false;
}

TEST(Index, PlaceOfTheResult) {
  const Tensor x = reshape(arange(120), {2, 3, 4, 5});
  const Tensor i = reshape(ints({0, 1, 2, 0, 1, 2}), {2, 3}), none;
  EXPECT_EQ(index(x, std::vector<Tensor>{none, i, i}).sizes().vec(), (Sizes{2, 2, 3, 5}));
  EXPECT_EQ(index(x, std::vector<Tensor>{ints({1}), none, i}).sizes().vec(), (Sizes{2, 3, 3, 5}));
  EXPECT_EQ(index(x, std::vector<Tensor>{none, none, none, i}).sizes().vec(), (Sizes{2, 3, 4, 2, 3}));
  EXPECT_EQ(values_of(index(x, std::vector<Tensor>{ints({1}), none, ints({3}), ints({-1})})), (Sizes{79, 99, 119}));
}

TEST(Index, MasksAreTheirPositions) {
  const Tensor x = reshape(arange(6), {2, 3});
  const Tensor mask = gt(x, 2);
  EXPECT_EQ(values_of(index(x, std::vector<Tensor>{mask})), (Sizes{3, 4, 5}));
  index_put_(x, std::vector<Tensor>{mask}, scalar_tensor(9, DType::int64));
  EXPECT_EQ(values_of(x), (Sizes{0, 1, 2, 9, 9, 9}));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index(x, std::vector<Tensor>{gt(zeros({3}), 0)}); }));
}

TEST(Index, EveryReadAndWriteIsChecked) {
  const Tensor x = zeros({2, 3});
  const std::vector<Tensor> wrong{ints({2})};
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index(x, wrong); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index_put_(x, wrong, zeros({3})); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index(x, std::vector<Tensor>{ints({0}), ints({0}), ints({0})}); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index(x, std::vector<Tensor>{zeros({2})}); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index(x, std::vector<Tensor>{ints({0, 1}), ints({0, 1, 0})}); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index_select(x, 0, ints({-1})); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { gather(x, 1, reshape(ints({3}), {1, 1})); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { scatter(x, 1, reshape(ints({-1}), {1, 1}), 1); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { embedding(x, ints({2})); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { take(x, ints({6})); }));
  EXPECT_TRUE(fails_with(ErrorKind::index, [&] { index_add(x, 0, ints({5}), zeros({1, 3})); }));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { index_put_(x, std::vector<Tensor>{ints({0})}, zeros({2})); }));
}

TEST(Index, DuplicatesAddUp) {
  const Tensor x = zeros({3}, DType::float16);
  index_put_(x, std::vector<Tensor>{ints({1, 1, 2})}, ones({3}, DType::float16), true);
  EXPECT_EQ(values_of(x), (Sizes{0, 2, 1}));
  const Tensor sums = index_add(zeros({2, 3}, DType::int64), 1, ints({0, 0, 2}), ones({2, 3}, DType::int64), 2);
  EXPECT_EQ(values_of(sums), (Sizes{4, 0, 2, 4, 0, 2}));
}

TEST(Index, OfNothingIsTheFill) {
  const Tensor two = zeros({2}, DType::int64), shown = ones({2}, DType::bool_);
  for (int i = 0; i < 2; ++i) full({2}, 3.);  // whose memory the result may get
  EXPECT_TRUE(equal(_unsafe_masked_index(zeros({0}), shown, {two}, 7), full({2}, 7.)));
  EXPECT_TRUE(equal(_unsafe_masked_index(zeros({0, 5}), shown, {two, two}, 7), full({2}, 7.)));
  EXPECT_TRUE(equal(_unsafe_masked_index(zeros({3, 0}), shown, {Tensor(), two}, 7), full({3, 2}, 7.)));
  EXPECT_EQ(_unsafe_masked_index(zeros({0, 3, 5}), shown, {two}, 7).sizes(), IntList({2, 0, 0}));
}

TEST(Scatter, ReducesWithAndWithoutSelf) {
  const Tensor x = ints({10, 10, 10}), i = ints({0, 0, 1}), src = ints({1, 2, 30});
  EXPECT_EQ(values_of(scatter_reduce(x, 0, i, src, "sum")), (Sizes{13, 40, 10}));
  EXPECT_EQ(values_of(scatter_reduce(x, 0, i, src, "sum", false)), (Sizes{3, 30, 10}));
  EXPECT_EQ(values_of(scatter_reduce(x, 0, i, src, "amin", false)), (Sizes{1, 30, 10}));
  EXPECT_EQ(values_of(scatter_reduce(x, 0, i, src, "mean", false)), (Sizes{1, 30, 10}));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { scatter_reduce(x, 0, i, src, "median"); }));
}

TEST(Gather, OfTransposedAndExpanded) {
  const Tensor x = t(reshape(arange(6), {2, 3}));  // [3, 2]: 0 3 / 1 4 / 2 5
  EXPECT_EQ(values_of(gather(x, 0, expand(reshape(ints({2, 0}), {2, 1}), {2, 2}))), (Sizes{2, 5, 0, 3}));
  EXPECT_EQ(values_of(index_select(x, 0, ints({2, 2, 0}))), (Sizes{2, 5, 2, 5, 0, 3}));
  EXPECT_EQ(values_of(index_select(x, 1, to(ints({1}), DType::int32))), (Sizes{3, 4, 5}));
}

TEST(Masked, SelectAndScatterInOrder) {
  const Tensor x = reshape(arange(6), {2, 3}), mask = eq(remainder(x, 2), 0);
  EXPECT_EQ(values_of(masked_select(x, mask)), (Sizes{0, 2, 4}));
  EXPECT_EQ(values_of(masked_scatter(x, mask, ints({7, 8, 9}))), (Sizes{7, 1, 8, 3, 9, 5}));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { masked_scatter(x, mask, ints({7})); }));
  EXPECT_EQ(values_of(masked_fill(x, mask, 0)), (Sizes{0, 1, 0, 3, 0, 5}));
}

TEST(Padding, BordersAndCrops) {
  const Tensor x = reshape(arange(6), {1, 2, 3});
  EXPECT_EQ(values_of(pad(x, {1, 2})), (Sizes{0, 0, 1, 2, 0, 0, 0, 3, 4, 5, 0, 0}));
  EXPECT_EQ(values_of(pad(x, {2, -1}, "reflect")), (Sizes{2, 1, 0, 1, 5, 4, 3, 4}));
  EXPECT_EQ(values_of(pad(x, {1, 1}, "circular")), (Sizes{2, 0, 1, 2, 0, 5, 3, 4, 5, 3}));
  EXPECT_EQ(values_of(pad(x, {-1, 2}, "replicate")), (Sizes{1, 2, 2, 2, 4, 5, 5, 5}));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { pad(x, {3, 0}, "reflect"); }));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { pad(x, {-2, -2}); }));
  EXPECT_TRUE(fails_with(ErrorKind::runtime, [&] { pad(x, {1}); }));
}

}  // namespace
}  // namespace sconce
