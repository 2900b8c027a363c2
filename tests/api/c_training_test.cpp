// The C interface: gradients and optimisers.
#include <gtest/gtest.h>

#include "c_handles.h"
#include "sconce/api/jit.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/temporary_folder.h"

namespace {

// A file with a module whose method `loss` is (w * x).sum() ** 2; w is 2.
std::string saved_module(const std::string& folder) {
  auto unit = sconce::jit::compile(R"py(
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((1,), 2.0))

    def forward(self, x):
        return self.w * x

    @torch.jit.export
    def loss(self, x):
        return self.forward(x).sum() ** 2
)py");
  unit.module("Line").save(folder + "/line.pt");
  return folder + "/line.pt";
}

sconce_value* number_tensor(float x) {
  const int64_t sizes[] = {1};
  sconce_value* v = nullptr;
  sconce_tensor_copy(&x, 4, SCONCE_FLOAT32, 1, sizes, &v);
  return v;
}
float number(const sconce_value* tensor) {
  float x = -1;
  sconce_tensor_read(tensor, &x, 4);
  return x;
}

TEST(CTraining, gradients) {
  const sconce::testing::TemporaryFolder folder;
  Module m;
  ASSERT_OK(sconce_load(saved_module(folder.path()).c_str(), &m));
  EXPECT_EQ(sconce_grad_enabled(), 0);
  sconce_set_grad_enabled(1);
  Value w, x{number_tensor(3)}, loss, grad, plain;
  ASSERT_OK(sconce_state_tensor(m, "w", &w));
  int on = 0;
  EXPECT_OK(sconce_tensor_requires_grad(w, &on));
  EXPECT_EQ(on, 1);
  EXPECT_OK(sconce_tensor_grad(w, &grad));
  EXPECT_EQ(sconce_kind_of(grad), SCONCE_NONE);
  ASSERT_OK(sconce_call(m, "loss", &x.v, 1, &loss));
  EXPECT_OK(sconce_tensor_backward(loss, nullptr, 1));
  EXPECT_OK(sconce_tensor_backward(loss, nullptr, 0));
  EXPECT_EQ(sconce_tensor_backward(loss, nullptr, 0), SCONCE_RUNTIME_ERROR);
  sconce_value_free(grad.v);
  EXPECT_OK(sconce_tensor_grad(w, &grad));
  EXPECT_EQ(number(grad), 2 * 2 * 6 * 3);
  EXPECT_OK(sconce_tensor_set_grad(w, nullptr));
  EXPECT_OK(sconce_tensor_detach(w, &plain));
  EXPECT_OK(sconce_tensor_requires_grad(plain, &on));
  EXPECT_EQ(on, 0);
  EXPECT_OK(sconce_tensor_set_requires_grad(x, 1));
  sconce_set_grad_enabled(0);
  EXPECT_EQ(sconce_grad_enabled(), 0);
  Value quiet;
  ASSERT_OK(sconce_call(m, "loss", &x.v, 1, &quiet));
  EXPECT_OK(sconce_tensor_requires_grad(quiet, &on));
  EXPECT_EQ(on, 0);
  EXPECT_EQ(sconce_tensor_backward(nullptr, nullptr, 0), SCONCE_INVALID_ARGUMENT);
}

TEST(CTraining, optimizers) {
  const sconce::testing::TemporaryFolder folder;
  Module m;
  ASSERT_OK(sconce_load(saved_module(folder.path()).c_str(), &m));
  Value w, x{number_tensor(1)}, lr, momentum;
  ASSERT_OK(sconce_state_tensor(m, "w", &w));
  sconce_float(0.25, &lr);
  sconce_float(0.9, &momentum);
  const char* names[] = {"lr", "momentum"};
  sconce_value* values[] = {lr, momentum};
  Optimizer sgd;
  ASSERT_OK(sconce_optimizer_create("SGD", m, names, values, 2, &sgd));
  EXPECT_OK(sconce_set_training(m, 1));
  sconce_set_grad_enabled(1);
  for (int i = 0; i < 2; ++i) {
    Value loss;
    EXPECT_OK(sconce_optimizer_zero_grad(sgd));
    ASSERT_OK(sconce_call(m, "loss", &x.v, 1, &loss));  // w * w
    EXPECT_OK(sconce_tensor_backward(loss, nullptr, 0));
    EXPECT_OK(sconce_optimizer_step(sgd));
  }
  sconce_set_grad_enabled(0);
  EXPECT_FLOAT_EQ(number(w), 2 - 0.25f * 4 - 0.25f * (0.9f * 4 + 2));
  double norm = 0;
  EXPECT_OK(sconce_clip_grad_norm(m, 0.5, &norm));
  EXPECT_EQ(norm, 2);
  EXPECT_OK(sconce_optimizer_set_lr(sgd, 0.125));
  const std::string file = folder.path() + "/sgd.pth";
  EXPECT_OK(sconce_optimizer_save(sgd, file.c_str()));
  Optimizer other;
  ASSERT_OK(sconce_optimizer_over("SGD", &w.v, 1, nullptr, nullptr, 0, &other));
  EXPECT_OK(sconce_optimizer_load(other, file.c_str()));
  double rate = 0;
  EXPECT_OK(sconce_optimizer_lr(other, &rate));
  EXPECT_EQ(rate, 0.125);

  Optimizer none;
  EXPECT_EQ(sconce_optimizer_create("Sgd", m, nullptr, nullptr, 0, &none), SCONCE_VALUE_ERROR);
  const char* wrong[] = {"rate"};
  EXPECT_EQ(sconce_optimizer_create("SGD", m, wrong, values, 1, &none), SCONCE_TYPE_ERROR);
  EXPECT_STREQ(sconce_last_error(), "SGD.__init__() got an unexpected keyword argument 'rate'");
  EXPECT_EQ(sconce_optimizer_create("SGD", nullptr, nullptr, nullptr, 0, &none), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_optimizer_step(nullptr), SCONCE_INVALID_ARGUMENT);
  EXPECT_OK(sconce_set_requires_grad(m, 0));
  EXPECT_EQ(sconce_optimizer_create("SGD", m, nullptr, nullptr, 0, &none), SCONCE_VALUE_ERROR);
}

}  // namespace
