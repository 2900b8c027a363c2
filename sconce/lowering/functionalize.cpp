#include "sconce/lowering/functionalize.h"

#include <algorithm>
#include <unordered_map>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/aliasing_bodies.h"
#include "sconce/lowering/functional_form.h"
#include "sconce/lowering/memory.h"
#include "sconce/lowering/overlap.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::lowering {
namespace {

class Functionalizer {
 public:
  Functionalizer(ir::Graph& graph, const FunctionalizeOptions& options)
      : graph_(graph),
        facts_(graph),
        origins_(graph, facts_),
        memory_(graph, facts_, origins_, options.apart),
        apart_(options.apart) {}

  void run() {
    find_repeated();
    choose(*graph_.block());
    visit(*graph_.block());
    finish(*graph_.block()->return_node());
    for (ir::Node* node : gone_) node->destroy();
  }

 private:
  using Changes = Memory::Changes;

  void visit(const ir::Block& block) {
    for (ir::Node* node : block.nodes()) visit(*node);
  }

  void visit(ir::Node& node) {
    if (node.is(ir::kind::Constant)) return;
    if (node.is(ir::kind::If)) return visit_if(node);
    if (node.is(ir::kind::Loop)) return visit_loop(node);
    if (is_view_step(node)) return memory_.show_real(node);
    if (memory_.is_known_list(node)) return;  // made again where it is read
    const auto form = forms_.find(&node);
    form == forms_.end() ? memory_.read(node) : write(node, form->second);
  }

  // A view moves no elements: it is made of the real tensor, whatever that has in its memory.
  bool is_view_step(const ir::Node& node) const {
    if (node.outputs().empty()) return false;
    const Origin& origin = origins_.of(node.output());
    if (origin.steps.empty()) return false;
    return origin.steps.back().node == &node || origin.steps.back().unpack == &node;
  }

  // ---- writes ----

  void find_repeated() {
    static const ir::Symbol kinds[] = {ir::Symbol("aten::expand"),       ir::Symbol("aten::expand_as"),
                                       ir::Symbol("aten::as_strided"),   ir::Symbol("aten::unfold"),
                                       ir::Symbol("aten::broadcast_to"), ir::Symbol("aten::broadcast_tensors")};
    passes::each_node(*graph_.block(), [&](const ir::Node& node) {
      if (std::ranges::find(kinds, node.kind()) != std::end(kinds)) repeated_.push_back(node.output());
    });
  }

  // Finds the writes that become new values.
  void choose(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) choose(*inner);
      if (node->is(ir::kind::Enter)) ++modes_;
      if (node->is(ir::kind::Exit)) --modes_;
      if (!node->op() || ir::is_call(*node) || modes_ > 0) continue;
      std::optional<FunctionalForm> form = functional_form(*node);
      if (form && may_resize(*node, *form)) form->keeps_sizes = apart_ && is_given(*node, *form);
      if (form && can_be_new(*node, *form)) forms_.emplace(node, std::move(*form));
    }
  }

  // Whether somebody could see that out= gave the tensor other sizes.
  bool may_resize(const ir::Node& node, const FunctionalForm& form) const {
    const Origin& origin = origins_.of(node.input(form.written));
    const bool own = origin.steps.empty() && !memory_.is_foreign(origin.root);
    return form.is_out && (!own || !is_alone(origin.root, node));
  }

  // Whether it writes to an input or an attribute, and not to a tensor that the program made for it.
  bool is_given(const ir::Node& node, const FunctionalForm& form) const {
    const Origin& origin = origins_.of(node.input(form.written));
    const ir::Node& made = *origin.root->node();
    const bool input = made.is(ir::kind::Param) && !made.block()->owner();
    return origin.steps.empty() && (input || made.is(ir::kind::GetAttr));
  }

  bool can_be_new(const ir::Node& node, const FunctionalForm& form) const {
    const ir::Value* target = node.input(form.written);
    const Origin& origin = origins_.of(target);
    if (std::ranges::any_of(origin.steps, [](const ViewStep& step) { return !step.scatter; })) return false;
    if (!origin.steps.empty() && may_overlap_itself(origin.root)) return false;
    const bool own = origin.steps.empty() && !memory_.is_foreign(origin.root);
    // Random numbers are drawn in the order of memory, which a new tensor need not have.
    if (form.op->has(Trait::random) && !own) return false;
    if (may_resize(node, form) && !form.keeps_sizes) return false;
    return operands_are_apart(node, form, origin);
  }

  void write(ir::Node& node, const FunctionalForm& form) {
    const Origin origin = origins_.of(node.input(form.written));
    memory_.prepare(node, origin.root);
    if (is_write_back(node, origin)) {
      memory_.write_later(origin.root, node);
    } else {
      memory_.write(origin, functional_value(node, form, node.input(form.written)), node);
    }
    if (form.is_out && !form.keeps_sizes) memory_.resized(origin.root);
    forget(node);
  }

  // An assignment to a whole tensor: there is no need for a new value before somebody reads it.
  bool is_write_back(const ir::Node& node, const Origin& origin) const {
    static const ir::Symbol copy("aten::copy_");
    return node.is(copy) && origin.steps.empty() && node.inputs().size() == 3 && !memory_.is_resized(origin.root);
  }

  // Makes a tensor of numbers: with out= one of the dtype that is there.
  static bool is_factory(const Op& op) {
    return std::ranges::none_of(op.schema().arguments, [](const Argument& a) { return is_tensor(a.type); });
  }

  ir::Value* functional_value(ir::Node& node, const FunctionalForm& form, ir::Value* target) {
    std::vector<ir::Value*> inputs;
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      if (form.inputs[i] < node.inputs().size()) {
        inputs.push_back(memory_.current(node.input(form.inputs[i]), node));
      } else {
        const Argument& argument = form.op->schema().arguments[i];
        if (form.is_out && argument.name == "dtype" && is_factory(*form.op)) {
          static const Op& dtype = *find_op("prim::dtype", "");
          inputs.push_back(memory_.insert(graph_.create(dtype, {target}), node, node)->output());
          continue;
        }
        const sconce::Value given = argument.default_value.value();
        inputs.push_back(graph_.create_constant(given)->set_range(node.range())->insert_before(&node)->output());
      }
    }
    ir::Node* made = memory_.insert(graph_.create(*form.op, inputs), node, node);
    made->output()->set_type(target->type());
    if (!result_fits(*made, target, form.is_out)) {
      static const Op& written = *find_op("sconce::written", "");
      static const Op& converted = *find_op("sconce::converted", "");
      made->output()->set_type(tensor_type());
      ir::Value* before = memory_.current(target, node);
      const bool resizes = form.is_out && !form.keeps_sizes;
      made = memory_.insert(graph_.create(resizes ? converted : written, {before, made->output()}), node, node);
      made->output()->set_type(resizes ? tensor_type() : target->type());
    }
    if (node.outputs().size() == 1 && node.output()->has_name()) {
      const std::string name = node.output()->name();
      node.output()->set_name("");
      made->output()->set_name(name);
    }
    return made->output();
  }

  // Two elements of what a branch or a loop gives may be one in memory, if expand or the like made it: then a write to
  // a part of it is seen in others.
  bool may_overlap_itself(const ir::Value* root) const {
    const ir::Node& node = *root->node();
    if (!node.blocks().empty() || (node.is(ir::kind::Param) && node.block()->owner())) {
      return std::ranges::any_of(repeated_, [&](const ir::Value* v) { return facts_.may_contain_alias(v, root); });
    }
    return false;
  }

  // Nobody else has the memory of what an out= operator may give other sizes.
  bool is_alone(const ir::Value* root, const ir::Node& node) const {
    for (const ir::Value* v : memory_.tensors()) {
      const Origin& other = origins_.of(v);
      if (other.root == root ? !other.steps.empty() : facts_.may_alias(v, root)) return false;
    }
    return root->node()->block() == node.block();
  }

  // Eager code refuses operands that overlap what is written in part; here they would be read before the write.
  bool operands_are_apart(const ir::Node& node, const FunctionalForm& form, const Origin& written) const {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (i == form.written) continue;
      for (const ir::Value* v : memory_.operands(node.input(i))) {
        const Origin& operand = origins_.of(v);
        if (operand.root == written.root) {
          const bool same = operand.is_same(written) && form.op->has(Trait::pointwise);
          if (!same && !are_disjoint(operand, written)) return false;
        } else if (facts_.may_contain_alias(v, written.root)) {
          if (!memory_.is_foreign(operand.root) || !memory_.is_foreign(written.root)) return false;
        }
      }
    }
    return true;
  }

  // The result of the write is the tensor itself under another name; each use of it becomes one of that.
  void forget(ir::Node& node) {
    for (ir::Value* v : node.outputs()) {
      ir::Value* real = origins_.of(v).real();
      if (real != v) v->replace_all_uses_with(real);
    }
    gone_.push_back(&node);
  }

  // ---- the end of a block ----

  void finish(ir::Node& end) {
    memory_.write_back_foreign(end);
    memory_.read_results(end);
  }

  // The results of a branch or an iteration. Tensors that are the same before and after need not be given.
  void give_results(ir::Node& owner, ir::Block& block, size_t first) {
    ir::Node& end = *block.return_node();
    for (size_t i = first; i < block.outputs().size(); ++i) {
      const Origin& origin = origins_.of(owner.output(i - first));
      ir::Value* v = block.outputs()[i];
      if (origin.root != owner.output(i - first)) {
        end.set_input(i, origin.real());
        continue;
      }
      end.set_input(i, memory_.give(v, end));
      if (!owner.is(ir::kind::If) || !is_tensor(v->type())) continue;
      const ir::Value* root = origins_.of(v).root;
      memory_.shares_only(owner.output(i - first), memory_.is_dirty(root) ? nullptr : root);
    }
    memory_.leave(block);
  }

  void visit_if(ir::Node& node) {
    memory_.settle_before(node);
    node.set_input(0, memory_.current(node.input(), node));
    const Changes before = memory_.changes();
    Changes after[2];
    for (size_t b = 0; b < 2; ++b) {
      memory_.changes() = before;
      visit(*node.block_at(b));
      give_results(node, *node.block_at(b), 0);
      after[b] = std::move(memory_.changes());
    }
    memory_.changes() = memory_.merged(node, before, after[0], after[1]);
  }

  void visit_loop(ir::Node& node) {
    ir::Block& body = *node.block_at(0);
    memory_.settle_before(node);
    const auto becomes_value = [&](const ir::Node& n) { return forms_.contains(&n); };
    const std::vector<ir::Value*> carried = memory_.carried_by(node, becomes_value);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Origin* origin = i < 2 ? nullptr : &origins_.of(node.output(i - 2));
      const bool same = origin && origin->root != node.output(i - 2);
      node.set_input(i, same ? origin->real() : memory_.give(node.input(i), node));
    }
    const Changes before = memory_.changes();
    for (ir::Value* root : carried) {
      node.add_input(memory_.value_of(root, node));
      memory_.begin(root, body.add_input(root->type()), &node);
    }
    const Changes at_start = memory_.changes();
    visit(body);
    give_results(node, body, 1);
    ir::Node& end = *body.return_node();
    memory_.write_back_other(at_start, carried, end);
    for (ir::Value* root : carried) body.add_output(memory_.value_of(root, end));
    const Changes at_end = std::exchange(memory_.changes(), before);
    for (const Memory::Dirty& d : at_end) {
      if (d.is_given) memory_.keep_given(d.root);
    }
    for (ir::Value* root : carried) memory_.begin(root, node.add_output(root->type()), &node);
  }

  ir::Graph& graph_;
  const ir::AliasFacts facts_;
  const Origins origins_;
  Memory memory_;
  const bool apart_;
  std::unordered_map<const ir::Node*, FunctionalForm> forms_;  // writes that become new values
  std::vector<const ir::Value*> repeated_;                     // views with several elements in one place
  std::vector<ir::Node*> gone_;                                // the same when that was done
  int modes_ = 0;  // of autograd, that the program entered: a write keeps what is recorded, a new value would not
};

bool writes_tensors(const ir::Block& block) {
  bool found = false;
  passes::each_node(block, [&](ir::Node& node) {
    if (!node.op() || ir::is_call(node)) return;
    for (size_t i = 0; i < node.op()->schema().arguments.size() && i < node.inputs().size(); ++i) {
      const Argument& argument = node.op()->schema().arguments[i];
      if (!argument.is_written()) continue;
      const TypePtr type = node.input(i)->type();
      found |= is_tensor(type) || (type->is(TypeKind::list) && is_tensor(type->element()));
    }
  });
  return found;
}

}  // namespace

bool functionalize(ir::Graph& graph, const FunctionalizeOptions& options) {
  if (!writes_tensors(*graph.block())) return false;
  const std::string before = graph.copy()->to_string(false);
  expand_aliasing_bodies(graph);
  Functionalizer(graph, options).run();
  passes::dead_code(graph);
  return graph.copy()->to_string(false) != before;
}

}  // namespace sconce::lowering
