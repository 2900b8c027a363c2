#include "sconce/loops/nest.h"

#include <gtest/gtest.h>

#include "sconce/loops/test_nest.h"
#include "sconce/testing/error_of.h"

namespace sconce::loops {
namespace {

const std::string kGated =
    "nest [2, 3]\n"
    "  b0 bf16 (3, 1)\n"
    "  b1 f32 (0, 1)\n"
    "  b2 bool (-3, 1) written\n"
    "  %0 : f32 = mul.Tensor(b0, b1)\n"
    "  %1 : f32 = add.Tensor(%0, b0, 0.5)\n"
    "  %2 : bool = gt.Scalar<f32>(%1, 2)\n"
    "  b2 = %2\n";

TEST(Nest, PrintsBack) { EXPECT_EQ(to_string(NestText(kGated).nest), kGated); }

std::string error_of_change(void (*change)(Nest& nest)) {
  Nest nest = NestText(kGated).nest;
  check(nest);
  change(nest);
  return sconce::testing::error_of([&] { check(nest); });
}

TEST(Nest, ChecksItsNumbers) {
  EXPECT_EQ(error_of_change([](Nest& n) { n.calls[1].inputs[0] = from_call(1); }),
            "nest: call 1 (add.Tensor) reads call 1, of 1 before it");
  EXPECT_EQ(error_of_change([](Nest& n) { n.calls[0].inputs[1] = from_buffer(3); }),
            "nest: call 0 (mul.Tensor) reads buffer 3, of 3 before it");
  EXPECT_EQ(error_of_change([](Nest& n) { n.calls[1].params.clear(); }),
            "nest: call 1 (add.Tensor) has 2 inputs and 0 numbers, its loops read 2 and 1");
  EXPECT_EQ(error_of_change([](Nest& n) { n.buffers[0].strides.pop_back(); }),
            "nest: buffer 0 has 1 strides for 2 sizes");
  EXPECT_EQ(error_of_change([](Nest& n) { n.sizes[1] = -1; }), "nest: a size is negative: [2, -1]");
  EXPECT_EQ(error_of_change([](Nest& n) { n.stores[0].call = 1; }),
            "nest: float32 of call 1 is stored into buffer 2, which is bool");
  EXPECT_EQ(error_of_change([](Nest& n) { n.stores[0].buffer = 1; }),
            "nest: bool of call 2 is stored into buffer 1, which is not written and float32");
  EXPECT_EQ(error_of_change([](Nest& n) { n.buffers[2].strides[0] = 0; }), "nest: buffer 2 is written with stride 0");
  EXPECT_EQ(error_of_change([](Nest& n) { n.stores.push_back(n.stores[0]); }), "nest: buffer 2 is written twice");
  EXPECT_EQ(error_of_change([](Nest& n) { n.stores.clear(); }), "nest: nothing is stored");
  EXPECT_EQ(error_of_change([](Nest& n) { n.buffers[0].dtype = DType::qint8; }), "nest: buffer 0 is of qint8");
}

// A zero in a divisor is an error that names its operator: such calls run by themselves.
TEST(Nest, DivisionsOfIntegersAreNotFused) {
  const Op& op = *find_op("aten::remainder.Tensor");
  const PointwiseLoops& loops = *op.info.entry->pointwise()[0].loops;
  EXPECT_FALSE(fusible(make_call(op, loops, DType::int64, DType::int64)));
  EXPECT_TRUE(fusible(make_call(op, loops, DType::float32, DType::float32)));
  const Op& exp = *find_op("aten::exp");
  EXPECT_FALSE(fusible(make_call(exp, *exp.info.entry->pointwise()[0].loops, DType::int64, DType::int64)));
  EXPECT_EQ(sconce::testing::error_of([&] { make_call(exp, loops, DType::float32, DType::float32); }),
            "nest: aten::exp has no case with the loops of remainder.Tensor");
}

// Arguments of every operator of the table are inputs or parameters of its loops.
TEST(Nest, PlacesOfArgumentsAreKnown) {
  int unknown = 0;
  for (const Op* op : all_ops()) {
    if (op->info.entry == nullptr || op->has(Trait::out)) continue;
    for (const PointwiseCase& c : op->info.entry->pointwise())
      unknown += argument_places(make_call(*op, *c.loops, DType::float32, DType::float32)).empty();
  }
  EXPECT_EQ(unknown, 0);
}

}  // namespace
}  // namespace sconce::loops
