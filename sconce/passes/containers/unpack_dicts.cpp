// Scalar replacement of dicts: items are taken from the values that a dict was just made of.
//   %d : Dict(str, int) = prim::DictConstruct(%key, %v, %other_key, %w)
//   %x : int = aten::__getitem__(%d, %key)        =>  %v
//   %b : bool = aten::__contains__(%d, %key)      =>  True
//   %n : int = aten::len(%d)                      =>  2
// All keys are constants, and the dict is never written to; the alias facts decide.
#include <unordered_map>

#include "sconce/passes/analysis/lazy_alias.h"
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

// A larger dict stays a dict: its entries are looked at for every use.
constexpr size_t kMaxEntries = 1024;

struct KeyHash {
  size_t operator()(const sconce::Value& key) const { return key.hash(); }
};
struct SameKey {
  bool operator()(const sconce::Value& a, const sconce::Value& b) const { return a.equals(b); }
};
using Entries = std::unordered_map<sconce::Value, ir::Value*, KeyHash, SameKey>;

// The entries, by key: the last of equal keys counts. Nothing when a key is not a constant, or there are too many.
std::optional<Entries> entries_of(const ir::Node& dict) {
  if (dict.inputs().size() / 2 > kMaxEntries) return std::nullopt;
  Entries entries;
  for (size_t i = 0; i + 1 < dict.inputs().size(); i += 2) {
    std::optional<sconce::Value> key = ir::constant_value(dict.input(i));
    if (!key || key->is_tensor()) return std::nullopt;
    entries[std::move(*key)] = dict.input(i + 1);
  }
  return entries;
}

class DictUnpacker {
 public:
  explicit DictUnpacker(const ir::Graph& graph) : alias_(graph) {}

  bool visit(ir::Node& node) {
    if (node.inputs().empty() || !node.op() || !node.input()->node()->is(ir::kind::DictConstruct)) return false;
    const bool asks = node.is(item_) || node.is(contains_);
    if (!asks && !node.is(len_)) return false;
    const auto entries = entries_of(*node.input()->node());
    if (!entries || alias_->has_writers(node.input())) return false;
    if (node.is(len_)) {
      replace_with_constant(node, static_cast<int64_t>(entries->size()));
      return true;
    }
    const std::optional<sconce::Value> key = ir::constant_value(node.input(1));
    if (!key || key->is_tensor()) return false;
    const auto found = entries->find(*key);
    if (node.is(contains_)) {
      replace_with_constant(node, found != entries->end());
      return true;
    }
    if (found == entries->end()) return false;  // the operator raises
    replace_node(node, found->second);
    return true;
  }

 private:
  LazyAlias alias_;
  const ir::Symbol item_{"aten::__getitem__"}, contains_{"aten::__contains__"}, len_{"aten::len"};
};

}  // namespace

bool unpack_dicts(ir::Graph& graph) {
  DictUnpacker unpacker(graph);
  bool changed = false;
  each_node(*graph.block(), [&](ir::Node& node) { changed |= unpacker.visit(node); });
  return changed;
}

}  // namespace sconce::passes
