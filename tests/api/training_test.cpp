// Training as a user's program does it: through libsconce.so and the headers that are installed.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/api/optim.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

constexpr const char* kNet = R"py(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.second = nn.Linear(8, 1)
        self.scale = nn.Parameter(torch.ones(1))
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x):
        return self.second(torch.tanh(self.norm(self.first(x)))) * self.scale
)py";

TEST(Training, tensors_have_pytorchs_methods) {
  const Tensor x = ones({3}).requires_grad_();
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  EXPECT_FALSE(x.grad().defined());
  const Tensor y = x * x;
  y.retain_grad();
  EXPECT_FALSE(y.is_leaf());
  y.sum().backward({}, true);
  EXPECT_TRUE(x.grad().equal(full({3}, 2.0)));
  EXPECT_TRUE(y.grad().equal(ones({3})));
  EXPECT_TRUE(y.retains_grad());
  y.backward(full({3}, 10.0));
  EXPECT_TRUE(x.grad().equal(full({3}, 22.0)));
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(y.detach().requires_grad());
  {
    const NoGrad quiet;
    EXPECT_FALSE((x * x).requires_grad());
  }
  EXPECT_ERROR(ones({3}).sum().backward(), "element 0 of tensors does not require grad");
  EXPECT_ERROR(x.mul(2).backward(), "grad can be implicitly created only for scalar outputs");
  EXPECT_ERROR(ones({3}, DType::int64).requires_grad_(), "floating point");
}

TEST(Training, parameters_of_modules_require_grad) {
  manual_seed(0);
  auto unit = jit::compile(kNet);
  const jit::Module net = unit.module("Net");
  std::vector<std::string> names;
  for (const auto& [name, t] : net.named_parameters()) {
    names.push_back(name);
    EXPECT_EQ(t.requires_grad(), name != "frozen") << name;
    EXPECT_TRUE(t.is_leaf()) << name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"scale", "frozen", "first.weight", "first.bias", "norm.weight",
                                             "norm.bias", "second.weight", "second.bias"}));
  EXPECT_EQ(net.parameters(false).size(), 2u);
  EXPECT_EQ(net.named_buffers(false).size(), 0u);
  for (const Tensor& t : net.buffers()) EXPECT_FALSE(t.requires_grad());

  net(randn({5, 4})).to_tensor().sum().backward();
  for (const auto& [name, t] : net.named_parameters()) EXPECT_EQ(t.grad().defined(), name != "frozen") << name;
  net.zero_grad(false);
  EXPECT_TRUE(net.parameters()[0].grad().equal(zeros({1})));
  net.zero_grad();
  EXPECT_FALSE(net.parameters()[0].grad().defined());

  const Tensor scale = net.parameters()[0];
  net.to(DType::float64);
  EXPECT_EQ(scale.dtype(), DType::float64);
  EXPECT_TRUE(scale.is_same(net.parameters()[0]));
  EXPECT_TRUE(net.parameters()[0].is_leaf() && net.parameters()[0].requires_grad());
  const jit::Module copy = net.clone();
  EXPECT_TRUE(copy.parameters()[0].is_leaf() && copy.parameters()[0].requires_grad());
  net.requires_grad_(false);
  EXPECT_FALSE(net(randn({5, 4}, DType::float64)).to_tensor().requires_grad());
}

TEST(Training, a_module_learns_and_is_saved) {
  manual_seed(0);
  auto unit = jit::compile(kNet);
  const jit::Module net = unit.module("Net");
  optim::SGD sgd(net.named_parameters(), {{"lr", 0.1}, {"momentum", 0.9}});
  optim::CosineAnnealingLR schedule(sgd, 60);
  const Tensor x = randn({32, 4}), y = x.sum(IntList{1}, true).sin();
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    sgd.zero_grad();
    const Tensor loss = mse_loss(net(x).to_tensor(), y);
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 10);
    sgd.step();
    schedule.step();
    last = loss.item().to_double();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first / 5);
  const testing::TemporaryFolder folder;
  net.eval().save(folder.path() + "/net.pt");
  const jit::Module loaded = jit::load(folder.path() + "/net.pt");
  EXPECT_TRUE(loaded(x).to_tensor().equal(net(x).to_tensor()));
  EXPECT_TRUE(loaded.parameters()[0].requires_grad());
}

TEST(Training, takes_over_the_state_of_pytorchs_optimizer) {
  const Value saved = read_pickled(FileBytes::map(SCONCE_SOURCE_DIR "/tests/data/adam_state.pth"));
  const Tensor w = saved.to_dict().find("w")->to_tensor().clone().requires_grad_();
  const Tensor b = saved.to_dict().find("b")->to_tensor().clone().requires_grad_();
  const auto go_on = [&](optim::Adam& adam) {
    adam.zero_grad();
    (w * w).sum().backward();
    (b * b * b).sum().backward();
    adam.step();
  };
  optim::Adam adam(std::vector<optim::ParamGroup>{{{w}}, {{b}, {{"lr", 0.05}}}}, {{"lr", 0.1}, {"amsgrad", true}});
  adam.load_state_dict(*saved.to_dict().find("optimizer"));
  EXPECT_EQ(adam.lr(0), 0.1);
  EXPECT_EQ(adam.lr(1), 0.05);
  const testing::TemporaryFolder folder;
  write_pickled(folder.path() + "/state.pth", adam.state_dict());
  const Tensor w3 = w.detach().clone(), b3 = b.detach().clone();
  go_on(adam);
  const float expected[] = {0.6039391160011292, -1.601504921913147,  2.6009135246276855,
                            3.6006534099578857, 0.30506637692451477, -0.7003051042556763};
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(w.data<float>()[i], expected[i]);
  for (int i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(b.data<float>()[i], expected[4 + i]);
  EXPECT_EQ(item_of(adam.state_of(w).tensor("step")).to_double(), 4);

  // The same again from our own file.
  const Tensor w4 = w.detach().clone();
  {
    const NoGrad quiet;
    w.copy_(w3);
    b.copy_(b3);
  }
  optim::Adam again(std::vector<optim::ParamGroup>{{{w}}, {{b}}});
  again.load_state_dict(read_pickled(FileBytes::map(folder.path() + "/state.pth")));
  go_on(again);
  EXPECT_TRUE(w.detach().equal(w4));

  optim::Adam other({w});
  EXPECT_ERROR(other.load_state_dict(adam.state_dict()), "different number of parameter groups");
  optim::Adam larger(std::vector<optim::ParamGroup>{{{w, b}}, {{ones({1})}}});
  EXPECT_ERROR(larger.load_state_dict(adam.state_dict()), "doesn't match the size of optimizer's group");
}

}  // namespace
}  // namespace sconce
