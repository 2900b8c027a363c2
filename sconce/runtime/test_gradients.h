// Gradient tests: compare first and second gradients of a script, with regions and recorded one by one.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/runtime/plans/differentiable_region.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::runtime {

// Switches regions off for a scope.
struct OneByOne {
  OneByOne() { set_autodiff_enabled(false); }
  ~OneByOne() { set_autodiff_enabled(true); }
};

struct Gradients {
  std::vector<Tensor> values, first, second;
  std::string made_by;  // the node of the first value
};

inline void add_tensors(const Value& v, std::vector<Tensor>& to) {
  if (v.is_tensor()) to.push_back(v.to_tensor());
  if (v.is_tuple()) {
    for (const Value& item : v.to_tuple().items) add_tensors(item, to);
  }
  if (v.is_list()) {
    for (const Value& item : v.to_list().values()) add_tensors(item, to);
  }
  if (v.is_dict()) v.to_dict().for_each([&](const Value&, const Value& item) { add_tensors(item, to); });
}

// Sum of f(t) over those that require grad; undefined when none does.
template <class F>
Tensor total(const std::vector<Tensor>& all, F&& f) {
  Tensor sum;
  for (const Tensor& t : all) {
    if (t.defined() && t.requires_grad()) sum = sum.defined() ? add(sum, sconce::sum(f(t))) : sconce::sum(f(t));
  }
  return sum;
}

// A call of a script: fills in the leaves that gradients are wanted for.
using GradientCall = std::function<Value(std::vector<Tensor>& leaves)>;

inline Gradients gradients_of(const GradientCall& call, bool second_order = true) {
  Gradients r;
  std::vector<Tensor> leaves;
  add_tensors(call(leaves), r.values);
  if (!r.values.empty() && autograd::grad_fn(r.values[0])) r.made_by = autograd::grad_fn(r.values[0])->name();
  autograd::GradOptions options;
  options.allow_unused = true;
  options.create_graph = second_order;
  const Tensor loss = total(r.values, [](const Tensor& t) { return mul(t, sin(t)); });
  if (!loss.defined()) return r;
  r.first = autograd::grad({loss}, leaves, {}, options);
  const Tensor again = total(r.first, [](const Tensor& t) { return mul(t, t); });
  options.create_graph = false;
  if (second_order && again.defined()) r.second = autograd::grad({again}, leaves, {}, options);
  return r;
}

inline void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const char* what,
                         double tolerance) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].defined(), wanted[i].defined()) << what << " " << i;
    if (!got[i].defined()) continue;
    const NoGrad off;
    ASSERT_TRUE(got[i].sizes() == wanted[i].sizes()) << what << " " << i;
    EXPECT_TRUE(allclose(got[i], wanted[i], tolerance, tolerance, true)) << what << " " << i;
  }
}

// Three runs with regions: the first may be recorded one by one, where the function meets gradients for the first time.
inline void expect_same_gradients(const GradientCall& call, bool in_region, bool second_order = true,
                                  double tolerance = 1e-9) {
  Gradients expected;
  {
    const OneByOne off;
    expected = gradients_of(call, second_order);
  }
  for (int round = 0; round < 3; ++round) {
    const Gradients got = gradients_of(call, second_order);
    expect_close(got.values, expected.values, "value", tolerance);
    expect_close(got.first, expected.first, "gradient", tolerance);
    expect_close(got.second, expected.second, "second gradient", tolerance);
    if (round == 0 || !in_region) continue;
    EXPECT_EQ(got.made_by, "DifferentiableGraphBackward");
  }
}

}  // namespace sconce::runtime
