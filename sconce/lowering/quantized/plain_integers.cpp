#include "sconce/lowering/quantized/plain_integers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/quantized/module_constants.h"
#include "sconce/lowering/quantized/quantized_texts.h"
#include "sconce/lowering/splice.h"
#include "sconce/lowering/to_core.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::lowering {
namespace {

constexpr int kRounds = 6;  // branches that are decided make more known

// What a quantised value is made of. With an axis, scale and zero point are tensors: one for each of its indices.
struct Parts {
  ir::Value* integers;
  ir::Value* scale;
  ir::Value* zero_point;
  ir::Value* axis = nullptr;
};

bool is_op(const ir::Node& node, std::string_view name) { return node.op() && node.op()->qualified_name() == name; }

bool is_alone(const Op& op) {
  const QuantizedText* text = quantized_text(op);
  return text && text->alone;
}

class Legalisation {
 public:
  using Nodes = std::unordered_set<const ir::Node*>;
  // `copies`: nodes of the program that give integers as a tensor of their own.
  Legalisation(ir::Graph& graph, const sconce::Value* self, const Nodes& copies)
      : graph_(graph), held_(graph, self), copies_(copies) {}

  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(ir::Block& b) {
    ir::Node* node = b.first();
    while (node != b.return_node()) {
      ir::Node* before = node->prev();
      if (visit(*node)) {  // replaced by others, which are next
        changed_ = true;
        node = before == b.param_node() ? b.first() : before->next();
      } else {
        node = node->next();
      }
    }
  }

  // Whether the node is gone.
  bool visit(ir::Node& node) {
    for (ir::Block* inner : node.blocks()) block(*inner);
    if (node.is(ir::kind::If)) merge_branches(node);
    if (node.is(ir::kind::Constant)) note_constant(node);
    if (!node.op() || ir::is_call(node) || node.op()->schema().is_mutable()) return false;
    if (note_made(node)) return false;
    if (unpack(node) || answer(node)) return true;
    const bool on_quantized = takes_quantized(node);
    const QuantizedText* text = quantized_text(*node.op());
    if (text && text->alone) {
      const ir::Graph* graph = passes::op_graphs()->on_quantized(*node.op());
      return graph && replace(node, *graph);
    }
    return on_quantized && lower(node);
  }

  // ---- what is known ----

  const Parts* find(const ir::Value* v) const {
    const auto at = known_.find(v);
    return at == known_.end() ? nullptr : &at->second;
  }

  bool takes_quantized(const ir::Node& node) const {
    return std::ranges::any_of(node.inputs(), [&](const ir::Value* v) { return is_quantized_list(v) || find(v); });
  }
  // A list that holds one, of which the text takes the items.
  bool is_quantized_list(const ir::Value* v) const {
    return v->node()->is(ir::kind::ListConstruct) &&
           std::ranges::any_of(v->node()->inputs(), [&](const ir::Value* item) { return find(item) != nullptr; });
  }

  bool note_made(ir::Node& node) {
    static const Op* const by_tensor = find_op("aten::_make_per_tensor_quantized_tensor", "");
    static const Op* const by_channel = find_op("aten::_make_per_channel_quantized_tensor", "");
    if (node.op() == by_tensor) known_[node.output()] = {node.input(0), node.input(1), node.input(2)};
    if (node.op() == by_channel) known_[node.output()] = {node.input(0), node.input(1), node.input(2), node.input(3)};
    return node.op() == by_tensor || node.op() == by_channel;
  }

  void note_constant(ir::Node& node) {
    const std::optional<sconce::Value> v = ir::constant_value(node.output());
    if (v && v->is_tensor() && is_quantized(v->to_tensor().dtype()) && !find(node.output()))
      known_[node.output()] = constant_parts(v->to_tensor(), *node.next());
  }

  ir::Value* constant(const sconce::Value& v, ir::Node& before) {
    ir::Node* node = graph_.create_constant(v);
    return node->set_range(before.range())->insert_before(&before)->output();
  }

  Parts constant_parts(const Tensor& q, ir::Node& before) {
    const Quantizer& of = quantizer_of(q);
    ir::Value* integers = constant(call_op("aten::int_repr", {q}).at(0), before);
    if (!of.per_channel()) return {integers, constant(of.scale, before), constant(of.zero_point, before)};
    return {integers, constant(of.scales, before), constant(of.zero_points, before), constant(of.axis, before)};
  }

  // The dtype of integers, where nodes say it.
  std::optional<DType> integers_of(const ir::Value* v) const {
    if (const std::optional<sconce::Value> c = ir::constant_value(v); c && c->is_tensor())
      return c->to_tensor().dtype();
    if (const TensorFacts* facts = v->type()->tensor_facts(); facts && facts->dtype) return facts->dtype;
    const ir::Node& node = *v->node();
    if (node.is(ir::kind::If)) return integers_of(node.block_at(0)->outputs()[v->offset()]);
    if (node.is(ir::kind::ListConstruct)) {
      if (!node.inputs().empty()) return integers_of(node.input());
      for (const ir::Use& use : v->uses()) {
        if (is_op(*use.user, "aten::append.t")) return integers_of(use.user->input(1));
      }
      return std::nullopt;
    }
    if (!node.op() || node.inputs().empty()) return std::nullopt;
    if (const ir::Value* dtype = passes::named_input(node, "dtype")) {
      if (const std::optional<int64_t> number = passes::constant_int(dtype)) return dtype_from_number(*number);
    }
    // Operators that have an answer for quantised tensors move integers about when they are given those.
    const bool keeps = node.op()->has(Trait::view) || quantized_text(*node.op()) || is_op(node, "aten::where.self");
    return keeps ? integers_of(node.input(is_op(node, "aten::where.self") ? 1 : 0)) : std::nullopt;
  }
  std::optional<DType> dtype_of(const Parts& parts) const {
    const std::optional<DType> integers = integers_of(parts.integers);
    const bool fits = integers == DType::uint8 || integers == DType::int8 || integers == DType::int32;
    return fits ? std::optional(quantized_dtype(*integers)) : std::nullopt;
  }

  // ---- texts ----

  bool replace(ir::Node& node, const ir::Graph& text) {
    replace_by(node, *specialised(text, node));
    return true;
  }

  // The text for what is known of the arguments, so that it decides what depends on dtypes and numbers.
  std::shared_ptr<ir::Graph> specialised(const ir::Graph& text, const ir::Node& node) {
    std::shared_ptr<ir::Graph> copy = text.copy();
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      ir::Value* input = copy->inputs()[i];
      const std::optional<sconce::Value> c = ir::constant_value(node.input(i));
      if (c && !c->is_tensor() && !c->is_list()) {
        const ir::InsertPoint at(*copy, copy->block()->first());
        input->replace_all_uses_with(copy->insert_constant(*c, {}, c->is_none() ? none_type() : nullptr));
      }
      const Parts* parts = find(node.input(i));
      if (!parts) continue;
      const std::optional<DType> dtype = dtype_of(*parts);
      passes::each_node(*copy->block(), [&](ir::Node& n) {
        if (n.inputs().empty() || n.input() != input) return;
        if (dtype && is_op(n, "prim::dtype"))
          passes::replace_with_constant(n, static_cast<int64_t>(*dtype));
        else if (!parts->axis && is_op(n, "aten::q_scale"))
          put_constant(n, parts->scale);
        else if (!parts->axis && is_op(n, "aten::q_zero_point"))
          put_constant(n, parts->zero_point);
      });
    }
    passes::run_pipeline(*copy);
    return copy;
  }
  static void put_constant(ir::Node& node, const ir::Value* known) {
    if (const std::optional<sconce::Value> c = ir::constant_value(known)) passes::replace_with_constant(node, *c);
  }

  // ---- operators on quantised values ----

  bool lower(ir::Node& node) {
    const Op& op = *node.op();
    if (const ir::Graph* graph = passes::op_graphs()->on_quantized(op)) return replace(node, *graph);
    const QuantizedText* text = quantized_text(op);
    const bool same = text && text->is_same();
    const Parts* parts = node.inputs().empty() ? nullptr : find(node.input());
    // Compound operators leave it to what they call.
    if (op.has(Trait::compound) && !same && !makes_no_tensor(op)) {
      if (const ir::Graph* body = passes::op_graphs()->body(op)) return replace(node, *body);
    }
    if (!parts) return false;
    if ((same || op.has(Trait::view)) && !parts->axis) return on_integers(node, *parts);
    if (op.has(Trait::view)) return channel_view(node, *parts);
    return makes_no_tensor(op) && ask_integers(node, *parts);
  }

  // The same operator on the integers; its first result is quantised as the argument is. Not for several views at once.
  bool on_integers(ir::Node& node, Parts parts) {
    if (node.output()->type()->is(TypeKind::list)) return false;
    std::vector<ir::Value*> inputs = node.inputs();
    inputs[0] = parts.integers;
    ir::Node* made = graph_.create(*node.op(), inputs);
    made->set_range(node.range())->set_inlined(node.inlined());
    made->insert_before(&node);
    parts.integers = made->output();
    passes::replace_value(node.output(), make(parts, node));
    for (size_t i = 1; i < node.outputs().size(); ++i) passes::replace_value(node.output(i), made->output(i));
    node.destroy();
    return true;
  }

  // The quantised tensor itself, for whoever still wants it.
  ir::Value* make(const Parts& parts, ir::Node& before) {
    static const Op& by_tensor = *find_op("aten::_make_per_tensor_quantized_tensor", "");
    static const Op& by_channel = *find_op("aten::_make_per_channel_quantized_tensor", "");
    std::vector<ir::Value*> inputs = {parts.integers, parts.scale, parts.zero_point};
    if (parts.axis) inputs.push_back(parts.axis);
    ir::Node* made = graph_.create(parts.axis ? by_channel : by_tensor, inputs);
    made->set_range(before.range())->set_inlined(before.inlined());
    ir::Value* out = made->insert_before(&before)->output();
    known_[out] = parts;
    return out;
  }

  // Views of a tensor with one scale for each channel: those that leave channels whole, and slices of them.
  bool channel_view(ir::Node& node, Parts parts) {
    const std::optional<int64_t> axis = passes::constant_int(parts.axis);
    const ir::Value* along = passes::named_input(node, "dim");
    const std::optional<int64_t> dim = along ? passes::constant_int(along) : std::nullopt;
    if (!axis || !dim || *dim < 0) return false;
    const bool select = is_op(node, "aten::select.int"), slice = is_op(node, "aten::slice.Tensor"),
               unsqueeze = is_op(node, "aten::unsqueeze");
    if (!slice && !unsqueeze && !(select && dim != axis)) return false;
    if (slice && dim == axis) {
      std::vector<ir::Value*> inputs = node.inputs();
      inputs[1] = constant(int64_t{0}, node);
      for (ir::Value* Parts::* part : {&Parts::scale, &Parts::zero_point}) {
        inputs[0] = parts.*part;
        parts.*part = insert(*node.op(), inputs, node);
      }
    }
    if (select && *dim < *axis) parts.axis = constant(*axis - 1, node);
    if (unsqueeze && *dim <= *axis) parts.axis = constant(*axis + 1, node);
    return on_integers(node, parts);
  }

  // Sizes, strides, devices are those of the integers.
  bool ask_integers(ir::Node& node, const Parts& parts) {
    if (!passes::is_geometry_query(node) && !is_op(node, "aten::is_floating_point") && !is_op(node, "aten::is_complex"))
      return false;
    if (is_op(node, "prim::dtype")) return false;
    node.set_input(0, parts.integers);
    changed_ = true;
    return false;
  }

  // ---- questions ----

  bool answer(ir::Node& node) {
    const Parts* parts = node.inputs().empty() ? nullptr : find(node.input());
    if (!parts) return false;
    const bool channels = parts->axis != nullptr;
    if (is_op(node, "aten::int_repr"))
      return give(node, copies_.contains(&node) ? copy(*parts, node) : parts->integers);
    if (is_op(node, "aten::q_scale")) return !channels && give(node, parts->scale);
    if (is_op(node, "aten::q_zero_point")) return !channels && give(node, parts->zero_point);
    if (is_op(node, "aten::q_per_channel_scales")) return channels && give(node, channel_param(*parts, 0, node));
    if (is_op(node, "aten::q_per_channel_zero_points")) return channels && give(node, channel_param(*parts, 1, node));
    if (is_op(node, "aten::q_per_channel_axis")) return channels && give(node, parts->axis);
    if (is_op(node, "sconce::row_scales")) return give(node, by_row(parts->scale, *parts, node));
    if (is_op(node, "sconce::row_zero_points")) return give(node, by_row(parts->zero_point, *parts, node));
    if (is_op(node, "prim::dtype")) {
      const std::optional<DType> dtype = dtype_of(*parts);
      if (dtype) passes::replace_with_constant(node, static_cast<int64_t>(*dtype));
      return dtype.has_value();
    }
    if (is_op(node, "prim::is_quantized")) {
      passes::replace_with_constant(node, true);
      return true;
    }
    if (is_op(node, "aten::dequantize.self")) return give(node, dequantized(*parts, node));
    return false;
  }

  static bool give(ir::Node& node, ir::Value* v) {
    passes::replace_node(node, v);
    return true;
  }

  ir::Value* insert(const Op& op, ListRef<ir::Value*> inputs, ir::Node& before) {
    ir::Node* node = graph_.create(op, inputs);
    node->set_range(before.range())->set_inlined(before.inlined());
    return node->insert_before(&before)->output();
  }

  ir::Value* dequantized(const Parts& parts, ir::Node& before) {
    static const Op& by_tensor = *find_op("sconce::from_integers", "");
    static const Op& by_channel = *find_op("sconce::from_integers", "channels");
    if (parts.axis) return insert(by_channel, {parts.integers, parts.scale, parts.zero_point, parts.axis}, before);
    return insert(by_tensor, {parts.integers, parts.scale, parts.zero_point}, before);
  }

  ir::Value* copy(const Parts& parts, ir::Node& before) {
    static const Op& clone = *find_op("aten::clone", "");
    return insert(clone, {parts.integers, constant(sconce::Value(), before)}, before);
  }

  ir::Value* channel_param(const Parts& parts, size_t which, ir::Node& before) {
    static const Op& params = *find_op("sconce::channel_params", "");
    return insert(params, {parts.scale, parts.zero_point}, before)->node()->output(which);
  }

  ir::Value* to_double(ir::Value* v, ir::Node& before) {
    static const Op& to = *find_op("aten::_to_copy", "");
    ir::Value *no = constant(false, before), *none = constant(sconce::Value(), before);
    return insert(to, {v, constant(static_cast<int64_t>(DType::float64), before), none, none, none, no, none}, before);
  }

  // As row_scales and row_zero_points give them: one number for each row, float64.
  ir::Value* by_row(ir::Value* v, const Parts& parts, ir::Node& node) {
    if (parts.axis) return to_double(v, node);
    static const Op& size = *find_op("aten::size", "int");
    static const Op& full = *find_op("aten::full", "");
    ir::Value* rows = insert(size, {parts.integers, node.input(1)}, node);
    ir::Node* list = graph_.create(ir::kind::ListConstruct, {rows})->set_range(node.range())->insert_before(&node);
    ir::Value* none = constant(sconce::Value(), node);
    ir::Value* dtype = constant(static_cast<int64_t>(DType::float64), node);
    return insert(full, {list->add_output(list_type(int_type())), v, dtype, none, none, none}, node);
  }

  // ---- packed weights ----

  // What an operator tells of packed weights that are known: by asking it now, or from the call that packs them.
  bool unpack(ir::Node& node) {
    if (node.inputs().size() != 1 || is_alone(*node.op()) || !names_packed(node.input()->type())) return false;
    if (const std::optional<sconce::Value> packed = held_.find(node.input(), node)) return ask_packed(node, *packed);
    return ask_call(node);
  }

  bool ask_packed(ir::Node& node, const sconce::Value& packed) {
    const std::optional<std::vector<sconce::Value>> results = passes::evaluate(node, {packed});
    if (!results || !std::ranges::all_of(*results, passes::can_be_constant)) return false;
    for (size_t i = 0; i < results->size(); ++i) {
      const sconce::Value& v = (*results)[i];
      ir::Value* out = node.output(i);
      const bool none = v.is_none() || (v.is_tensor() && !v.to_tensor().defined());
      if (none) {
        out->replace_all_uses_with(constant_of(none_type(), sconce::Value(), node));
      } else if (v.is_tensor() && is_quantized(v.to_tensor().dtype())) {
        passes::replace_value(out, make(constant_parts(v.to_tensor(), node), node));
      } else if (v.is_list() && v.to_list().is_tensors()) {
        std::vector<ir::Value*> items;
        for (const Tensor& t : v.to_list().tensors()) items.push_back(constant(t, node));
        ir::Node* list = graph_.create(ir::kind::ListConstruct, items)->set_range(node.range())->insert_before(&node);
        passes::replace_value(out, list->add_output(list_type(tensor_type())));
      } else {
        passes::replace_value(out, constant(v, node));
      }
    }
    node.destroy();
    return true;
  }
  ir::Value* constant_of(TypePtr type, const sconce::Value& v, ir::Node& before) {
    return graph_.create_constant(v, type)->set_range(before.range())->insert_before(&before)->output();
  }

  // linear_unpack(linear_prepack(w, b)), conv2d_stride(conv2d_prepack(w, b, stride, ...)): the arguments of that call.
  bool ask_call(ir::Node& node) {
    const ir::Node& call = *node.input()->node();
    const std::string name(node.op()->info.name);
    if (!call.op() || !std::string_view(call.op()->info.name).ends_with("_prepack")) return false;
    const std::string_view what = std::string_view(name).substr(name.rfind('_') + 1);
    if (what == "unpack") {
      passes::replace_value(node.output(0), call.input(0));
      if (node.outputs().size() > 1) passes::replace_value(node.output(1), call.input(1));
      node.destroy();
      return true;
    }
    const bool output_padding = name.ends_with("_output_padding");
    ir::Value* given = passes::named_input(call, output_padding ? "output_padding" : what);
    if (given) return give(node, given);
    const ir::Value* stride = passes::named_input(call, "stride");
    if (!output_padding || !stride) return false;
    const std::string_view packs = call.op()->info.name;
    const std::vector<int64_t> zeros(packs.find("3d") != packs.npos ? 3 : 2, 0);
    return give(node, constant(sconce::Value(IntList(zeros)), node));
  }

  // ---- branches ----

  // An If that gives a quantised tensor on both ways gives its parts.
  void merge_branches(ir::Node& node) {
    for (size_t i = node.outputs().size(); i-- > 0;) {
      if (!node.output(i)->has_uses()) continue;
      ir::Value *a = node.block_at(0)->outputs()[i], *b = node.block_at(1)->outputs()[i];
      const Parts *x = find(a), *y = find(b);
      const bool no_a = a->node()->is(ir::kind::Uninitialized), no_b = b->node()->is(ir::kind::Uninitialized);
      if (!(x && y && !x->axis == !y->axis) && !(x && no_b) && !(y && no_a)) continue;
      const Parts first = x ? *x : *y, second = y ? *y : *x;
      const auto joined = [&](ir::Value* Parts::* part) -> ir::Value* {
        ir::Value *one = first.*part, *other = second.*part;
        if (!one) return nullptr;
        node.block_at(0)->add_output(x ? one : unset(one->type(), *node.block_at(0)));
        node.block_at(1)->add_output(y ? other : unset(other->type(), *node.block_at(1)));
        return node.add_output(one->type()->is(TypeKind::tensor) ? tensor_type() : one->type());
      };
      Parts parts{joined(&Parts::integers), joined(&Parts::scale), joined(&Parts::zero_point), joined(&Parts::axis)};
      node.output(i)->replace_all_uses_with(make(parts, *node.next()));
      changed_ = true;
    }
  }
  ir::Value* unset(TypePtr type, ir::Block& block) {
    ir::Node* node = graph_.create(ir::kind::Uninitialized);
    block.append(node);
    return node->add_output(type);
  }

  ir::Graph& graph_;
  const ModuleConstants held_;
  const Nodes& copies_;
  std::unordered_map<const ir::Value*, Parts> known_;
  bool changed_ = false;
};

// Lists that become known let loops become known, and those branches.
void clean_up(ir::Graph& graph) {
  for (int round = 0; round < kRounds; ++round) {
    const size_t before = passes::count_nodes(*graph.block());
    passes::run_pipeline(graph);
    if (passes::count_nodes(*graph.block()) == before) return;
  }
}

bool has_quantized(const ir::Graph& graph) {
  bool found = false;
  passes::each_node(*graph.block(), [&](ir::Node& node) {
    found = found || (node.op() && (is_alone(*node.op()) || is_op(node, "aten::_make_per_tensor_quantized_tensor") ||
                                    is_op(node, "aten::_make_per_channel_quantized_tensor")));
    if (node.is(ir::kind::Constant)) {
      const std::optional<sconce::Value> v = ir::constant_value(node.output());
      found = found || (v && v->is_tensor() && is_quantized(v->to_tensor().dtype()));
    }
  });
  return found;
}

}  // namespace

bool plain_integers(ir::Graph& graph, const sconce::Value* self) {
  if (!has_quantized(graph)) return false;
  bool changed = self && fold_numbers(graph, *self);
  if (changed) passes::run_pipeline(graph);
  Legalisation::Nodes copies;
  passes::each_node(*graph.block(), [&](const ir::Node& node) {
    if (is_op(node, "aten::int_repr")) copies.insert(&node);
  });
  for (int round = 0; round < kRounds && Legalisation(graph, self, copies).run(); ++round) {
    changed = true;
    clean_up(graph);
  }
  return changed;
}

}  // namespace sconce::lowering
