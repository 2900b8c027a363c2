// Operators with Trait::layout_free give the same bits for tensors that lie channels last, which compilers rely on.
#include <map>

#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compiled/planned_calls.h"

#include <gtest/gtest.h>

namespace sconce::testing {
namespace {

// What to call each of them with, behind an image or a list of two.
const std::map<std::string, std::vector<Value>>& calls() {
  const auto ints = [](std::vector<int64_t> v) { return Value(IntList(v)); };
  static const std::map<std::string, std::vector<Value>> all = {
      {"aten::max_pool2d_with_indices", {ints({3, 3}), ints({2, 2}), ints({1, 1}), ints({1, 1}), Value(false)}},
      {"aten::max_pool3d_with_indices",
       {ints({2, 2, 2}), ints({1, 2, 1}), ints({1, 0, 1}), ints({1, 1, 1}), Value(true)}},
      {"aten::avg_pool2d", {ints({3, 2}), ints({2, 1}), ints({1, 1}), Value(true), Value(false), Value()}},
      {"aten::_adaptive_avg_pool2d", {ints({4, 3})}},
      {"aten::cat", {Value(int64_t{1})}},
      {"aten::constant_pad_nd", {ints({1, 2, 0, 3}), Value(0.5)}},
      {"aten::upsample_nearest2d", {ints({7, 11}), Value(), Value()}},
  };
  return all;
}

TEST(LayoutFree, OperatorsGiveTheSameBitsChannelsLast) {
  size_t tried = 0;
  for (const Op* op : all_ops()) {
    if (!op->has(Trait::layout_free) || op->has(Trait::out) || op->has(Trait::inplace)) continue;
    SCOPED_TRACE(op->qualified_name());
    const auto found = calls().find(op->info.name);
    ASSERT_NE(found, calls().end()) << "the test does not know how to call it";
    const bool is_3d = op->qualified_name().find("3d") != std::string::npos;
    const MemoryFormat format = is_3d ? MemoryFormat::channels_last_3d : MemoryFormat::channels_last;
    manual_seed(3);
    const Tensor image = is_3d ? randn({2, 5, 4, 6, 7}) : randn({2, 5, 6, 7});
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      std::vector<std::vector<Value>> results;
      for (const bool last : {false, true}) {
        const Tensor x = contiguous(to(image, dtype), last ? format : MemoryFormat::contiguous);
        std::vector<Value> args = found->second;
        const bool takes_list = op->schema().arguments[0].type->is(TypeKind::list);
        args.insert(args.begin(), takes_list ? Value(std::vector<Tensor>{x, x}) : Value(x));
        results.emplace_back(op->schema().returns.size());
        op->call_boxed(args.data(), results.back().data());
      }
      for (size_t i = 0; i < results[0].size(); ++i) {
        const Tensor a = contiguous(results[0][i].to_tensor(), MemoryFormat::contiguous);
        const Tensor b = contiguous(results[1][i].to_tensor(), MemoryFormat::contiguous);
        const Difference d = compare_same_bits(b, a);
        EXPECT_FALSE(d) << *d;
      }
    }
    ++tried;
  }
  EXPECT_EQ(tried, calls().size());
}

}  // namespace
}  // namespace sconce::testing
