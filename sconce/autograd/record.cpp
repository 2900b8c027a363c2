#include "sconce/autograd/record.h"

#include "sconce/autograd/differentiable_dtype.h"
#include "sconce/autograd/graph/op_node.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/views/copy_slices.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/custom/custom_op.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/creation.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

// Stands for an operator without a derivative.
class MissingNode final : public Node {
 public:
  explicit MissingNode(const Op& op) : op_(op) {}
  std::string name() const override { return backward_name(op_.info.name) + "0"; }
  void apply(const BackwardCall&) override {
    fail_as(ErrorKind::not_implemented, "derivative for {} is not implemented", op_.qualified_name());
  }

 private:
  const Op& op_;
};

// Stands for an in-place operation whose result does not depend on the old values: random numbers, comparisons.
class ConstantNode final : public Node {
 public:
  ConstantNode(const Op& op, const Tensor& written) : op_(op) { edges.push_back(gradient_edge(written)); }
  std::string name() const override {
    std::string_view name = op_.info.name;
    if (name.ends_with('_')) name.remove_suffix(1);
    return backward_name(name) + "0";
  }
  void apply(const BackwardCall& call) override {
    if (call.grads[0].defined() && call.wanted[0]) call.inputs[0] = zeros_like(call.grads[0]);
  }

 private:
  const Op& op_;
};

template <class F>
void for_each_tensor(const Value& v, F&& f) {
  if (v.is_tensor()) {
    f(v.to_tensor());
  } else if (v.is_list() && v.to_list().is_tensors()) {
    for (const Tensor& t : v.to_list().tensors()) {
      if (t.defined()) f(t);
    }
  }
}

bool any_requires_grad(const Value* args, size_t count, uint32_t among = ~0u) {
  bool any = false;
  for (size_t i = 0; i < count && !any; ++i) {
    if (i >= 32 || (among >> i & 1)) for_each_tensor(args[i], [&](const Tensor& t) { any |= t.requires_grad(); });
  }
  return any;
}

// The rest of the stack, in which nothing is recorded.
void run_below(const Op& op, KeySet keys, Value* args, Value* returns) {
  const ModeGuard below({}, kGradKeys);
  op.redispatch_boxed(keys & KeySet::below(Key::view), args, returns);
}

// A result that the schema calls new is not a view for autograd, even if the kernel made it as a view of memory
// of its own.
void cut_from_base(const Op& op, Value* returns) {
  const std::vector<Argument>& results = op.schema().returns;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].alias || !returns[i].is_tensor()) continue;
    if (const Tensor& t = returns[i].to_tensor(); t.is_view()) [[unlikely]]
      returns[i] = shallow_copy(t);
  }
}

// The tensor that an in-place operator writes, else undefined. Operators that also change running statistics are
// not in-place operators.
Tensor written_tensor(const Op& op, const Value* args) {
  return op.has(Trait::inplace) ? args[0].to_optional_tensor() : Tensor();
}

// An in-place form of a view operator (t_, squeeze_) writes nothing. The history of a view follows from
// its new geometry.
bool moves_view(const Op& op, const Tensor& written) {
  if (!written.is_view()) return false;
  std::string_view name = op.info.name;
  if (!name.ends_with('_')) return false;
  name.remove_suffix(1);
  const Op* functional = find_op(name, op.info.overload);
  return functional && functional->has(Trait::view);
}

void record_missing(const Op& op, KeySet keys, Value* args, Value* returns) {
  const size_t count = op.schema().arguments.size();
  std::vector<Edge> edges;
  for (size_t i = 0; i < count; ++i) {
    for_each_tensor(args[i], [&](const Tensor& t) {
      if (t.requires_grad()) edges.push_back(gradient_edge(t));
    });
  }
  const Tensor written = written_tensor(op, args);
  const bool written_before = written.defined() && written.requires_grad();
  if (written.defined()) check_inplace(written, !edges.empty());
  const Ref<Node> before = written.defined() ? grad_fn(written) : nullptr;
  if (is_custom(op))
    op.redispatch_boxed(keys & KeySet::below(Key::view), args, returns);  // the calls of its kernel may be recorded
  else
    run_below(op, keys, args, returns);
  if (edges.empty() || (written.defined() && !(grad_fn(written) == before))) return;
  const auto node = make_ref<MissingNode>(op);
  node->edges = std::move(edges);
  for (size_t i = 0; i < op.schema().returns.size(); ++i) {
    for_each_tensor(returns[i], [&](const Tensor& t) {
      if (!is_differentiable(t.dtype())) return;
      const auto slot = static_cast<uint32_t>(node->add_output(t));
      if (written.defined())
        rebase_history(t, node, slot, written_before ? 0 : kNoEdge);
      else if (!t.requires_grad() || t.is_view())
        set_history(t, node, slot);
    });
  }
}

void record_constants(const Op& op, KeySet keys, Value* args, Value* returns) {
  const Tensor written = written_tensor(op, args);
  if (!written.defined() || !written.requires_grad()) return run_below(op, keys, args, returns);
  check_inplace(written, true);
  const auto node = make_ref<ConstantNode>(op, written);
  run_below(op, keys, args, returns);
  node->add_output(written);
  rebase_history(written, node);
}

void record_formulas(const Op& op, KeySet keys, Value* args, Value* returns) {
  const uint32_t wanted = OpNode::wanted_arguments(op, args);
  const Tensor written = written_tensor(op, args);
  const bool recorded = wanted != 0 || (written.defined() && written.requires_grad());
  if (written.defined()) check_inplace(written, recorded);
  if (!recorded || (written.defined() && moves_view(op, written))) return run_below(op, keys, args, returns);
  Tensor original;
  if (written.defined() && OpNode::reads_first(op, wanted)) original = clone(written);
  const auto node = make_ref<OpNode>(op, args, wanted, original);
  // The kernel may move its arguments away; results are compared with them.
  const size_t count = op.schema().arguments.size();
  InlineVector<Value, 8> kept;
  kept.reserve(count);
  for (size_t i = 0; i < count; ++i) kept.push_back(args[i]);
  run_below(op, keys, args, returns);
  cut_from_base(op, returns);
  node->set_results(kept.data(), returns, written.defined());
}

}  // namespace

void record(const Op& op, KeySet keys, Value* args, Value* returns) {
  switch (op.info.gradient) {
    case Gradient::formulas:
      return record_formulas(op, keys, args, returns);
    case Gradient::missing:
      return record_missing(op, keys, args, returns);
    case Gradient::refused: {
      const std::string_view name = op.info.name;
      SCONCE_CHECK(!any_requires_grad(args, op.schema().arguments.size()),
                   "{}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                   "arguments requires grad.",
                   name.substr(name.find("::") + 2));
      return run_below(op, keys, args, returns);
    }
    case Gradient::none:
      return record_constants(op, keys, args, returns);
    case Gradient::through:
      return run_below(op, keys, args, returns);
  }
}

}  // namespace sconce::autograd
