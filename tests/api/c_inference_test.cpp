// The C interface: modules that are frozen and planned before they are called.
#include "c_handles.h"

#include <string>

namespace {

using Plan = Handle<sconce_plan, sconce_plan_free>;

const std::string kModel = SCONCE_SOURCE_DIR "/tests/conformance/programs/ConvNet.pt";
std::string error() { return sconce_last_error(); }

struct Fixture {
  Module model;
  float pixels[2 * 3 * 16 * 16] = {1, -2, 3};
  Value x;
  Fixture() {
    const int64_t sizes[] = {2, 3, 16, 16};
    EXPECT_OK(sconce_load(kModel.c_str(), &model));
    EXPECT_OK(sconce_set_training(model, 0));
    EXPECT_OK(sconce_tensor_over(pixels, SCONCE_FLOAT32, 4, sizes, nullptr, nullptr, nullptr, &x));
  }
  std::string call(const sconce_module* m) const {
    Value y, text;
    sconce_value* const args[] = {x};
    EXPECT_OK(sconce_call(m, "forward", args, 1, &y));
    EXPECT_OK(sconce_repr(y, &text));
    const char* out = nullptr;
    EXPECT_OK(sconce_get_string(text, &out, nullptr));
    return out;
  }
};

TEST(CInference, FreezesAndCompiles) {
  const Fixture f;
  Module frozen, again;
  ASSERT_OK(sconce_optimize_for_inference(f.model, nullptr, 0, &frozen));
  EXPECT_EQ(sconce_state_count(frozen), 0u);
  ASSERT_OK(sconce_optimize_for_inference(frozen, nullptr, 0, &again));
  EXPECT_EQ(f.call(again), f.call(f.model));  // as printed: batch norms were folded
  Plan plan;
  sconce_value* const args[] = {f.x};
  ASSERT_OK(sconce_compile(frozen, "forward", args, 1, nullptr, &plan));
  EXPECT_EQ(sconce_plan_why_not(plan), nullptr);
  EXPECT_GT(sconce_plan_step_count(plan), 0u);
  EXPECT_EQ(sconce_plan_guard_count(plan), 0u);
  EXPECT_NE(std::string(sconce_plan_text(plan)).find("packed convolution"), std::string::npos)
      << sconce_plan_text(plan);
  EXPECT_EQ(f.call(frozen), f.call(again));
}

TEST(CInference, KeepsWhatIsNamed) {
  const Fixture f;
  Module frozen;
  const char* const names[] = {"training"};
  ASSERT_OK(sconce_freeze(f.model, names, 1, &frozen));
  const char* const unknown[] = {"elsewhere"};
  Module none;
  EXPECT_EQ(sconce_freeze(f.model, unknown, 1, &none), SCONCE_RUNTIME_ERROR);
  EXPECT_NE(error().find("unknown name 'elsewhere' to preserve"), error().npos) << error();
}

TEST(CInference, Refuses) {
  const Fixture f;
  Module out;
  Plan plan;
  sconce_value* const args[] = {f.x};
  EXPECT_OK(sconce_set_training(f.model, 1));
  for (const auto function : {sconce_freeze, sconce_optimize_for_inference}) {
    EXPECT_EQ(function(f.model, nullptr, 0, &out), SCONCE_RUNTIME_ERROR);
    EXPECT_NE(error().find("only implemented for modules in eval mode"), error().npos) << error();
    EXPECT_EQ(function(nullptr, nullptr, 0, &out), SCONCE_INVALID_ARGUMENT);
    EXPECT_EQ(function(f.model, nullptr, 1, &out), SCONCE_INVALID_ARGUMENT);
    EXPECT_EQ(function(f.model, nullptr, 0, nullptr), SCONCE_INVALID_ARGUMENT);
  }
  EXPECT_EQ(sconce_compile(f.model, "forward", args, 1, "nobody", &plan), SCONCE_VALUE_ERROR);
  EXPECT_NE(error().find("there is no backend 'nobody'; known are: sconce"), error().npos) << error();
  EXPECT_EQ(sconce_compile(f.model, "forward", args, 1, "", &plan), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_compile(f.model, nullptr, args, 1, nullptr, &plan), SCONCE_INVALID_ARGUMENT);
  EXPECT_EQ(sconce_compile(f.model, "backward", args, 1, nullptr, &plan), SCONCE_RUNTIME_ERROR);
  EXPECT_EQ(sconce_compile(f.model, "forward", nullptr, 0, nullptr, &plan), SCONCE_RUNTIME_ERROR);
  EXPECT_EQ(plan.v, nullptr);
  EXPECT_EQ(sconce_plan_why_not(nullptr), nullptr);
  EXPECT_EQ(sconce_plan_step_count(nullptr), 0u);
}

TEST(CInference, SaysWhyNot) {
  const Fixture f;
  Plan plan;
  sconce_value* const args[] = {f.x};
  Limits limits;
  ASSERT_OK(sconce_limits_new(&limits));
  ASSERT_OK(sconce_limits_set(limits, SCONCE_LIMIT_STEPS, 1000000));
  ASSERT_OK(sconce_use_limits(limits));
  EXPECT_OK(sconce_compile(f.model, "forward", args, 1, nullptr, &plan));
  ASSERT_OK(sconce_use_limits(nullptr));
  EXPECT_STREQ(sconce_plan_why_not(plan), "the call has limits");
  EXPECT_EQ(sconce_plan_step_count(plan), 0u);
}

}  // namespace
