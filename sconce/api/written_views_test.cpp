// Programs that write to views, drawn at random: written_views.test has what PyTorch 2.13 makes of them.
#include <gtest/gtest.h>

#include <cstdio>

#include "sconce/api/jit.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::jit {
namespace {

Tensor numbers(double from, double to) { return view(linspace(from, to, 24), {4, 6}); }

std::string rounded(const Tensor& grad) {
  if (!grad.defined()) return "none";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", item(sum(mul(grad, numbers(1, 2)))).to_double());
  return text;
}

// The gradients of f(a, w), or what is wrong with it.
std::string gradients(const std::string& source) {
  const Tensor a = numbers(0.1, 2.4), w = numbers(0.5, 1.5);
  autograd::set_requires_grad(a, true);
  autograd::set_requires_grad(w, true);
  try {
    autograd::backward({compile("import torch\n" + source).function("f")(a, w).to_tensor()});
  } catch (const Error& e) {
    const std::string text = e.what();
    const size_t begin = text.find("is at version"), end = text.find(" instead", begin);
    return begin == std::string::npos ? text : text.substr(begin, end + 8 - begin) + "\n";
  }
  return "a " + rounded(autograd::grad(a)) + ", w " + rounded(autograd::grad(w)) + "\n";
}

TEST(WrittenViews, gradients_are_pytorchs) {
  testing::check_golden_file(testing::source_path("sconce/api/written_views.test"), gradients);
}

}  // namespace
}  // namespace sconce::jit
