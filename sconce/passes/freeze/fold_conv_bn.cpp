// Batch norm folding: in a frozen graph, a batch norm of running statistics becomes part of the
// convolution before it.
//   %c : Tensor = aten::conv2d(%x, %w, %b, ...)
//   %y : Tensor = aten::batch_norm(%c, %gamma, %beta, %mean, %var, %false, ...)
//   =>
//   %y : Tensor = aten::conv2d(%x, %w', %b', ...)
//   with  s = gamma / sqrt(var + eps),  w' = w * s for each output channel,  b' = (b - mean) * s + beta
// All of them are constants, and the elements of the convolution's result have no other use (its sizes stay as they
// are). New weights are computed in double.
#include "sconce/dispatch/registry.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// A constant tensor; an undefined one for None. Nothing when it is not a constant.
std::optional<Tensor> constant_tensor(const ir::Value* v) {
  if (!v) return std::nullopt;
  const std::optional<sconce::Value> c = ir::constant_value(v);
  if (!c || !(c->is_tensor() || c->is_none())) return std::nullopt;
  return c->to_optional_tensor();
}

Tensor call(std::string_view op, const std::vector<sconce::Value>& args) { return call_op(op, args).at(0).to_tensor(); }

Tensor as_double(const Tensor& t) { return call("aten::to.dtype", {call("aten::detach", {t}), DType::float64}); }

// A convolution with weights [out channels, ...]: the transposed ones have another order.
bool is_convolution(const ir::Node& node) {
  static const ir::Symbol kinds[] = {ir::Symbol("aten::conv1d"), ir::Symbol("aten::conv2d"), ir::Symbol("aten::conv3d"),
                                     ir::Symbol("aten::convolution"), ir::Symbol("aten::_convolution")};
  if (std::none_of(std::begin(kinds), std::end(kinds), [&](ir::Symbol kind) { return node.is(kind); })) return false;
  const ir::Value* transposed = named_input(node, "transposed");
  return node.op() && (!transposed || constant_bool(transposed) == false);
}

struct Folded {
  Tensor weight, bias;
};

// Nothing when some part is not a constant.
std::optional<Folded> fold(const ir::Node& conv, const ir::Node& norm) {
  const std::optional<Tensor> weight = constant_tensor(named_input(conv, "weight"));
  const std::optional<Tensor> bias = constant_tensor(named_input(conv, "bias"));
  const std::optional<Tensor> gamma = constant_tensor(named_input(norm, "weight"));
  const std::optional<Tensor> beta = constant_tensor(named_input(norm, "bias"));
  const std::optional<Tensor> mean = constant_tensor(named_input(norm, "running_mean"));
  const std::optional<Tensor> variance = constant_tensor(named_input(norm, "running_var"));
  const std::optional<sconce::Value> eps = ir::constant_value(named_input(norm, "eps"));
  if (!weight || !weight->defined() || !bias || !gamma || !beta || !eps || !eps->is_double()) return std::nullopt;
  if (!mean || !mean->defined() || !variance || !variance->defined()) return std::nullopt;
  if (!is_floating(weight->dtype()) || weight->dim() < 2 || mean->numel() != weight->sizes()[0]) return std::nullopt;

  const Tensor spread = call("aten::sqrt", {call("aten::add.Scalar", {as_double(*variance), *eps})});
  Tensor scale = call("aten::reciprocal", {spread});
  if (gamma->defined()) scale = call("aten::mul.Tensor", {scale, as_double(*gamma)});
  std::vector<int64_t> per_channel(static_cast<size_t>(weight->dim()), 1);
  per_channel[0] = -1;
  const Tensor wide =
      call("aten::mul.Tensor", {as_double(*weight), call("aten::reshape", {scale, IntList(per_channel)})});
  Tensor offset = call("aten::neg", {as_double(*mean)});
  if (bias->defined()) offset = call("aten::add.Tensor", {offset, as_double(*bias)});
  offset = call("aten::mul.Tensor", {offset, scale});
  if (beta->defined()) offset = call("aten::add.Tensor", {offset, as_double(*beta)});
  return Folded{call("aten::to.dtype", {wide, weight->dtype()}), call("aten::to.dtype", {offset, weight->dtype()})};
}

bool fold_into(ir::Node& norm) {
  static const ir::Symbol batch_norm("aten::batch_norm");
  if (!norm.is(batch_norm) || !norm.op() || constant_bool(named_input(norm, "training")) != false) return false;
  ir::Node& conv = *norm.input()->node();
  if (!is_convolution(conv)) return false;
  for (const ir::Use& use : conv.output()->uses()) {
    if (use.user != &norm && !is_geometry_query(*use.user)) return false;
  }
  const std::optional<Folded> folded = fold(conv, norm);
  if (!folded) return false;
  const auto replace = [&](const char* argument, const Tensor& t) {
    ir::Node* constant = conv.graph()->create_constant(t)->set_range(conv.range());
    constant->insert_before(&conv);
    conv.set_input(*conv.op()->schema().find_argument(argument), constant->output());
  };
  replace("weight", folded->weight);
  replace("bias", folded->bias);
  replace_node(norm, conv.output());
  return true;
}

}  // namespace

bool fold_conv_bn(ir::Graph& graph) {
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= fold_into(node); });
  return changed;
}

}  // namespace sconce::passes
