// torch.inference_mode() in scripts does what InferenceMode does in C++.
#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/error_of.h"

namespace sconce::jit {
namespace {

constexpr const char* kProgram = R"(
def inside(x: Tensor):
    with torch.inference_mode():
        y = x * 2
        made = y.is_inference() and not y.requires_grad and not torch.is_grad_enabled()
    z = x * 2
    return y, z, made

def enabled_again(x: Tensor):
    with torch.inference_mode():
        with torch.enable_grad():
            y = x * 2
        with torch.inference_mode(False):
            z = x * 2
    return y, z

def made_inside(n: int):
    with torch.inference_mode():
        return torch.ones([n])

def write(x: Tensor):
    x.add_(1)

def fails(x: Tensor):
    with torch.inference_mode():
        assert x.numel() == 0, "not empty"
    return x

def forked(x: Tensor):
    with torch.inference_mode():
        f = torch.jit.fork(twice, x)
    return torch.jit.wait(f)

def twice(x: Tensor):
    return x * 2
)";

Tensor parameter() {
  const Tensor t = ones({3});
  autograd::set_requires_grad(t, true);
  return t;
}

TEST(InferenceModeInScripts, MakesInferenceTensors) {
  CompilationUnit unit = compile(kProgram);
  const Tensor w = parameter();
  for (int i = 0; i < 3; ++i) {  // also compiled for gradients
    const Value result = unit.function("inside")(w);
    const std::vector<Value>& items = result.to_tuple().items;
    EXPECT_TRUE(is_inference(items[0].to_tensor()) && !items[0].to_tensor().requires_grad());
    EXPECT_TRUE(!is_inference(items[1].to_tensor()) && items[1].to_tensor().requires_grad());
    EXPECT_TRUE(items[2].to_bool());
    EXPECT_TRUE(grad_enabled() && !inference_mode_enabled());
  }
  const Value result = unit.function("enabled_again")(w);
  const std::vector<Value>& items = result.to_tuple().items;
  EXPECT_TRUE(is_inference(items[0].to_tensor()) && !items[0].to_tensor().requires_grad());
  EXPECT_TRUE(!is_inference(items[1].to_tensor()) && items[1].to_tensor().requires_grad());
  EXPECT_TRUE(is_inference(unit.function("forked")(w).to_tensor()));
}

TEST(InferenceModeInScripts, WhatTheyCannotDoOutside) {
  CompilationUnit unit = compile(kProgram);
  const Tensor x = unit.function("made_inside")(3).to_tensor();
  EXPECT_TRUE(is_inference(x));
  const char* written =
      "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
      "tensor before doing inplace update.";
  EXPECT_ERROR(unit.function("write")(x), written);
  EXPECT_ERROR(add_(x, 1), written);
  EXPECT_ERROR(mul(parameter(), x), "Inference tensors cannot be saved for backward.");
  EXPECT_ERROR(autograd::set_requires_grad(x, true),
               "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  EXPECT_ERROR((void)x.version(), "Inference tensors do not track version counter.");
  const InferenceMode mode;
  const Tensor fresh = unit.function("made_inside")(3).to_tensor();
  unit.function("write")(fresh);
  EXPECT_EQ(fresh.to_string(), "tensor([2., 2., 2.])");
}

TEST(InferenceModeInScripts, EndsWithItsBlock) {
  CompilationUnit unit = compile(kProgram);
  EXPECT_ERROR(unit.function("fails")(ones({1})), "not empty");
  EXPECT_TRUE(grad_enabled() && !inference_mode_enabled());
  {
    const InferenceMode mode;
    EXPECT_ERROR(unit.function("fails")(ones({1})), "not empty");
    EXPECT_TRUE(!grad_enabled() && inference_mode_enabled());
  }
  const NoGrad off;
  EXPECT_FALSE(is_inference(unit.function("fails")(ones({0})).to_tensor()));
  EXPECT_TRUE(!grad_enabled() && !inference_mode_enabled());
}

}  // namespace
}  // namespace sconce::jit
