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
    "torch.nn.functional.group_norm(torch.rand([4, 64, 50, 50]), 8)",
    "torch.native_batch_norm(torch.rand([8, 64, 40, 40]), None, None, None, None, True, 0.1, 1e-5)[1]",
    "torch.rand([300000]).double().sum() + torch.rand([300000]).double().prod()",
    "torch.logsumexp(torch.rand([1000, 700]), 0)",
    "torch.var_mean(torch.rand([700000]))[0]",
    "torch.cdist(torch.rand([400, 60]), torch.rand([300, 60]))",
    "torch.nn.functional.mse_loss(torch.rand([700000]), torch.rand([700000]))",
    "torch.nn.functional.cross_entropy(torch.rand([5000, 100]), torch.randint(0, 100, [5000]))",
    "torch.avg_pool2d(torch.rand([4, 32, 80, 80]), [3, 3])",
    "torch.nn.functional.interpolate(torch.rand([2, 16, 60, 60]), scale_factor=2.0, mode='bicubic')",
    "torch.nn.functional.embedding_bag(torch.randint(0, 50, [30000]), torch.rand([50, 32]), "
    "torch.arange(0, 30000, 100))",
    "torch.zeros([50, 64]).scatter_add(0, torch.randint(0, 50, [20000, 64]), torch.rand([20000, 64]))",
    "torch.zeros([60]).index_put([torch.randint(0, 60, [200000])], torch.rand([200000]), True)",
    "torch.rand([200000]).sort()[0].cumsum(0)",
    "torch.einsum('bij,bjk->ik', torch.rand([20, 60, 70]), torch.rand([20, 70, 50]))",
    "torch.linalg.solve(torch.rand([200, 200]) + 200 * torch.eye(200), torch.rand([200, 50]))",
    "torch.conv2d(torch.rand([2, 64, 56, 56]), torch.rand([64, 64, 3, 3]), None, [1, 1], [1, 1])",
    "torch.conv3d(torch.rand([1, 16, 12, 20, 20]), torch.rand([16, 16, 3, 3, 3]))",
    "torch.convolution_backward(torch.rand([2, 32, 28, 28]), torch.rand([2, 32, 28, 28]), torch.rand([32, 32, 3, 3]), "
    "[32], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])[1]",
    "torch.lstm(torch.rand([20, 16, 64]), [torch.zeros([1, 16, 128]), torch.zeros([1, 16, 128])], "
    "[torch.rand([512, 64]), torch.rand([512, 128]), torch.rand([512]), torch.rand([512])], True, 1, 0.0, False, "
    "False, False)[0]",
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
