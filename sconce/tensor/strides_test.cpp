#include "sconce/tensor/strides.h"

#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/testing/error_of.h"

namespace sconce {

// For messages of failed tests.
static void PrintTo(const Dims& d, std::ostream* out) { *out << format_message("{}", {ErrorArg(d)}); }

namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

using testing::error_of;

TEST(Strides, Numel) {
  EXPECT_EQ(checked_numel({}), 1);
  EXPECT_EQ(checked_numel({2, 3, 4}), 24);
  EXPECT_EQ(checked_numel({kHuge, kHuge, 0}), 0);
  EXPECT_THROW(checked_numel({kHuge, 2}), Error);
  EXPECT_EQ(error_of([] { checked_numel({0, -1}); }), "sizes must not be negative, got [0, -1]");
}

TEST(Strides, Dense) {
  EXPECT_EQ(dense_strides({}), Dims());
  EXPECT_EQ(dense_strides({2, 3, 4, 5}), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(dense_strides({2, 0, 3}), (Dims{3, 3, 1}));
  EXPECT_EQ(dense_strides({2, 3, 4, 5}, MemoryFormat::channels_last), (Dims{60, 1, 15, 3}));
  EXPECT_EQ(dense_strides({2, 3, 4, 5, 6}, MemoryFormat::channels_last_3d), (Dims{360, 1, 90, 18, 3}));
  EXPECT_EQ(dense_strides({1, 3, 1, 1}, MemoryFormat::channels_last), (Dims{3, 1, 3, 3}));
  EXPECT_EQ(dense_strides({2, 0, 4, 5}, MemoryFormat::channels_last), (Dims{0, 1, 0, 0}));
  EXPECT_EQ(dense_strides({2, 3, 0, 5}, MemoryFormat::channels_last), (Dims{0, 1, 15, 3}));
  EXPECT_EQ(dense_strides({kHuge, 0, 4}), (Dims{4, 4, 1}));
  EXPECT_THROW(dense_strides({0, kHuge, 4}), Error);
  EXPECT_THROW(dense_strides({2, 3}, MemoryFormat::channels_last), Error);
  EXPECT_THROW(dense_strides({2, 3, 4, 5}, MemoryFormat::channels_last_3d), Error);
  EXPECT_EQ(dense_strides_in_order({2, 3, 4}, {0, 2, 1}), (Dims{1, 8, 2}));
}

StrideFacts facts(IntList sizes, MemoryFormat format = MemoryFormat::contiguous) {
  return stride_facts(sizes, dense_strides(sizes, format));
}

TEST(Strides, Facts) {
  const StrideFacts row_major = facts({2, 3, 4, 5});
  EXPECT_TRUE(row_major.contiguous && row_major.dense);
  EXPECT_FALSE(row_major.channels_last || row_major.channels_last_3d);
  const StrideFacts channels_last = facts({2, 3, 4, 5}, MemoryFormat::channels_last);
  EXPECT_TRUE(channels_last.channels_last && channels_last.dense);
  EXPECT_FALSE(channels_last.contiguous);
  const StrideFacts volume = facts({2, 3, 4, 5, 6}, MemoryFormat::channels_last_3d);
  EXPECT_TRUE(volume.channels_last_3d && volume.dense);
  EXPECT_FALSE(volume.contiguous || volume.channels_last);
  EXPECT_TRUE(stride_facts({}, {}).contiguous);
  EXPECT_TRUE(stride_facts({1}, {7}).contiguous);
}

TEST(Strides, SizesOfOneFitBothFormats) {
  for (const Dims& sizes : {Dims{1, 3, 1, 1}, Dims{2, 1, 4, 4}, Dims{1, 1, 1, 1}, Dims{2, 3, 1, 1}}) {
    for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const StrideFacts f = facts(sizes, format);
      EXPECT_TRUE(f.contiguous && f.channels_last && f.dense);
    }
  }
  EXPECT_FALSE(facts({1, 3, 4, 4}).channels_last);
}

TEST(Strides, EmptyTensorsAreContiguous) {
  for (const Dims& sizes : {Dims{2, 0, 4, 5}, Dims{0, 3, 4, 5}, Dims{2, 3, 0, 5}}) {
    EXPECT_TRUE(facts(sizes).contiguous && facts(sizes).dense);
    EXPECT_FALSE(facts(sizes).channels_last);
    const StrideFacts last = facts(sizes, MemoryFormat::channels_last);
    EXPECT_TRUE(last.contiguous && last.channels_last);
  }
}

TEST(Strides, ChannelsLastAsALayoutHint) {
  EXPECT_TRUE(is_channels_last({2, 3, 4, 5}, {60, 1, 15, 3}));
  EXPECT_FALSE(is_channels_last({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_FALSE(is_channels_last({2, 3, 4}, {12, 1, 3}));
  EXPECT_FALSE(is_channels_last({2, 0, 4, 5}, {0, 1, 0, 0}));
  EXPECT_TRUE(is_channels_last({1, 3, 1, 1}, {3, 1, 3, 3}));     // as channels_last writes it
  EXPECT_FALSE(is_channels_last({1, 1, 1, 1}, {1, 1, 1, 1}));    // cannot be told from row-major
  EXPECT_FALSE(is_channels_last({2, 1, 4, 4}, {16, 16, 4, 1}));  // row-major
  EXPECT_TRUE(is_channels_last({2, 3, 2, 2}, {24, 1, 12, 3}));   // with gaps
  EXPECT_TRUE(is_channels_last_3d({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}));
  EXPECT_FALSE(is_channels_last_3d({2, 3, 4, 5, 6}, {360, 120, 30, 6, 1}));
}

TEST(Strides, DenseInAnyOrder) {
  EXPECT_TRUE(stride_facts({4, 3}, {1, 4}).dense);
  EXPECT_TRUE(stride_facts({5, 3, 2, 4}, {1, 20, 60, 5}).dense);
  EXPECT_TRUE(stride_facts({1, 4, 1, 3}, {99, 1, 0, 4}).dense);
  EXPECT_FALSE(stride_facts({4, 3}, {1, 5}).dense);
  EXPECT_FALSE(stride_facts({4, 3}, {2, 8}).dense);
  EXPECT_FALSE(stride_facts({4, 3}, {0, 1}).dense);
  EXPECT_FALSE(stride_facts({2, 2}, {1, 1}).dense);
  EXPECT_FALSE(stride_facts({3}, {2}).dense);
}

TEST(Strides, Preserved) {
  // What clone() gives in PyTorch.
  EXPECT_EQ(preserved_strides({4, 3}, {1, 4}), (Dims{1, 4}));
  EXPECT_EQ(preserved_strides({1, 3, 1, 1}, {3, 1, 3, 3}), (Dims{3, 1, 3, 3}));
  EXPECT_EQ(preserved_strides({3, 4}, {8, 1}), (Dims{4, 1}));  // rows left out
  EXPECT_EQ(preserved_strides({3, 4}, {2, 6}), (Dims{1, 3}));  // and transposed
  EXPECT_EQ(preserved_strides({4, 6}, {0, 1}), (Dims{6, 1}));  // expanded
  EXPECT_EQ(preserved_strides({4, 3}, {0, 1}), (Dims{3, 1}));
  EXPECT_EQ(preserved_strides({5, 3, 2, 2}, {1, 20, 60, 10}), (Dims{1, 10, 30, 5}));
  EXPECT_EQ(preserved_strides({5, 1, 2}, {3, 3, 2}), (Dims{2, 2, 1}));
  EXPECT_EQ(preserved_strides({2, 2}, {1, 1}), (Dims{2, 1}));
  EXPECT_EQ(preserved_strides({2, 3}, {5, 5}), (Dims{1, 2}));  // equal strides: the larger size outside
  EXPECT_EQ(preserved_strides({3, 2}, {5, 5}), (Dims{2, 1}));
  EXPECT_EQ(preserved_strides({2, 3, 2}, {0, 1, 3}), (Dims{6, 1, 3}));
  EXPECT_EQ(preserved_strides({1, 3}, {7, 2}), (Dims{3, 1}));
  EXPECT_EQ(memory_order({2, 3, 4}, {12, 4, 1}), (Dims{2, 1, 0}));
  EXPECT_EQ(memory_order({2, 3, 4}, {4, 8, 1}), (Dims{2, 0, 1}));
}

TEST(Strides, Broadcast) {
  EXPECT_EQ(broadcast_sizes({2, 3}, {3}), (Dims{2, 3}));
  EXPECT_EQ(broadcast_sizes({2, 1}, {1, 5}), (Dims{2, 5}));
  EXPECT_EQ(broadcast_sizes({}, {4}), (Dims{4}));
  EXPECT_EQ(broadcast_sizes({0, 1}, {1, 3}), (Dims{0, 3}));
  EXPECT_EQ(broadcast_sizes({1}, {0}), (Dims{0}));
  const std::string error = error_of([] { broadcast_sizes({2, 3}, {4, 3}); });
  EXPECT_NE(error.find("[2, 3] and [4, 3]"), std::string::npos) << error;
  EXPECT_NE(error.find("at dimension 0"), std::string::npos) << error;
  EXPECT_THROW(broadcast_sizes({2}, {0}), Error);
}

TEST(Strides, Expanded) {
  EXPECT_EQ(expanded_strides({3, 1}, {1, 1}, {3, 4}), (Dims{1, 0}));
  EXPECT_EQ(expanded_strides({3}, {1}, {2, 3}), (Dims{0, 1}));
  EXPECT_EQ(expanded_strides({3}, {1}, {1, 3}), (Dims{3, 1}));
  EXPECT_EQ(expanded_strides({3}, {1}, {2, 1, 3}), (Dims{0, 3, 1}));
  EXPECT_EQ(expanded_strides({2, 2}, {3, 2}, {1, 2, 2}), (Dims{6, 3, 2}));
  EXPECT_EQ(expanded_strides({}, {}, {1}), (Dims{0}));
  EXPECT_EQ(expanded_strides({}, {}, {2, 1}), (Dims{0, 0}));
  EXPECT_EQ(expanded_strides({1}, {1}, {1, 1}), (Dims{1, 1}));
  EXPECT_EQ(expanded_strides({1}, {1}, {0}), (Dims{0}));
  EXPECT_THROW(expanded_strides({3}, {1}, {4}), Error);
  EXPECT_THROW(expanded_strides({2, 3}, {3, 1}, {3}), Error);
}

TEST(Strides, WrapDim) {
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(2, 3), 2);
  EXPECT_EQ(wrap_dim(-1, 0), 0);
  EXPECT_EQ(wrap_dim(0, 0), 0);
  EXPECT_EQ(error_of([] { wrap_dim(3, 1); }), "Dimension out of range (expected to be in range of [-1, 0], but got 3)");
  EXPECT_THROW(wrap_dim(1, 0), Error);
  EXPECT_THROW(wrap_dim(-4, 3), Error);
  EXPECT_THROW(wrap_dim(INT64_MIN, 3), Error);
}

TEST(Strides, InferSize) {
  EXPECT_EQ(infer_size({2, -1}, 6), (Dims{2, 3}));
  EXPECT_EQ(infer_size({-1, 3}, 0), (Dims{0, 3}));
  EXPECT_EQ(infer_size({}, 1), Dims());
  EXPECT_EQ(error_of([] { infer_size({4}, 6); }), "shape '[4]' is invalid for input of size 6");
  EXPECT_EQ(error_of([] { infer_size({4, -1}, 6); }), "shape '[4, -1]' is invalid for input of size 6");
  EXPECT_EQ(error_of([] { infer_size({0, -1}, 6); }), "shape '[0, -1]' is invalid for input of size 6");
  EXPECT_NE(error_of([] { infer_size({0, -1}, 0); }).find("can be any value"), std::string::npos);
  EXPECT_NE(error_of([] { infer_size({-1, -1}, 6); }).find("only one dimension can be inferred"), std::string::npos);
  EXPECT_NE(error_of([] { infer_size({-2, 3}, 6); }).find("invalid shape dimension -2"), std::string::npos);
  EXPECT_THROW(infer_size({kHuge, 4, -1}, 6), Error);
}

TEST(Strides, View) {
  EXPECT_EQ(view_strides({4, 2, 3, 1}, {6, 3, 1, 1}, {24}), (Dims{1}));
  EXPECT_EQ(view_strides({4, 2}, {6, 3}, {8}), (Dims{3}));
  EXPECT_EQ(view_strides({4, 2, 3}, {1, 12, 4}, {4, 6}), (Dims{1, 4}));
  EXPECT_EQ(view_strides({3, 2, 4}, {4, 12, 1}, {6, 4}), std::nullopt);  // across two runs
  EXPECT_EQ(view_strides({2, 3, 2}, {12, 4, 2}, {6, 2}), (Dims{4, 2}));
  EXPECT_EQ(view_strides({2, 3, 2}, {12, 4, 2}, {2, 3, 2, 1}), (Dims{12, 4, 2, 2}));
  EXPECT_EQ(view_strides({4, 6}, {0, 1}, {4, 2, 3}), (Dims{0, 3, 1}));
  EXPECT_EQ(view_strides({4, 6}, {0, 1}, {24}), std::nullopt);
  EXPECT_EQ(view_strides({4, 6}, {1, 0}, {4, 2, 3}), (Dims{1, 0, 0}));
  EXPECT_EQ(view_strides({1, 1, 3}, {5, 5, 2}, {1, 3}), (Dims{6, 2}));
  EXPECT_EQ(view_strides({}, {}, {1, 1}), (Dims{1, 1}));
  EXPECT_EQ(view_strides({1, 1}, {1, 1}, {}), Dims());
  EXPECT_EQ(view_strides({0, 3}, {3, 1}, {3, 0}), (Dims{1, 1}));
  EXPECT_EQ(view_strides({3, 0}, {1, 3}, {3, 0}), (Dims{1, 3}));  // the same sizes keep their strides
  EXPECT_EQ(view_strides({0, 2}, {3, 2}, {0, 2}), (Dims{3, 2}));
  EXPECT_EQ(view_strides({6}, {1}, {2, 4}), std::nullopt);  // other number of elements
}

// view_strides against its meaning: element i of the view is element i of the original.
TEST(Strides, ViewsAddressTheSameElements) {
  const auto offsets = [](IntList sizes, IntList strides) {
    std::vector<int64_t> out = {0};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> next;
      for (int64_t base : out) {
        for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d]);
      }
      out = std::move(next);
    }
    return out;
  };
  const int64_t shapes[][4] = {{2, 3, 4, 1}, {4, 6, 1, 1}, {2, 2, 2, 3}, {24, 1, 1, 1},
                               {1, 8, 3, 1}, {3, 2, 1, 4}, {6, 4, 1, 1}};
  const int64_t orders[][4] = {{3, 2, 1, 0}, {2, 3, 1, 0}, {0, 1, 2, 3}, {1, 3, 2, 0}, {3, 1, 2, 0}, {0, 3, 2, 1}};
  int views = 0;
  for (const auto& from : shapes) {
    for (const auto& order : orders) {
      const Dims strides = dense_strides_in_order(IntList(from, 4), IntList(order, 4));
      for (const auto& to : shapes) {
        const std::optional<Dims> view = view_strides(IntList(from, 4), strides, IntList(to, 4));
        const auto expected = offsets(IntList(from, 4), strides);
        if (view) {
          EXPECT_EQ(offsets(IntList(to, 4), *view), expected);
          ++views;
        } else {
          EXPECT_FALSE(stride_facts(IntList(from, 4), strides).contiguous);
        }
      }
    }
  }
  EXPECT_GT(views, 100);
}

}  // namespace
}  // namespace sconce
