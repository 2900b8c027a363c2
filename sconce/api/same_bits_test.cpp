// Results do not depend on the number of threads: every call here is large enough for several, and sums floats.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/registry.h"

namespace sconce::jit {
namespace {

constexpr const char* kCalls[] = {
    "torch.bincount(torch.randint(0, 50, [300000]), torch.rand([300000], dtype=torch.float64))",
    "torch.histogram(torch.rand([300000], dtype=torch.float64), 20, weight=torch.rand([300000], "
    "dtype=torch.float64))[0]",
    "torch.rand([700000]).sum()",
    "torch.rand([700, 1000]).std(0)",
    "torch.rand([700000]).norm()",
    "torch.rand([3000, 200]).cumsum(0)",
    "torch.rand([500, 1000]).softmax(1)",
    "torch.rand([129, 777]) @ torch.rand([777, 513])",
    "torch.rand([1, 2048]) @ torch.rand([2048, 2048])",
    "torch.bmm(torch.rand([7, 65, 300]), torch.rand([7, 300, 77]))",
    "torch.rand([300, 300]).bfloat16() @ torch.rand([300, 300]).bfloat16()",
    "torch.nn.functional.scaled_dot_product_attention(torch.rand([1, 2, 300, 64]), torch.rand([1, 2, 300, 64]), "
    "torch.rand([1, 2, 300, 64]))",
    "torch.nn.functional.layer_norm(torch.rand([500, 1000]), [1000])",
    "torch.zeros([50, 64]).index_add(0, torch.randint(0, 50, [20000]), torch.rand([20000, 64]))",
    "torch.embedding_dense_backward(torch.rand([20000, 64]), torch.randint(0, 50, [20000]), 50, -1, False)",
    "torch.fft.rfft(torch.rand([300, 1000])).abs()",
    "torch.conv1d(torch.rand([2, 64, 3000]), torch.rand([64, 64, 5]), None, [1], [2])",
    "torch.conv_transpose2d(torch.rand([1, 32, 30, 30]), torch.rand([32, 48, 4, 4]), None, [2, 2], [1, 1])",
    "torch.gru(torch.rand([20, 16, 64]), torch.zeros([1, 16, 200]), [torch.rand([600, 64]), torch.rand([600, 200]), "
    "torch.rand([600]), torch.rand([600])], True, 1, 0.0, False, False, False)[0]",
};

TEST(SameBits, ForAnyNumberOfThreads) {
  for (const char* call : kCalls) {
    auto unit = compile(std::string("def f():\n    torch.manual_seed(0)\n    return ") + call + "\n");
    const auto run = [&](int threads) {
      set_num_threads(threads);
      return unit.function("f")().to_tensor();
    };
    const Tensor one = run(1);
    for (const int threads : {2, 3, 4, 8}) {
      EXPECT_TRUE(call_op("aten::equal", {one, run(threads)})[0].to_bool()) << threads << " threads: " << call;
    }
  }
  set_num_threads(1);
}

}  // namespace
}  // namespace sconce::jit
