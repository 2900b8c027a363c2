// The engine on random graphs, against gradients that are computed node by node.
#include <gtest/gtest.h>

#include <random>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/test_tensors.h"
#include "sconce/ops.h"

namespace sconce::autograd {
namespace {

// A graph of numbers: leaves first, then sums, products and differences of two that came before.
struct RandomGraph {
  struct Step {
    char op;
    size_t a, b;
  };
  std::vector<Step> steps;  // of values[leaves + i]
  size_t leaves;
  std::vector<double> values;
  std::vector<Tensor> tensors;

  explicit RandomGraph(std::mt19937& random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    leaves = 1 + below(4);
    for (size_t i = 0; i < leaves; ++i) {
      values.push_back(static_cast<double>(1 + below(3)) / 2);
      Tensor t = empty_tensor({}, DType::float64);
      *t.data<double>() = values.back();
      set_requires_grad(t, true);
      tensors.push_back(t);
    }
    for (size_t n = 1 + below(20); n > 0; --n) {
      // Mostly of late ones, so that graphs are deep.
      const auto pick = [&] { return values.size() - 1 - below(std::min<size_t>(values.size(), 1 + below(6))); };
      const Step s{"+*-"[below(3)], pick(), pick()};
      steps.push_back(s);
      values.push_back(s.op == '+'   ? values[s.a] + values[s.b]
                       : s.op == '*' ? values[s.a] * values[s.b]
                                     : values[s.a] - values[s.b]);
      const Tensor &a = tensors[s.a], &b = tensors[s.b];
      tensors.push_back(s.op == '+' ? add(a, b) : s.op == '*' ? mul(a, b) : sub(a, b));
    }
  }

  // What one unit of each value adds to the sum of the roots' values times their weights.
  std::vector<double> gradients(const std::vector<size_t>& roots, const std::vector<double>& weights) const {
    std::vector<double> g(values.size());
    for (size_t i = 0; i < roots.size(); ++i) g[roots[i]] += weights[i];
    for (size_t i = values.size(); i-- > leaves;) {
      const Step& s = steps[i - leaves];
      g[s.a] += s.op == '*' ? g[i] * values[s.b] : g[i];
      g[s.b] += s.op == '*' ? g[i] * values[s.a] : s.op == '+' ? g[i] : -g[i];
    }
    return g;
  }
  // Does a path lead from one of the roots to value i?
  std::vector<bool> reached(const std::vector<size_t>& roots) const {
    std::vector<bool> r(values.size());
    for (const size_t root : roots) r[root] = true;
    for (size_t i = values.size(); i-- > leaves;) {
      if (r[i]) r[steps[i - leaves].a] = r[steps[i - leaves].b] = true;
    }
    return r;
  }
};

class RandomGraphs : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomGraphs, have_the_gradients_of_each_value) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 50; ++round) {
    const RandomGraph graph(random);
    std::vector<size_t> roots, inputs;
    std::vector<double> weights;
    std::vector<Tensor> root_tensors, root_grads, input_tensors;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      roots.push_back(random() % graph.values.size());
      weights.push_back(static_cast<double>(random() % 5));
      root_tensors.push_back(graph.tensors[roots.back()]);
      root_grads.push_back(full_like(root_tensors.back(), weights.back()));
    }
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      inputs.push_back(random() % graph.values.size());
      input_tensors.push_back(graph.tensors[inputs.back()]);
    }
    const std::vector<double> expected = graph.gradients(roots, weights);
    const std::vector<bool> reached = graph.reached(roots);
    GradOptions options;
    options.retain_graph = true;
    options.allow_unused = true;
    options.create_graph = random() % 2 == 0;
    const std::vector<Tensor> found = grad(root_tensors, input_tensors, root_grads, options);
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(found[i].defined(), reached[inputs[i]]);
      if (!found[i].defined()) continue;
      ASSERT_DOUBLE_EQ(item_of(found[i]).to_double(), expected[inputs[i]]);
    }
    // The same by backward: to all leaves and to a value with retain_grad, or only to the inputs.
    const bool all = random() % 2 == 0;
    const size_t kept = inputs[0];
    if (all) retain_grad(graph.tensors[kept]);
    backward(root_tensors, root_grads, {}, all ? std::vector<Tensor>() : input_tensors);
    const auto check = [&](size_t i) {
      const Tensor g = grad(graph.tensors[i]);
      ASSERT_EQ(g.defined(), reached[i]);
      if (!g.defined()) return;
      ASSERT_DOUBLE_EQ(item_of(g).to_double(), expected[i]);
    };
    if (all) {
      for (size_t i = 0; i < graph.leaves; ++i) check(i);
      check(kept);
    } else {
      for (const size_t i : inputs) check(i);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace sconce::autograd
