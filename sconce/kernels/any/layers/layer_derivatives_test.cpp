// The derivative formulas of losses, attention and layers, run and compared with finite differences. Those of
// backward operators are second derivatives.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sconce/dispatch/formula.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

struct Call {
  std::string op;
  std::vector<Value> args;
};

Tensor numbers(IntList sizes, double low = -1, double high = 1) {
  return add(mul(rand(sizes, DType::float64), high - low), low);
}
Tensor integers(std::initializer_list<int64_t> values, IntList sizes) {
  const Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), t.data<int64_t>());
  return reshape(t, sizes);
}

std::vector<Value> flat_results(const std::vector<Value>& results) {
  if (results.size() == 1 && results[0].is_list()) return results[0].to_list().values();
  return results;
}

// Every argument by position, those that are keywords too.
std::vector<Value> run(const Op& op, std::vector<Value> args) {
  std::vector<Value> results(op.schema().returns.size());
  op.call_boxed(args.data(), results.data());
  return results;
}

// A gradient with finite differences of the loss.
void compare(const Tensor& x, const Tensor& gradient, const std::function<double()>& loss) {
  const Tensor got = contiguous(sum_to_size(gradient, x.sizes()));
  for (int64_t i = 0; i < x.numel(); ++i) {
    double& element = x.data<double>()[i];
    const double before = element, step = 1e-6;
    element = before + step;
    const double above = loss();
    element = before - step;
    const double below = loss();
    element = before;
    EXPECT_NEAR(got.data<double>()[i], (above - below) / (2 * step), 2e-6) << "at " << i;
  }
}

std::vector<size_t> targets_of(const Formula& formula) {
  std::vector<size_t> out;
  for (size_t i = 0; i < 32; ++i) {
    if (formula.targets >> i & 1) out.push_back(i);
  }
  return out;
}

void check(const Call& call) {
  SCOPED_TRACE(call.op);
  const Op* op = find_op(call.op);
  ASSERT_NE(op, nullptr);
  ASSERT_NE(op->texts().derivatives, nullptr);
  const std::vector<Value> raw = run(*op, call.args);
  const std::vector<Value> results = flat_results(raw);
  std::vector<Tensor> weights;
  for (const Value& r : results) weights.push_back(numbers(r.to_tensor().sizes()));
  for (size_t i = 1; i < weights.size(); ++i) weights[i] = zeros_like(weights[i]);  // statistics have no gradient
  const auto loss = [&] {
    return item_of(sum(mul(flat_results(run(*op, call.args))[0].to_tensor(), weights[0]))).to_double();
  };

  for (const Formula& formula : op->info.formulas->all) {
    const std::vector<size_t> targets = targets_of(formula);
    const Value result = formula.run({&formula, call.args.data(), raw.data(), weights, formula.targets});
    for (size_t n = 0; n < targets.size(); ++n) {
      SCOPED_TRACE(op->schema().arguments[targets[n]].name);
      const Value& argument = call.args[targets[n]];
      if (argument.is_none()) continue;
      const Value& gradient = targets.size() == 1 ? result : result.to_tuple().items[n];
      compare(argument.to_tensor(), gradient.to_tensor(), loss);
    }
  }
}

TEST(LayerDerivatives, ElementwiseLosses) {
  manual_seed(11);
  for (const int64_t reduction : {0, 1, 2}) {
    const Tensor a = numbers({3, 4}), b = numbers({3, 4}), p = numbers({3, 4}, 0.1, 0.9), w = numbers({4}, 0.2, 1);
    const Tensor g = reduction == 0 ? numbers({3, 4}) : numbers({});
    check({"aten::mse_loss", {a, b, reduction}});
    check({"aten::mse_loss_backward", {g, a, b, reduction}});
    check({"aten::smooth_l1_loss", {a, b, reduction, 0.5}});
    check({"aten::smooth_l1_loss_backward", {g, a, b, reduction, 0.5}});
    check({"aten::huber_loss", {a, b, reduction, 0.6}});
    check({"aten::huber_loss_backward", {g, a, b, reduction, 0.6}});
    check({"aten::soft_margin_loss", {a, b, reduction}});
    check({"aten::soft_margin_loss_backward", {g, a, b, reduction}});
    check({"aten::binary_cross_entropy", {p, numbers({3, 4}, 0, 1), w, reduction}});
    check({"aten::binary_cross_entropy_backward", {g, p, numbers({3, 4}, 0, 1), w, reduction}});
    check({"aten::binary_cross_entropy_with_logits", {a, numbers({3, 4}, 0, 1), w, numbers({4}, 0.5, 2), reduction}});
    check({"aten::binary_cross_entropy_with_logits", {a, numbers({3, 4}, 0, 1), Value(), Value(), reduction}});
  }
  check({"sconce::relative_error", {numbers({5}), numbers({5}, 0.1, 1)}});
  check({"sconce::at_least", {numbers({5}), 0.1}});
  check({"sconce::positive_part", {numbers({5})}});
}

TEST(LayerDerivatives, Classes) {
  manual_seed(12);
  const Tensor x = numbers({4, 3}), w = numbers({3}, 0.2, 1), target = integers({0, 2, -100, 1}, {4});
  const Tensor planes = numbers({1, 3, 2, 2}), places = integers({0, 2, -100, 1}, {1, 2, 2});
  for (const int64_t reduction : {0, 1, 2}) {
    check({"aten::nll_loss_forward", {x, target, w, reduction, -100}});
    check({"aten::nll_loss2d_forward", {planes, places, w, reduction, -100}});
    const Tensor total = scalar_tensor_of(3.0, DType::float64), g = reduction == 0 ? numbers({4}) : numbers({});
    check({"aten::nll_loss_backward", {g, x, target, Value(), reduction, -100, total}});
    check({"aten::multi_margin_loss", {x, integers({0, 2, 1, 1}, {4}), 2, 0.7, w, reduction}});
    check({"aten::multilabel_margin_loss_forward",
           {x, integers({0, -1, 1, 2, 1, -1, 1, 0, 2, -1, 0, 0}, {4, 3}), reduction}});
  }
  check({"sconce::cross_entropy_rows", {x, target, -100}});
  check({"aten::_masked_softmax",
         {numbers({2, 1, 2, 3}), to(integers({0, 1, 0, 0, 0, 1}, {2, 3}), DType::bool_), Value(), 1}});
}

TEST(LayerDerivatives, Sequences) {
  manual_seed(13);
  const Tensor x = numbers({3, 2, 4}), lengths = integers({3, 2}, {2});
  check({"aten::_pack_padded_sequence", {x, lengths, false}});
  check({"aten::_pack_padded_sequence", {numbers({2, 3, 4}), lengths, true}});
}

TEST(LayerDerivatives, Embedding) {
  manual_seed(17);
  const Tensor indices = integers({0, 2, 2, 1}, {2, 2});
  check({"aten::embedding", {numbers({3, 4}), indices, -1, false, false}});
  check({"aten::embedding_dense_backward", {numbers({2, 2, 4}), indices, 3, 1, false}});
  check({"aten::_embedding_bag",
         {numbers({3, 4}), reshape(indices, {4}), integers({0, 3}, {2}), false, 0, false, numbers({4}), false, -1}});
}

TEST(LayerDerivatives, Attention) {
  manual_seed(14);
  const Tensor q = numbers({1, 2, 3, 4}), k = numbers({1, 2, 5, 4}), v = numbers({1, 2, 5, 4});
  check({"aten::_scaled_dot_product_flash_attention_for_cpu", {q, k, v, 0.0, true, Value(), Value()}});
  check({"aten::_scaled_dot_product_flash_attention_for_cpu", {q, k, v, 0.0, false, numbers({3, 5}), 0.4}});
}

TEST(LayerDerivatives, Layers) {
  manual_seed(15);
  const Tensor input = numbers({2, 3, 4});
  input.impl()->meta |= TensorImpl::requires_grad;
  check({"sconce::rnn_layer",
         {input, numbers({3, 5}), numbers({3, 5}), numbers({20, 4}), numbers({20, 5}), numbers({20}), numbers({20}),
          Value(), Value(), 2, false}});
  check({"aten::_weight_norm_interface", {numbers({4, 3}), numbers({4, 1}, 0.5, 1), 0}});
}

// Backward operators whose statistics are functions of the input: `arguments` makes them anew for each input.
void check_second(const Tensor& x, const std::string& name,
                  const std::function<std::vector<Value>(const Tensor&)>& arguments) {
  SCOPED_TRACE(name);
  const Op* op = find_op(name);
  ASSERT_NE(op, nullptr);
  const auto made = [&](const Tensor& in) {
    manual_seed(21);
    return arguments(in);
  };
  const std::vector<Value> args = made(x);
  std::vector<Tensor> weights;
  for (const Value& r : run(*op, args)) weights.push_back(numbers(r.to_tensor().sizes()));
  const auto loss = [&](const std::vector<Value>& with) {
    const std::vector<Value> results = run(*op, with);
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i)
      total += item_of(sum(mul(results[i].to_tensor(), weights[i]))).to_double();
    return total;
  };
  const size_t input = op->schema().find_argument("input").value_or(0);
  const std::vector<Value> results = run(*op, args);
  for (const Formula& formula : op->info.formulas->all) {
    const std::vector<size_t> targets = targets_of(formula);
    const Value result = formula.run({&formula, args.data(), results.data(), weights, formula.targets});
    for (size_t n = 0; n < targets.size(); ++n) {
      const size_t at = targets[n];
      SCOPED_TRACE(op->schema().arguments[at].name);
      const Tensor argument = args[at].to_tensor();
      const Value& gradient = targets.size() == 1 ? result : result.to_tuple().items[n];
      const Tensor got = contiguous(sum_to_size(gradient.to_tensor(), argument.sizes()));
      for (int64_t i = 0; i < argument.numel(); ++i) {
        const auto moved = [&](double step) {
          const Tensor other = clone(argument);
          other.data<double>()[i] += step;
          std::vector<Value> with = at == input ? made(other) : args;
          with[at] = other;
          return loss(with);
        };
        EXPECT_NEAR(got.data<double>()[i], (moved(1e-6) - moved(-1e-6)) / 2e-6, 5e-6) << "at " << i;
      }
    }
  }
}

TEST(LayerDerivatives, Normalisation) {
  manual_seed(16);
  const bool yes[] = {true, true, true};
  const Value all{ListRef<bool>(yes, 3)}, both{ListRef<bool>(yes, 2)};
  const Tensor x = numbers({2, 4, 3}), w = numbers({4}), b = numbers({4}), mean = numbers({4}),
               var = numbers({4}, 0.5, 1);
  check({"aten::native_layer_norm", {x, IntList({4, 3}), numbers({4, 3}), numbers({4, 3}), 1e-5}});
  check({"aten::native_group_norm", {x, w, b, 2, 4, 3, 2, 1e-5}});
  check({"aten::native_batch_norm", {x, w, b, Value(), Value(), true, 0.1, 1e-5}});
  check({"aten::native_batch_norm", {x, w, b, mean, var, false, 0.1, 1e-5}});
  check({"aten::_fused_rms_norm", {x, IntList({3}), numbers({3}), 1e-5}});
  check_second(x, "aten::native_layer_norm_backward", [&](const Tensor& in) {
    const auto [y, mean_of, rstd] = native_layer_norm(in, {4, 3}, {}, {}, 1e-5);
    return std::vector<Value>{numbers({2, 4, 3}), in, IntList({4, 3}), mean_of, rstd, numbers({4, 3}),
                              numbers({4, 3}),    all};
  });
  check_second(x, "aten::native_group_norm_backward", [&](const Tensor& in) {
    const auto [y, mean_of, rstd] = native_group_norm(in, {}, {}, 2, 4, 3, 2, 1e-5);
    return std::vector<Value>{numbers({2, 4, 3}), in, mean_of, rstd, w, 2, 4, 3, 2, all};
  });
  for (const bool train : {true, false}) {
    check_second(x, "aten::native_batch_norm_backward", [&](const Tensor& in) {
      const auto [y, mean_of, invstd] = native_batch_norm(in, {}, {}, {}, {}, true, 0.1, 1e-5);
      return std::vector<Value>{numbers({2, 4, 3}), in, w, mean, var, mean_of, invstd, train, 1e-5, all};
    });
  }
  check_second(x, "aten::_fused_rms_norm_backward", [&](const Tensor& in) {
    const auto [y, rstd] = _fused_rms_norm(in, {3}, {}, 1e-5);
    return std::vector<Value>{numbers({2, 4, 3}), in, IntList({3}), rstd, numbers({3}), both};
  });
  check({"aten::_softmax", {x, 1, false}});
  check({"aten::_log_softmax", {x, 1, false}});
  const Tensor out = softmax(x, 1);
  check({"aten::_softmax_backward_data", {numbers({2, 4, 3}), out, 1, DType::float64}});
}

}  // namespace
}  // namespace sconce
