// Functionalisation: in-place writes become new values, if the difference cannot be observed.
//   %l : int[] = prim::ListConstruct(%a)              %l : int[] = prim::ListConstruct(%a)
//   %m : int[] = aten::append(%l, %b)           =>    %m : int[] = prim::ListConstruct(%a, %b)
//   %n : int = aten::len(%l)                          %n : int = aten::len(%m)
// likewise insert, extend, += and l[constant] = v of a list that this block made; and
//   %y : Tensor = aten::relu(%x)                      %y : Tensor = aten::relu(%x)
//   %z : Tensor = aten::neg_(%y)                =>    %z : Tensor = aten::neg(%y)
//   %w : Tensor = aten::exp(%y)                       %w : Tensor = aten::exp(%z)
// of a tensor that this block made. Nothing else may share the memory: no view, no container, nothing outside. The
// functional operator has to give the same dtype and sizes as the write keeps; the types have to know them.
#include "sconce/dispatch/registry.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/analysis/shape_rules.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// Does the user keep the value, give it on under another name, or is it something whose doings are not known? A use
// that reads and forgets leaves the value ours alone.
bool only_reads(const ir::Use& use) {
  const ir::Node& user = *use.user;
  if (!user.op() || user.op()->schema().is_vararg) return false;
  const Schema& schema = user.op()->schema();
  if (use.offset >= schema.arguments.size()) return false;
  const Argument& argument = schema.arguments[use.offset];
  if (argument.is_written()) return false;
  if (argument.alias && !argument.alias->after.empty()) return false;
  // A result that may be it, or contain it.
  for (const Argument& result : schema.returns) {
    if (result.alias && argument.alias && (!result.alias->before.empty() || !result.alias->contained.empty())) {
      return false;
    }
  }
  return true;
}

// All uses before `write` read and forget, all are in this block or blocks inside it: then the value can be
// split in two.
bool is_ours_until(const ir::Value* v, const ir::Node& write) {
  const ir::Block* block = write.block();
  if (v->node()->block() != block) return false;
  for (const ir::Use& use : v->uses()) {
    if (use.user == &write) continue;
    if (use.user->is_before(&write) && !only_reads(use)) return false;
    // Inside a loop around it, "after" comes round to "before".
  }
  return true;
}

// The value after the write.
void split(ir::Value* before, ir::Node& write, ir::Value* after) { before->replace_uses_after(&write, after); }

class Lists {
 public:
  bool visit(ir::Node& node) {
    if (!node.op() || node.inputs().size() < 2 || !node.input()->node()->is(ir::kind::ListConstruct)) return false;
    if (!node.op()->schema().arguments[0].is_written()) return false;
    ir::Value* list = node.input();
    std::optional<std::vector<ir::Value*>> items = items_after(node, list->node()->inputs());
    if (!items || !is_ours_until(list, node)) return false;
    ir::Node* changed = create_like(node, ir::kind::ListConstruct, *items, list->type());
    changed->insert_before(&node);
    split(list, node, changed->output());
    for (ir::Value* out : node.outputs()) out->replace_all_uses_with(changed->output());
    if (node.outputs().size() == 1 && node.output()->has_name()) {
      const std::string name = node.output()->name();
      node.output()->set_name("");
      changed->output()->set_name(name);
    }
    node.destroy();
    return true;
  }

 private:
  std::optional<std::vector<ir::Value*>> items_after(const ir::Node& node, std::vector<ir::Value*> items) const {
    const auto size = static_cast<int64_t>(items.size());
    if (node.is(append_)) {
      items.push_back(node.input(1));
      return items;
    }
    if ((node.is(extend_) || node.is(add_)) && node.input(1)->node()->is(ir::kind::ListConstruct)) {
      // The other list has to be as it was made: it is never written.
      const ir::Value* other = node.input(1);
      if (other == node.input(0)) return std::nullopt;
      for (const ir::Use& use : other->uses()) {
        if (use.user != &node && !only_reads(use)) return std::nullopt;
      }
      items.insert(items.end(), other->node()->inputs().begin(), other->node()->inputs().end());
      return items;
    }
    if (node.inputs().size() != 3) return std::nullopt;
    const std::optional<int64_t> at = constant_int(node.input(1));
    if (!at) return std::nullopt;
    if (node.is(set_) && *at >= -size && *at < size) {
      items[static_cast<size_t>(*at < 0 ? *at + size : *at)] = node.input(2);
      return items;
    }
    if (node.is(insert_)) {
      items.insert(items.begin() + std::clamp<int64_t>(*at < 0 ? *at + size : *at, 0, size), node.input(2));
      return items;
    }
    return std::nullopt;
  }

  const ir::Symbol append_{"aten::append"}, extend_{"aten::extend"}, add_{"aten::add_"}, set_{"aten::_set_item"},
      insert_{"aten::insert"};
};

// A new tensor, which nothing else shares: made by an operator that returns neither a view nor its argument.
bool is_new_tensor(const ir::Value* v) {
  const ir::Node& node = *v->node();
  if (!node.op() || node.op()->schema().is_varret || node.op()->has(Trait::compound)) return false;
  return !node.op()->schema().returns[v->offset()].alias && !node.op()->has(Trait::view);
}

// aten::neg for aten::neg_, with the same arguments; null when there is none.
const Op* functional_form(const Op& op) {
  const std::string name = op.info.name;
  if (!op.has(Trait::inplace) || !name.ends_with('_')) return nullptr;
  const Op* other = find_op(std::string_view(name).substr(0, name.size() - 1), op.info.overload);
  if (!other || other->schema().arguments.size() != op.schema().arguments.size() || other->schema().is_mutable())
    return nullptr;
  return other;
}

bool same_result(const ir::Value* x, const TensorFacts& result) {
  const TensorFacts* facts = x->type()->tensor_facts();
  return facts && facts->dtype && facts->sizes && facts->dtype == result.dtype && facts->sizes == result.sizes &&
         std::none_of(facts->sizes->begin(), facts->sizes->end(), [](int64_t n) { return n == TensorFacts::kUnknown; });
}

bool replace_write(ir::Node& node) {
  if (!node.op() || node.outputs().size() != 1 || node.inputs().empty()) return false;
  const Op* functional = functional_form(*node.op());
  ir::Value* x = node.input();
  if (!functional || !is_new_tensor(x) || !is_ours_until(x, node)) return false;
  ir::Node* made = node.graph()->create(*functional, node.inputs());
  made->set_range(node.range())->set_inlined(node.inlined());
  made->insert_before(&node);
  const std::optional<MetaResult> result = call_on_meta(*made, {});
  if (!result || !result->outputs[0] || !same_result(x, *result->outputs[0])) {
    made->destroy();
    return false;
  }
  made->output()->set_type(node.output()->type());
  split(x, node, made->output());
  node.output()->replace_all_uses_with(made->output());
  if (node.output()->has_name()) {
    const std::string name = node.output()->name();
    node.output()->set_name("");
    made->output()->set_name(name);
  }
  node.destroy();
  return true;
}

}  // namespace

bool remove_mutation(ir::Graph& graph) {
  Lists lists;
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= lists.visit(node) || replace_write(node); });
  return changed;
}

}  // namespace sconce::passes
