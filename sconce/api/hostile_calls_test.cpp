// Calls that a hostile program can make with arguments that do not fit together: each is refused before a kernel reads
// memory that its tensors do not have.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/dispatch/registry.h"
#include "sconce/testing/error_of.h"

namespace sconce::jit {
namespace {

Value evaluate(const std::string& expression) {
  auto unit = compile("def f():\n    return " + expression + "\n");
  return unit.function("f")();
}

// An operator of sconce::, which programs cannot name: our own code calls it so.
void internal(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<Value> values;
  for (const std::string& a : arguments) values.push_back(a == "[]" ? Value(IntList()) : evaluate(a));
  call_op("sconce::" + name, std::move(values));
}

TEST(HostileCalls, OperatorsOfOurOwnHaveNoName) {
  for (const char* call : {"torch.ops.sconce.cdist_direct(torch.ones(2, 2), torch.ones(2, 2), 1.0)",
                           "torch.ops.sconce.cdist_direct.default(torch.ones(2, 2), torch.ones(2, 2), 1.0)"}) {
    EXPECT_ERROR(evaluate(call),
                 "sconce::cdist_direct is an operator of Sconce itself, which programs and files cannot name");
  }
  EXPECT_ERROR(evaluate("torch.ops.sconce.nothing(1)"), "Unknown builtin op: sconce::nothing");
}

TEST(HostileCalls, SizesThatDoNotFit) {
  EXPECT_ERROR(
      evaluate("torch._softmax_backward_data(torch.ones(1000, 1000), torch.ones(1), 1, 6)"),
      "Expected tensor for argument #1 'grad_output' to have same size as tensor for argument #2 'output'; but "
      "[1000, 1000] does not equal [1]");
  EXPECT_ERROR(evaluate("torch._log_softmax_backward_data(torch.ones(1000, 1000), torch.ones(1), 1, 6)"),
               "to have same size as tensor for argument #2 'output'");
  EXPECT_ERROR(evaluate("torch.ops.aten.cumprod_backward(torch.ones(1), torch.zeros([4000, 1000]), 1, torch.ones(1))"),
               "but [4000, 1000] does not equal [1]");
  EXPECT_ERROR(internal("cdist_direct", {"torch.ones(1000, 1000, 4)", "torch.ones(1, 1, 1)", "1.0"}),
               "expected batches of rows of one width");
  EXPECT_ERROR(internal("cdist_direct_backward",
                        {"torch.ones(1)", "torch.ones(1, 1000, 4)", "torch.ones(1, 1000, 4)", "1.0", "torch.ones(1)"}),
               "expected distances of all pairs");
  EXPECT_ERROR(call_op("sconce::cross_entropy_rows_backward",
                       {evaluate("torch.ones(64)"), evaluate("torch.ones(64)"), evaluate("torch.ones(64)"),
                        evaluate("torch.ones(64)"), Value(0)}),
               "expected rows of classes, got input of shape [64]");
}

// Shape rules and checks of the table, whose sums and products would wrap around.
TEST(HostileCalls, SizesThatDoNotFitInto64Bits) {
  EXPECT_ERROR(
      evaluate("torch._convert_indices_from_coo_to_csr(torch.zeros(1, dtype=torch.int64), 9223372036854775807)"),
      "sizes are too large: 9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_ERROR(evaluate("torch.ops.aten._pdist_forward(torch.ones(1, 1).expand([9223372036854775807, 1]))"),
               "sizes are too large: 9223372036854775807 * 9223372036854775806 does not fit into 64 bits");
}

TEST(HostileCalls, DTypesThatDoNotFit) {
  EXPECT_ERROR(evaluate("torch._softmax_backward_data(torch.ones(4, 4), torch.ones(4, 4).to(torch.double), 1, 6)"),
               "expected scalar type Float but found Double");
  EXPECT_ERROR(evaluate("torch.addmv(torch.tensor(1.0), torch.ones(16, 64).to(torch.int8), torch.ones(64))"),
               "addmv input tensors must have the same dtype, but got float32, int8, and float32");
  for (const char* kind : {"reflection", "replication"}) {
    EXPECT_ERROR(evaluate("torch.ops.aten." + std::string(kind) +
                          "_pad2d_backward(torch.ones(1, 1, 34, 34).to(torch.int8), torch.ones(1, 1, 32, 32), "
                          "[1, 1, 1, 1])"),
                 "expected scalar type Float but found Char");
  }
}

TEST(HostileCalls, StepsThatWrap) {
  EXPECT_EQ(evaluate("'ortho'[-2::9223372036854775806]").repr(), "'h'");
  EXPECT_EQ(evaluate("[1, 2, 3][::-9223372036854775807]").repr(), "[3]");
  EXPECT_EQ(evaluate("[1, 2, 3][1::9223372036854775807]").repr(), "[2]");
}

TEST(HostileCalls, ListsThatDoNotFit) {
  EXPECT_ERROR(internal("fft_sizes", {"torch.ones(4)", "[]", "[0 for i in range(1000000)]"}),
               "must have the same length");
  EXPECT_ERROR(
      internal("as_strided_backward", {"torch.ones(2)", "[1 for i in range(100000)]", "[1]", "[2]", "[1]", "0"}),
      "sizes and strides must have the same lengths");
}

TEST(HostileCalls, WeightsOfBags) {
  const std::string rest = "1, False, 0, False, per_sample_weights=";
  const std::string call =
      "torch.ops.aten._embedding_bag_backward(torch.ones(1, 2), torch.zeros([40], dtype=torch.long), "
      "torch.zeros([1], dtype=torch.long), torch.zeros([40], dtype=torch.long), torch.tensor([40]), "
      "torch.zeros([1], dtype=torch.long), " +
      rest;
  EXPECT_ERROR(evaluate(call + "torch.ones(1))"), "per_sample_weights must have one value per index (40), got 1");
  EXPECT_ERROR(evaluate(call + "torch.ones(40).to(torch.double))"), "expected scalar type Float but found Double");
}

// What would run for ever, or take all memory, is refused at once.
TEST(HostileCalls, WithoutEnd) {
  EXPECT_ERROR(evaluate("[1] * (1 << 62)"), "there is no memory for a list of 4611686018427387904 times 1 items");
  EXPECT_ERROR(evaluate("[torch.ones(1)] * (1 << 58)"), "there is no memory for a list");
  EXPECT_ERROR(evaluate("torch.tril_indices(9007199254740992, 20)"), "");
  EXPECT_EQ(evaluate("torch.tril_indices(1 << 62, 0, 1)").to_tensor().sizes(), IntList({2, 0}));
  EXPECT_EQ(evaluate("torch.triu_indices(9007199254740992, 20)").to_tensor().sizes(), IntList({2, 210}));
  EXPECT_EQ(evaluate("torch.tril_indices(20, 9007199254740992, -3)").to_tensor().sizes(), IntList({2, 153}));
  EXPECT_ERROR(
      evaluate("torch.conv_transpose1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3), None, [4611686018427387905])"),
      "stride=[4611686018427387905] is out of range");
  EXPECT_ERROR(evaluate("torch.linalg.lstsq(torch.tensor([[1.0, -float('inf'), 1e10], [3.0, float('inf'), "
                        "float('inf')]]), torch.ones(2, 3), rcond=1e-300, driver='gelss')"),
               "non-finite values");
  // Degrees that no recurrence reaches.
  EXPECT_EQ(evaluate("torch.special.legendre_polynomial_p(torch.tensor([0.5, 2.0]), 1e18).isnan().all()")
                .to_tensor()
                .to_string(),
            "tensor(True)");
  EXPECT_EQ(evaluate("torch.special.laguerre_polynomial_l(torch.tensor(0.5), 1e18).isnan()").to_tensor().to_string(),
            "tensor(True)");
  EXPECT_EQ(evaluate("torch.special.chebyshev_polynomial_t(torch.tensor(1.0000000000000002, dtype=torch.double), 1e9)")
                .to_tensor()
                .to_string(),
            "tensor(1., dtype=torch.float64)");
}

// Tensors on Meta have no memory, sparse ones none of their own, and the integers of quantised ones are no numbers.
TEST(HostileCalls, TensorsWithoutMemory) {
  const std::string on_meta = "torch.empty([3], dtype=torch.long, device='meta')";
  EXPECT_ERROR(evaluate("torch.take(torch.ones(4), " + on_meta + ")"),
               "take: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!");
  EXPECT_ERROR(evaluate("torch.nanmedian(torch.empty([3], device='meta'), out=torch.ones(1))"), "cpu and meta!");
  EXPECT_ERROR(evaluate("torch.linalg.solve(torch.empty([1, 1], device='meta'), torch.ones(1, 1))"), "cpu and meta!");
  EXPECT_ERROR(evaluate("torch.ops.quantized.add(torch.empty([3], device='meta'), torch.empty([3], device='meta'), "
                        "1.0, 0)"),
               "Could not run 'quantized::add' with arguments from the 'Meta' backend");
  EXPECT_ERROR(evaluate("torch.floor(torch.ones(2, 2), out=torch.ones(2, 2).to_sparse())"), "expected a sparse tensor");
  EXPECT_ERROR(call_op("aten::cat.out", {Value(TensorList{})}, {{"out", evaluate("torch.ones(2, 2).to_sparse()")}}),
               "expected a non-empty list of Tensors");
  EXPECT_ERROR(evaluate("torch.ops.aten._tensor_to_list(torch.quantize_per_tensor(torch.ones(40), 0.5, 0, "
                        "torch.qint32))"),
               "cannot copy a tensor of dtype qint32 to one of dtype int64");
}

// A transposed convolution without output channels: its gradient is a convolution without input channels.
TEST(HostileCalls, ConvolutionsWithoutChannels) {
  auto unit = compile(
      "def f(b: Optional[Tensor]):\n"
      "    return torch.ops.aten._convolution(torch.ones(1, 0, 5, 5), torch.ones(2, 0, 1, 3), b, [1, 1], [0, 3], "
      "[1, 1], False, [0, 0], 1, False, False, False, False)\n");
  EXPECT_EQ(unit.function("f")(Value()).to_tensor().to_string(),
            evaluate("torch.zeros(1, 2, 5, 9)").to_tensor().to_string());
  EXPECT_EQ(unit.function("f")(evaluate("torch.ones(2)")).to_tensor().to_string(),
            evaluate("torch.ones(1, 2, 5, 9)").to_tensor().to_string());
}

TEST(HostileCalls, DTypesWithoutLoops) {
  EXPECT_ERROR(evaluate("torch.index_add(torch.ones(2).to(torch.long), 0, torch.tensor([0, 1]), "
                        "torch.ones(2).to(torch.long), alpha=-0.5)"),
               "a tensor of dtype int64 takes no alpha that makes float32 of its source");
  EXPECT_ERROR(evaluate("torch.lt(torch.ones(1).to(torch.half), 1j)"), "not implemented for 'ComplexHalf'");
  EXPECT_ERROR(evaluate("torch.sum(torch.ones(1), dtype=torch.quint8)"), "not implemented for 'QUInt8'");
}

// Products of arguments that are too large, some of which wrap around to the right number.
TEST(HostileCalls, SizesThatWrapAround) {
  EXPECT_ERROR(evaluate("torch.ops.aten.col2im(torch.ones(1, 1), [3, 3], [1 << 53, 1 << 53], [8, 8], [4, 4], [7, 7])"),
               "sizes are too large: 9007199254740992 * 9007199254740992 does not fit into 64 bits");
  EXPECT_ERROR(evaluate("torch.ops.aten.im2col(torch.ones(1, 1, 4, 4), [2, 2], [1, 1], [1 << 62, 0], [1, 1])"),
               "does not fit into 64 bits");
  EXPECT_ERROR(evaluate("torch.ops.aten.native_layer_norm_backward(torch.ones(4), torch.ones(4), [(1 << 62) + 1], "
                        "torch.ones(4), torch.ones(4), None, None, [True, True, True])"),
               "does not fit into 64 bits");
  EXPECT_ERROR(evaluate("torch.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), None, [1], [1 << 62])"),
               "padding=[4611686018427387904] is out of range");
}

// The step to the next row's one is not computed where there is no next row.
TEST(HostileCalls, DiagonalsWithoutASecondRow) {
  const int64_t most = INT64_MAX;
  EXPECT_EQ(evaluate("torch.eye(0, 9223372036854775807)").to_tensor().sizes(), IntList({0, most}));
  EXPECT_EQ(evaluate("torch.eye(1, 9223372036854775807, dtype=torch.int8, device='meta')").to_tensor().sizes(),
            IntList({1, most}));
  EXPECT_EQ(evaluate("torch.eye(9223372036854775807, 1, dtype=torch.int8, device='meta')").to_tensor().sizes(),
            IntList({most, 1}));
}

// Numbers at their ends: what negates, adds one or multiplies them says that it does not fit, or is right.
TEST(HostileCalls, LeastAndLargestNumbers) {
  const auto power = evaluate("torch.linalg.matrix_power(torch.ones(1, 1), -9223372036854775807 - 1)").to_tensor();
  EXPECT_EQ(power.to_string(), "tensor([[1.]])");
  EXPECT_ERROR(evaluate("torch.one_hot(torch.tensor([3, 9223372036854775807]))"),
               "9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_ERROR(evaluate("torch.fft.irfftn(torch.zeros([0, 0, 3, 1], dtype=torch.bool), [9223372036854775806], [0])"),
               "the strides of");
}

// What decides that the kernels are those of quantised tensors may be `out` alone.
TEST(HostileCalls, NoTensorsInAQuantisedOne) {
  const Value out = evaluate("torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint32)");
  const Value none = std::vector<Tensor>();
  EXPECT_ERROR(call_op("aten::stack.out", {none, Value(0)}, {{"out", out}}), "stack expects a non-empty TensorList");
  EXPECT_ERROR(call_op("aten::cat.out", {none, Value(0)}, {{"out", out}}), "expected a non-empty list of Tensors");
}

// A tensor that is read and written, and has other sizes than the result, is read as it is.
TEST(HostileCalls, OutputsThatAreInputs) {
  const Tensor both = evaluate("torch.arange(6, dtype=torch.long).view(2, 3)").to_tensor();
  EXPECT_ERROR(call_op("aten::_convert_indices_from_csr_to_coo.out", {both, both}, {{"out", both}}),
               "crow_indices must go from 0 to the number of elements, 3");
  const Tensor x = evaluate("torch.tensor([[4, 1], [2, 3]])").to_tensor();
  call_op("aten::sort.values", {x, Value(1)},
          {{"values", x}, {"indices", evaluate("torch.empty([0], dtype=torch.long)")}});
  EXPECT_EQ(x.to_string(), "tensor([[1, 4],\n        [2, 3]])");
  const Tensor one = evaluate("torch.empty([0], dtype=torch.long)").to_tensor();
  call_op("aten::sort.values", {x, Value(1)}, {{"values", one}, {"indices", one}});
  EXPECT_EQ(one.sizes(), IntList({2, 2}));
}

// An honest program can do this: the view has another dtype, and no history.
TEST(HostileCalls, BackwardOfAViewOfOtherBytes) {
  auto unit = compile(
      "def f():\n"
      "    x = torch.ones(4, 3).requires_grad_()\n"
      "    y = torch.ops.aten.view.dtype(x, torch.bfloat16)\n"
      "    y.backward(torch.zeros([4, 6], dtype=torch.bfloat16))\n"
      "    return x\n");
  EXPECT_ERROR(unit.function("f")(), "element 0 of tensors does not require grad and does not have a grad_fn");
}

}  // namespace
}  // namespace sconce::jit
