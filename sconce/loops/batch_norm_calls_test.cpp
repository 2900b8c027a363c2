#include "sconce/loops/batch_norm_calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "sconce/codegen/maker.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::loops {
namespace {

GraphValue value_of(const Tensor& t) { return {t.dtype(), Dims(t.sizes()), Dims(t.strides())}; }

// Runs the nests of a normalisation and a relu behind it.
Tensor planned(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var,
               codegen::Maker maker) {
  FuseGraph graph;
  std::deque<LoopCall> calls;
  std::vector<std::pair<int32_t, int32_t>> views;
  std::map<int32_t, Tensor> tensors;
  const auto add = [&](const Tensor& t) {
    if (!t.defined()) return -1;
    graph.values.push_back(value_of(t));
    const auto number = static_cast<int32_t>(graph.values.size() - 1);
    tensors[number] = t;
    return number;
  };
  BatchNorm norm{add(x), add(weight), add(bias), add(mean), add(var), 1e-3, -1};
  norm.output = add(empty_like(x));
  const int32_t out = add(empty_like(x));
  append_batch_norm(graph, calls, norm, views);
  const Op& relu = *find_op("aten::relu");
  calls.push_back(make_call(relu, *relu.info.entry->pointwise()[0].loops, x.dtype(), x.dtype()));
  GraphNode node;
  node.call = &calls.back();
  node.inputs.push_back(norm.output);
  node.outputs.push_back(out);
  node.visible = true;
  graph.nodes.push_back(node);
  for (const auto& [seen, given] : views) tensors[seen] = tensors.at(given);
  const std::vector<Group> schedule = fuse(graph);
  for (size_t g = 0; g < schedule.size(); ++g) {
    const BuiltNest built = build_nest(graph, schedule, g);
    std::vector<void*> buffers;
    for (const int32_t v : built.values) {
      if (!tensors.contains(v)) {
        const GraphValue& value = graph.values[static_cast<size_t>(v)];
        tensors[v] = empty_strided_tensor(value.sizes, value.strides, value.dtype, Device());
      }
      buffers.push_back(tensors.at(v).data());
    }
    codegen::make(built.nest, maker)->run(buffers.data());
  }
  return tensors.at(out);
}

TEST(BatchNormCalls, GiveTheBitsOfEager) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    for (const bool inside : {false, true}) {
      for (const bool affine : {false, true}) {
        Tensor x = to_dtype(randn({3, 20, 9, 7}), dtype);
        if (inside) x = contiguous_tensor(x, MemoryFormat::channels_last);
        // Half of 16 bits is usual with parameters of 32.
        const DType kept = dtype == DType::bfloat16 ? DType::float32 : dtype;
        const Tensor mean = to_dtype(randn({20}), kept), var = to_dtype(rand({20}), kept);
        const Tensor weight = affine ? to_dtype(randn({20}), kept) : Tensor();
        const Tensor bias = affine ? to_dtype(randn({20}), kept) : Tensor();
        const Tensor expected = sconce::relu(batch_norm(x, weight, bias, mean, var, false, 0.1, 1e-3, false));
        for (const codegen::Maker maker : {codegen::Maker::off, codegen::Maker::tiles, codegen::Maker::joined}) {
          const Tensor actual = planned(x, weight, bias, mean, var, maker);
          EXPECT_TRUE(actual.strides() == expected.strides());
          EXPECT_EQ(std::memcmp(actual.data(), expected.data(), x.numel() * x.item_size()), 0)
              << dtype_name(dtype) << (inside ? ", channels last" : "") << (affine ? ", affine, " : ", ")
              << codegen::maker_name(maker);
        }
      }
    }
  }
}

TEST(BatchNormCalls, RefuseWhatEagerComputesInAnotherWay) {
  FuseGraph graph;
  std::deque<LoopCall> calls;
  std::vector<std::pair<int32_t, int32_t>> views;
  graph.values = {{DType::int64, {2, 3}, {3, 1}}, {DType::float32, {3}, {1}}, {DType::int64, {2, 3}, {3, 1}}};
  EXPECT_EQ(sconce::testing::error_of([&] { append_batch_norm(graph, calls, {0, -1, -1, 1, 1, 1e-5, 2}, views); }),
            "append_batch_norm: the input of int64 and sizes [2, 3] needs floats, and one number for each channel");
  graph.values[0].dtype = graph.values[2].dtype = DType::float32;
  EXPECT_TRUE(can_append(graph, {0, -1, -1, 1, 1, 1e-5, 2}));
  EXPECT_FALSE(can_append(graph, {0, -1, -1, 1, -1, 1e-5, 2}));
  EXPECT_FALSE(can_append(graph, {0, 2, -1, 1, 1, 1e-5, 2}));
}

}  // namespace
}  // namespace sconce::loops
