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

TEST(HostileCalls, SizesThatDoNotFit) {
  EXPECT_ERROR(
      evaluate("torch._softmax_backward_data(torch.ones(1000, 1000), torch.ones(1), 1, 6)"),
      "Expected tensor for argument #1 'grad_output' to have same size as tensor for argument #2 'output'; but "
      "[1000, 1000] does not equal [1]");
  EXPECT_ERROR(evaluate("torch._log_softmax_backward_data(torch.ones(1000, 1000), torch.ones(1), 1, 6)"),
               "to have same size as tensor for argument #2 'output'");
  EXPECT_ERROR(evaluate("torch.ops.aten.cumprod_backward(torch.ones(1), torch.zeros([4000, 1000]), 1, torch.ones(1))"),
               "but [4000, 1000] does not equal [1]");
  EXPECT_ERROR(evaluate("torch.ops.sconce.cdist_direct(torch.ones(1000, 1000, 4), torch.ones(1, 1, 1), 1.0)"),
               "expected batches of rows of one width");
  EXPECT_ERROR(evaluate("torch.ops.sconce.cdist_direct_backward(torch.ones(1), torch.ones(1, 1000, 4), "
                        "torch.ones(1, 1000, 4), 1.0, torch.ones(1))"),
               "expected distances of all pairs");
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

TEST(HostileCalls, ListsThatDoNotFit) {
  EXPECT_ERROR(evaluate("torch.ops.sconce.fft_sizes(torch.ones(4), [], [0 for i in range(1000000)])"),
               "must have the same length");
  EXPECT_ERROR(evaluate("torch.ops.sconce.as_strided_backward(torch.ones(2), [1 for i in range(100000)], [1], [2], "
                        "[1], 0)"),
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
  EXPECT_EQ(evaluate("torch.triu_indices(9007199254740992, 20)").to_tensor().sizes(), IntList({2, 210}));
  EXPECT_EQ(evaluate("torch.tril_indices(20, 9007199254740992, -3)").to_tensor().sizes(), IntList({2, 153}));
  EXPECT_ERROR(
      evaluate("torch.conv_transpose1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3), None, [4611686018427387905])"),
      "dimension 0 of the output is too large");
  EXPECT_ERROR(evaluate("torch.linalg.lstsq(torch.tensor([[1.0, -float('inf'), 1e10], [3.0, float('inf'), "
                        "float('inf')]]), torch.ones(2, 3), rcond=1e-300, driver='gelss')"),
               "non-finite values");
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
