// Scalar replacement of lists: items are taken from the values that a list was just made of.
//   %l : int[] = prim::ListConstruct(%a, %b)
//   %x : int, %y : int = prim::ListUnpack(%l)      =>  %a, %b
//   %z : int = aten::__getitem__(%l, %minus_one)   =>  %b
//   %n : int = aten::len(%l)                       =>  2
//   %s : int[] = aten::slice(%l, %one, ...)        =>  prim::ListConstruct(%b)    likewise l + m, list(l), l.copy()
// The list must never be written to; the alias facts decide.
#include "sconce/passes/analysis/lazy_alias.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

class ListUnpacker {
 public:
  explicit ListUnpacker(const ir::Graph& graph) : alias_(graph) {}

  bool visit(ir::Node& node) {
    if (node.inputs().empty() || !node.input()->node()->is(ir::kind::ListConstruct)) return false;
    const std::vector<ir::Value*>& items = node.input()->node()->inputs();
    if (node.is(ir::kind::ListUnpack))
      return items.size() == node.outputs().size() && is_fixed(node.input()) && unpack(node, items);
    if (!node.op()) return false;
    const auto size = static_cast<int64_t>(items.size());
    if (node.is(item_)) {
      const std::optional<int64_t> at = constant_int(node.input(1));
      if (!at || *at < -size || *at >= size || !is_fixed(node.input())) return false;
      replace_node(node, items[static_cast<size_t>(*at < 0 ? *at + size : *at)]);
      return true;
    }
    if (node.is(len_)) {
      if (!is_fixed(node.input())) return false;
      replace_with_constant(node, size);
      return true;
    }
    const std::optional<std::vector<ir::Value*>> made = new_list(node, items);
    if (!made) return false;
    ir::Node* list = create_like(node, ir::kind::ListConstruct, *made, node.output()->type());
    made_.insert(list->output());
    replace_node(node, list->insert_before(&node)->output());
    return true;
  }

 private:
  bool is_fixed(const ir::Value* list) { return !made_.contains(list) && !alias_->has_writers(list); }

  static bool unpack(ir::Node& node, const std::vector<ir::Value*>& items) {
    for (size_t i = 0; i < items.size(); ++i) node.output(i)->replace_all_uses_with(items[i]);
    node.destroy();
    return true;
  }

  // The elements of a new list that the node makes of a known one.
  std::optional<std::vector<ir::Value*>> new_list(const ir::Node& node, const std::vector<ir::Value*>& items) {
    if (node.outputs().size() != 1 || !node.output()->type()->is(TypeKind::list)) return std::nullopt;
    if (node.is(slice_) && node.inputs().size() == 4) return slice(node, items);
    if ((node.is(copy_) || node.is(list_)) && node.inputs().size() == 1) {
      return is_fixed(node.input()) ? std::optional(items) : std::nullopt;
    }
    if (node.is(add_) && node.inputs().size() == 2 && node.input(1)->node()->is(ir::kind::ListConstruct)) {
      if (!is_fixed(node.input(0)) || !is_fixed(node.input(1))) return std::nullopt;
      std::vector<ir::Value*> both = items;
      const std::vector<ir::Value*>& more = node.input(1)->node()->inputs();
      both.insert(both.end(), more.begin(), more.end());
      return both;
    }
    return std::nullopt;
  }

  // l[start:end:step] with constants; None is the end on that side.
  std::optional<std::vector<ir::Value*>> slice(const ir::Node& node, const std::vector<ir::Value*>& items) {
    const auto size = static_cast<int64_t>(items.size());
    const std::optional<int64_t> step = constant_int(node.input(3));
    if (!step || *step < 1) return std::nullopt;
    const auto bound = [&](const ir::Value* v, int64_t otherwise) -> std::optional<int64_t> {
      if (ir::is_none(v)) return otherwise;
      const std::optional<int64_t> n = constant_int(v);
      if (!n) return std::nullopt;
      return std::clamp<int64_t>(*n < 0 ? *n + size : *n, 0, size);
    };
    const std::optional<int64_t> start = bound(node.input(1), 0), end = bound(node.input(2), size);
    if (!start || !end || !is_fixed(node.input())) return std::nullopt;
    std::vector<ir::Value*> part;
    for (int64_t i = *start; i < *end; i += std::min(*step, size)) part.push_back(items[static_cast<size_t>(i)]);
    return part;
  }

  LazyAlias alias_;
  std::unordered_set<const ir::Value*> made_;  // of which the facts know nothing
  const ir::Symbol item_{"aten::__getitem__"}, len_{"aten::len"}, slice_{"aten::slice"}, add_{"aten::add"},
      copy_{"aten::copy"}, list_{"aten::list"};
};

}  // namespace

bool unpack_lists(ir::Graph& graph) {
  ListUnpacker unpacker(graph);
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= unpacker.visit(node); });
  return changed;
}

}  // namespace sconce::passes
