// Views share memory and version, name the shapes when they fail, and need no data.
#include <gtest/gtest.h>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

std::vector<double> values_of(const Tensor& t) {
  const Tensor dense = contiguous(to(t, DType::float64));
  return {dense.data<double>(), dense.data<double>() + dense.numel()};
}

using Sizes = std::vector<int64_t>;

TEST(Views, ShareStorageAndVersion) {
  const Tensor x = arange(24);
  const Tensor v = select(transpose(view(x, {2, 3, 4}), 0, 2), 1, 2);
  EXPECT_EQ(v.storage(), x.storage());
  EXPECT_TRUE(v.is_view());
  EXPECT_EQ(v.sizes().vec(), (Sizes{4, 2}));
  EXPECT_EQ(v.strides().vec(), (Sizes{1, 12}));
  EXPECT_EQ(v.storage_offset(), 8);
  const uint32_t before = x.version();
  fill_(v, 7);
  EXPECT_EQ(x.version(), before + 1);
  EXPECT_EQ(x.data<int64_t>()[8], 7);
  EXPECT_EQ(x.data<int64_t>()[23], 7);
}

TEST(Views, DataHasAVersionOfItsOwn) {
  const Tensor x = zeros({3});
  const Tensor d = data(x);
  fill_(d, 1);
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(d.version(), 1u);
  EXPECT_EQ(values_of(x), (std::vector<double>{1, 1, 1}));
}

TEST(Views, ErrorsNameShapes) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(view(x, {4, 2}), "shape '[4, 2]' is invalid for input of size 6");
  EXPECT_ERROR(view(t(x), {6}), "view size is not compatible");
  EXPECT_ERROR(select(x, 0, 2), "index 2 out of range for tensor of size [2, 3] at dimension 0");
  EXPECT_ERROR(select(x, 5, 0), "Dimension out of range");
  EXPECT_ERROR(slice(x, 0, {}, {}, 0), "slice step must be positive");
  EXPECT_ERROR(expand(x, {4, 3}), "must match the existing size (2)");
  EXPECT_ERROR(permute(x, {0, 0}), "duplicate dims");
  EXPECT_ERROR(permute(x, {0}), "not equal to len(dims)");
  EXPECT_ERROR(narrow(x, 1, 2, 2), "exceeds dimension size (3)");
  EXPECT_ERROR(as_strided(x, {7}, {1}), "out of bounds for storage");
  EXPECT_ERROR(as_strided(x, {2}, {-1}), "strides must not be negative");
  EXPECT_ERROR(unfold(x, 1, 4, 1), "maximum size for tensor at dimension 1 is 3 but size is 4");
  EXPECT_ERROR(diagonal(x, 0, 1, 1), "cannot be identical");
  EXPECT_ERROR(split_with_sizes(x, {1, 1}, 1), "sum exactly to 3");
  EXPECT_ERROR(chunk(x, 0, 0), "greater than 0");
  EXPECT_ERROR(flatten(x, 1, 0), "start_dim");
  EXPECT_ERROR(cat(std::vector<Tensor>{x, zeros({2, 4})}, 0), "Expected size 3 but got size 4 for tensor number 1");
}

TEST(Views, HugeNumbersAreNoCrash) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(slice(x, 0, INT64_MIN, INT64_MAX, INT64_MAX).sizes().vec(), (Sizes{1, 3}));
  EXPECT_EQ(diagonal(x, INT64_MAX).numel(), 0);
  EXPECT_EQ(diagonal(x, INT64_MIN).numel(), 0);
  EXPECT_EQ(values_of(tril(x, INT64_MIN)), std::vector<double>(6, 0));
  EXPECT_ERROR(expand(x, {INT64_MAX, 2, 3}), "does not fit");
  EXPECT_ERROR(zeros({INT64_MAX, 2}), "does not fit");
  EXPECT_ERROR(as_strided(x, {2}, {INT64_MAX}), "out of bounds");
  EXPECT_ERROR(unfold(x, 1, INT64_MAX, 1), "maximum size");
  EXPECT_EQ(unfold(x, 1, 2, INT64_MAX).sizes().vec(), (Sizes{2, 1, 2}));
  EXPECT_ERROR(split(x, INT64_MIN, 0), "non-negative");
  EXPECT_EQ(split(x, INT64_MAX, 0).size(), 1u);
}

TEST(Views, MetaTensorsHaveNoData) {
  const Device meta = DeviceType::meta;
  const Tensor x = empty({8, 6}, DType::float32, {}, meta);
  EXPECT_EQ(reshape(t(x), {48}).sizes().vec(), (Sizes{48}));
  EXPECT_EQ(cat(std::vector<Tensor>{x, x}, 1).sizes().vec(), (Sizes{8, 12}));
  EXPECT_EQ(clone(x).is_meta(), true);
  EXPECT_EQ(to(x, DType::int64).dtype(), DType::int64);
  EXPECT_EQ(index_select(x, 0, zeros({3}, DType::int64, {}, meta)).sizes().vec(), (Sizes{3, 6}));
  EXPECT_EQ(constant_pad_nd(x, {1, 2}).sizes().vec(), (Sizes{8, 9}));
  EXPECT_ERROR(nonzero(x), "meta");
  EXPECT_ERROR(item(empty({}, DType::float32, {}, meta)), "meta");
}

TEST(Views, InPlaceChangesTheTensorItself) {
  const Tensor x = zeros({2, 1, 3});
  squeeze_(x);
  EXPECT_EQ(x.sizes().vec(), (Sizes{2, 3}));
  t_(x);
  EXPECT_EQ(x.strides().vec(), (Sizes{1, 3}));
  unsqueeze_(x, -1);
  EXPECT_EQ(x.sizes().vec(), (Sizes{3, 2, 1}));
  EXPECT_EQ(x.version(), 3u);
}

TEST(Copies, OverlapIsSeen) {
  const Tensor x = arange(4);
  EXPECT_ERROR(copy_(slice(x, 0, 1, 4), slice(x, 0, 0, 3)), "single memory location");
  EXPECT_ERROR(copy_(expand(zeros({1}), {3}), zeros({3})), "single memory location");
  // Interleaved strides: told apart by nobody, but the result is as if the source were a copy.
  const Tensor y = arange(6);
  copy_(slice(y, 0, 0, 5, 2), slice(y, 0, 1, 6, 2));
  EXPECT_EQ(values_of(y), (std::vector<double>{1, 1, 3, 3, 5, 5}));
}

TEST(Copies, FillChecksTheRange) {
  EXPECT_ERROR(full({2}, 300, DType::uint8), "without overflow");
  EXPECT_ERROR(full({2}, Scalar(std::complex<double>(0, 1)), DType::float32), "imaginary");
  EXPECT_EQ(values_of(full({2}, -1, DType::uint8)), (std::vector<double>{255, 255}));
  EXPECT_EQ(full({2}, true).dtype(), DType::bool_);
  EXPECT_EQ(values_of(full({2, 2}, 2.5)), std::vector<double>(4, 2.5));
}

TEST(Ranges, ArangeCountsAsPythonDoes) {
  EXPECT_EQ(values_of(arange(5, 0, -2)), (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(arange(1, 2, 0.25).dtype(), DType::float32);
  EXPECT_EQ(values_of(arange(1, 2, 0.25)), (std::vector<double>{1, 1.25, 1.5, 1.75}));
  EXPECT_ERROR(arange(0, 5, 0), "step must be nonzero");
  EXPECT_ERROR(arange(0, 5, -1), "inconsistent with step sign");
  EXPECT_ERROR(arange(INT64_MIN, INT64_MAX, 1), "overflow");
  EXPECT_EQ(arange(INT64_MIN, INT64_MAX, INT64_MAX).numel(), 3);
}

}  // namespace
}  // namespace sconce
