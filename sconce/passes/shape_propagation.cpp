// Shape propagation: infers sizes, dtypes and devices of tensors, from the inputs onwards.
//   %y : Tensor = aten::matmul(%x, %w)    # %x : Float(SS(-2), 3), %w : Float(3, 4)
//   =>
//   %y : Float(SS(-2), 4) = aten::matmul(%x, %w)
// The operators themselves are the rules: they are called with Meta tensors (see Note [Sizes by example]). Branches
// give the facts that both have, loops those that stay true. A graph that changes the size of a tensor in place is left
// as it is.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/analysis/shape_rules.h"
#include "sconce/passes/passes.h"
#include "sconce/passes/refine_types.h"

namespace sconce::passes {
namespace {

constexpr int kMaxRounds = 4;  // of a loop; facts that are not settled then are unknown

class Propagation {
 public:
  bool run(ir::Graph& graph) {
    visit(*graph.block());
    if (resized_) {
      for (const auto& [v, type] : original_) v->set_type(type);
      return false;
    }
    for (const auto& [v, type] : original_) {
      if (v->type() != type) return true;
    }
    return false;
  }

 private:
  // Types may grow narrower than at first, and wider again in the rounds of a loop; never wider than they were.
  void set_type(ir::Value* v, TypePtr type) {
    const TypePtr first = original_.try_emplace(v, v->type()).first->second;
    if (!first->is(TypeKind::tensor)) {
      if (is_subtype(type, first)) v->set_type(type);
      return;
    }
    v->set_type(type->is(TypeKind::tensor) && is_subtype(type, first) ? type : first);
  }

  void visit(const ir::Block& block) {
    for (ir::Node* node : block.nodes()) {
      if (resized_) return;
      if (node->is(ir::kind::If)) {
        visit_if(*node);
      } else if (node->is(ir::kind::Loop)) {
        visit_loop(*node);
      } else {
        for (const ir::Block* inner : node->blocks()) visit(*inner);
        visit(*node);
      }
    }
  }

  void visit_if(ir::Node& node) {
    visit(*node.block_at(0));
    visit(*node.block_at(1));
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const TypePtr a = node.block_at(0)->outputs()[i]->type(), b = node.block_at(1)->outputs()[i]->type();
      if (const TypePtr type = common_type(a, b)) set_type(node.output(i), type);
    }
  }

  void visit_loop(ir::Node& loop) {
    const ir::Block& body = *loop.block_at(0);
    std::vector<TypePtr> types;
    for (size_t i = 0; i < loop.outputs().size(); ++i) types.push_back(loop.input(i + 2)->type());
    for (int round = 0; round <= kMaxRounds; ++round) {
      for (size_t i = 0; i < types.size(); ++i) set_type(body.inputs()[i + 1], types[i]);
      visit(body);
      bool settled = true;
      for (size_t i = 0; i < types.size(); ++i) {
        const TypePtr next = body.outputs()[i + 1]->type();
        if (is_subtype(next, types[i])) continue;
        settled = false;
        const TypePtr common = common_type(types[i], next);
        types[i] = round + 1 < kMaxRounds && common ? common : original_.at(body.inputs()[i + 1]);
      }
      if (settled) break;
    }
    for (size_t i = 0; i < types.size(); ++i) set_type(loop.output(i), body.inputs()[i + 1]->type());
  }

  void visit(ir::Node& node) {
    note_ints(node);
    if (node.is(ir::kind::Constant)) {
      const std::optional<sconce::Value> v = ir::constant_value(node.output());
      if (v && v->is_tensor()) set_type(node.output(), refined_tensor_type(sconce::facts_of(v->to_tensor())));
      return;
    }
    if (!node.op()) {
      // A callee may do anything to its arguments.
      const bool calls = node.is(ir::kind::CallFunction) || node.is(ir::kind::CallMethod) || node.is(ir::kind::fork);
      if (calls) note_writes(node);
      for (ir::Value* v : node.outputs()) original_.try_emplace(v, v->type());
      refine_node(node);
      return;
    }
    const bool writes = node.op()->schema().is_mutable();
    const bool makes_tensors = std::any_of(node.outputs().begin(), node.outputs().end(),
                                           [](const ir::Value* v) { return v->type()->is(TypeKind::tensor); });
    if (!makes_tensors && !writes) return;
    const std::optional<MetaResult> result = makes_tensors ? call_on_meta(node, ints_) : std::nullopt;
    if (result ? result->changed_input : writes && !node.op()->has(Trait::pointwise)) note_writes(node);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      ir::Value* out = node.output(i);
      if (!out->type()->is(TypeKind::tensor)) continue;
      const bool known = result && i < result->outputs.size() && result->outputs[i];
      set_type(out, known ? refined_tensor_type(with_first_facts(out, *result->outputs[i])) : tensor_type());
    }
  }

  // Other facts of the value's first type (requires_grad) stay.
  TensorFacts with_first_facts(ir::Value* v, TensorFacts facts) {
    const TensorFacts* first = original_.try_emplace(v, v->type()).first->second->tensor_facts();
    if (!first) return facts;
    if (!facts.dtype) facts.dtype = first->dtype;
    if (!facts.device) facts.device = first->device;
    if (!facts.sizes) facts.sizes = first->sizes;
    if (!facts.strides) facts.strides = first->strides;
    facts.requires_grad = first->requires_grad;
    return facts;
  }

  // A write that may change sizes spoils the facts of the tensor and of everything that shares its memory.
  void note_writes(const ir::Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const ir::Value* v = node.input(i);
      const TensorFacts* facts = v->type()->is(TypeKind::tensor) ? v->type()->tensor_facts() : nullptr;
      if (!facts || (!facts->sizes && !facts->strides)) continue;
      if (!node.op() || node.op()->schema().arguments[i].is_written()) resized_ = true;
    }
  }

  // x.size(0) and x.size()[0] are sizes.
  void note_ints(const ir::Node& node) {
    static const ir::Symbol size("aten::size"), item("aten::__getitem__");
    if (node.inputs().size() != 2 || node.outputs().size() != 1) return;
    const ir::Value* tensor = nullptr;
    if (node.is(size)) tensor = node.input(0);
    if (node.is(item) && node.input(0)->node()->is(size) && node.input(0)->node()->inputs().size() == 1) {
      tensor = node.input(0)->node()->input(0);
    }
    const std::optional<int64_t> at = constant_int(node.input(1));
    if (!tensor || !at || !tensor->type()->is(TypeKind::tensor)) return;
    ints_.erase(node.output());
    const TensorFacts* facts = tensor->type()->tensor_facts();
    if (!facts || !facts->sizes) return;
    const auto rank = static_cast<int64_t>(facts->sizes->size());
    if (*at < -rank || *at >= rank) return;
    const int64_t n = (*facts->sizes)[static_cast<size_t>(*at < 0 ? *at + rank : *at)];
    if (n != TensorFacts::kUnknown) ints_[node.output()] = {n, n < 0};
  }

  std::unordered_map<ir::Value*, TypePtr> original_;
  KnownInts ints_;
  bool resized_ = false;
};

}  // namespace

bool shape_propagation(ir::Graph& graph) { return Propagation().run(graph); }

}  // namespace sconce::passes
