#include "sconce/codegen/rows/row_kernel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce::codegen {
namespace {

using loops::from_buffer;
using loops::from_call;
using loops::LoopCall;
using loops::Nest;
using loops::RowOp;

struct Rows {
  Nest nest;
  std::vector<void*> buffers;

  Rows(int64_t rows, int64_t columns) { nest.sizes = {rows, columns}; }
  uint16_t buffer(const Tensor& t, bool written = false) {
    const bool row = t.dim() == 1;
    nest.buffers.push_back({t.dtype(), row ? Dims{0, 1} : Dims(t.strides()), written});
    buffers.push_back(t.data());
    return static_cast<uint16_t>(nest.buffers.size() - 1);
  }
  void call(const char* name, DType dtype, std::initializer_list<loops::Source> in,
            std::initializer_list<double> numbers = {}) {
    const Op* op = find_op(name);
    const auto cases = op->info.entry->pointwise();
    LoopCall c = loops::make_call(*op, *cases[cases.size() - 1].loops, dtype, dtype);
    for (const auto s : in) c.inputs.push_back(s);
    for (const double x : numbers) c.params.push_back(Param::from_float(x));
    nest.calls.push_back(c);
  }
  void row(RowOp op, DType dtype, std::initializer_list<loops::Source> in, double eps = 0) {
    LoopCall c = loops::make_row_call(op, dtype, eps);
    for (const auto s : in) c.inputs.push_back(s);
    nest.calls.push_back(c);
  }
  void store(size_t call, const Tensor& t) {
    const uint16_t b = buffer(t, true);
    nest.stores.push_back({static_cast<uint16_t>(call), b});
  }
  void run(Maker maker) { make(nest, maker)->run(buffers.data()); }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.numel() == b.numel() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * a.item_size()) == 0;
}

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};
constexpr Maker kMakers[] = {Maker::off, Maker::tiles, Maker::joined};

// softmax(scores * 0.125 + mask), by rows that are not multiples of a vector.
TEST(RowKernels, MaskedSoftmaxHasTheBitsOfEager) {
  for (const DType dtype : kFloats) {
    for (const int64_t columns : {1, 7, 16, 77, 1000}) {
      const Tensor x = to_dtype(sconce::randn({37, columns}), dtype), mask = to_dtype(sconce::randn({columns}), dtype);
      const Tensor scaled = add(mul(x, 0.125), mask);
      for (const bool logs : {false, true}) {
        const Tensor expected = logs ? log_softmax(scaled, -1) : softmax(scaled, -1);
        for (const Maker maker : kMakers) {
          const Tensor out = empty_like(expected);
          Rows rows(37, columns);
          rows.buffer(x);
          rows.buffer(mask);
          rows.call("aten::mul.Scalar", dtype, {from_buffer(0)}, {0.125});
          rows.call("aten::add.Tensor", dtype, {from_call(0), from_buffer(1)}, {1});
          rows.row(logs ? RowOp::log_softmax : RowOp::softmax, dtype, {from_call(1)});
          rows.store(2, out);
          rows.run(maker);
          EXPECT_TRUE(same_bits(out, expected))
              << dtype_name(dtype) << " " << columns << " " << maker_name(maker) << " " << logs;
        }
      }
    }
  }
}

// h = x + r; y = relu(layer_norm(h)) * x, with h stored over x, which is read once more at the end.
TEST(RowKernels, NormBetweenNeighboursHasTheBitsOfEager) {
  for (const DType dtype : kFloats) {
    for (const bool rms : {false, true}) {
      const int64_t n = 129;
      const Tensor x = to_dtype(sconce::randn({50, n}), dtype), r = to_dtype(sconce::randn({50, n}), dtype);
      const Tensor w = to_dtype(sconce::randn({n}), dtype), b = to_dtype(sconce::randn({n}), dtype);
      const Tensor h = add(x, r);
      const Tensor norm = rms ? rms_norm(h, {n}, w, 1e-5) : layer_norm(h, {n}, w, b, 1e-5);
      const Tensor expected = mul(sconce::relu(norm), x);
      for (const Maker maker : kMakers) {
        const Tensor over = clone(x), out = empty_like(expected);
        Rows rows(50, n);
        rows.buffer(over);
        rows.buffer(r);
        rows.buffer(w);
        rows.buffer(b);
        rows.call("aten::add.Tensor", dtype, {from_buffer(0), from_buffer(1)}, {1});
        if (rms) {
          rows.row(RowOp::rms_norm, dtype, {from_call(0), from_buffer(2)}, 1e-5);
        } else {
          rows.row(RowOp::layer_norm, dtype, {from_call(0), from_buffer(2), from_buffer(3)}, 1e-5);
        }
        rows.call("aten::relu", dtype, {from_call(1)});
        rows.call("aten::mul.Tensor", dtype, {from_call(2), from_buffer(0)});
        rows.store(3, out);
        rows.store(0, over);
        rows.run(maker);
        EXPECT_TRUE(same_bits(out, expected)) << dtype_name(dtype) << " " << rms << " " << maker_name(maker);
        EXPECT_TRUE(same_bits(over, h)) << dtype_name(dtype) << " " << rms << " " << maker_name(maker);
      }
    }
  }
}

// Two row operators, the first without parameters, reading a buffer as it is; no rows at all.
TEST(RowKernels, StagesFollowEachOther) {
  const Tensor x = sconce::randn({9, 640}), out = empty_like(x);
  const Tensor expected = softmax(neg(layer_norm(x, {640}, {}, {}, 1e-5)), -1);
  for (const Maker maker : kMakers) {
    Rows rows(9, 640);
    rows.buffer(x);
    rows.row(RowOp::layer_norm, DType::float32, {from_buffer(0)}, 1e-5);
    rows.call("aten::neg", DType::float32, {from_call(0)});
    rows.row(RowOp::softmax, DType::float32, {from_call(1)});
    rows.store(2, out);
    rows.run(maker);
    EXPECT_TRUE(same_bits(out, expected)) << maker_name(maker);
    rows.nest.sizes[0] = 0;
    rows.run(maker);
  }
}

TEST(RowKernels, RefuseWhatIsNoRow) {
  const Tensor x = sconce::randn({9, 8});
  Rows rows(9, 8);
  rows.buffer(x);
  rows.row(RowOp::rms_norm, DType::float32, {from_buffer(0), from_buffer(0)}, 1e-5);
  rows.store(0, x);
  EXPECT_EQ(sconce::testing::error_of([&] { make(rows.nest); }),
            "nest: call 0 (rms_norm_row) has a parameter that is no buffer of floats with strides (0, 1)");
  rows.nest.calls[0].inputs.pop_back();
  const auto kernel = make(rows.nest);
  EXPECT_FALSE(kernel->has_blocks());
  EXPECT_EQ(kernel->to_string(), "row0 = rms_norm b0\nnest of row0 b1\nb1 = b0 (copied)\n");
  rows.nest.buffers[0].strides = {1, 9};
  EXPECT_EQ(sconce::testing::error_of([&] { make(rows.nest); }),
            "nest: rows of sizes [9, 8] whose columns are not adjacent in every buffer");
}

}  // namespace
}  // namespace sconce::codegen
