#include "sconce/lowering/effects/guarded.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/effects.h"
#include "sconce/lowering/dialect.h"
#include "sconce/lowering/origins.h"
#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

const ir::Symbol& copy_kind() {
  static const ir::Symbol copy("aten::copy_");
  return copy;
}

// Writes that wait for something behind them, and those that could give a tensor from outside other sizes.
size_t count_early_writes(const ir::Graph& graph) {
  size_t count = 0;
  passes::each_node(*graph.block(), [&](const ir::Node& node) {
    count += node.is(copy_kind()) && !is_write_back(node);
    count += node.op() && node.op()->has(Trait::out);
  });
  return count;
}

// An input of the graph, or an attribute of one: where it is, "self.norm.running_mean".
struct Place {
  size_t input = 0;
  std::vector<std::string> names;
  friend bool operator==(const Place&, const Place&) = default;
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.input, a.names) < std::tie(b.input, b.names);
  }
};

std::optional<Place> place_of(const ir::Value* v) {
  Place place;
  for (; v->node()->is(ir::kind::GetAttr); v = v->node()->input()) {
    place.names.insert(place.names.begin(), v->node()->string_attribute("name"));
  }
  if (!v->node()->is(ir::kind::Param) || v->node()->block()->owner()) return std::nullopt;
  place.input = v->offset();
  return place;
}

// All that comes from outside by name: tensors, and objects on the way to them. Nothing where a tensor comes another
// way, or an attribute gets another one on the way.
std::optional<std::map<Place, TypePtr>> named_from_outside(const ir::Graph& graph) {
  std::map<Place, TypePtr> found;
  bool known = true;
  for (const ir::Value* v : graph.inputs()) found[*place_of(v)] = v->type();
  passes::each_node(*graph.block(), [&](const ir::Node& node) {
    if (node.is(ir::kind::SetAttr)) known &= !ir::is_mutable(node.input(1)->type());
    if (ir::is_call(node)) known = false;
    if (!node.is(ir::kind::GetAttr)) return;
    const std::optional<Place> place = place_of(node.output());
    known &= place || !is_tensor(node.output()->type());
    if (place) found[*place] = node.output()->type();
  });
  return known ? std::optional(found) : std::nullopt;
}

class Guard {
 public:
  Guard(ir::Graph& graph, std::map<Place, TypePtr> types)
      : graph_(graph), at_(graph.block()->first()), types_(std::move(types)) {}

  void add() {
    std::vector<Place> written;
    passes::each_node(*graph_.block(), [&](const ir::Node& node) {
      if (!node.is(copy_kind())) return;
      const std::optional<Place> place = place_of(node.input());
      if (place && std::ranges::find(written, *place) == written.end()) written.push_back(*place);
    });
    std::vector<ir::Value*> values, others;
    Ref<List> names = make_ref<List>(string_type());
    for (const Place& place : written) values.push_back(value_at(place, *names));
    for (const auto& [place, type] : types_) {
      if (is_tensor(type) && std::ranges::find(written, place) == written.end())
        others.push_back(value_at(place, *names));
    }
    static const Op& check = *find_op("sconce::check_apart", "");
    ir::Value* first = list(values, tensor_type());
    ir::Value* second = list(others, optional_type(tensor_type()));
    ir::Value* third = graph_.create_constant(sconce::Value(std::move(names)))->insert_before(at_)->output();
    graph_.create(check, {first, second, third})->insert_before(at_);
  }

 private:
  // The value at the start of the graph, and its name.
  ir::Value* value_at(const Place& place, List& names) {
    ir::Value* v = graph_.inputs()[place.input];
    std::string name = v->has_name() ? std::string(v->base_name()) : "input " + std::to_string(place.input);
    for (size_t i = 0; i < place.names.size(); ++i) {
      name += "." + place.names[i];
      const Place here{place.input, {place.names.begin(), place.names.begin() + static_cast<ptrdiff_t>(i) + 1}};
      ir::Value*& got = read_[here];
      if (!got) {
        ir::Node* node = graph_.create(ir::kind::GetAttr, {v})->set_attribute("name", sconce::Value(place.names[i]));
        got = node->insert_before(at_)->add_output(types_.at(here));
      }
      v = got;
    }
    names.append(sconce::Value(name));
    return v;
  }
  ir::Value* list(const std::vector<ir::Value*>& items, TypePtr element) {
    ir::Node* node = graph_.create(ir::kind::ListConstruct, items)->insert_before(at_);
    return node->add_output(list_type(element));
  }

  ir::Graph& graph_;
  ir::Node* at_;
  const std::map<Place, TypePtr> types_;
  std::map<Place, ir::Value*> read_;
};

// The nodes of another graph with the same inputs, instead of its own.
void become(ir::Graph& graph, const ir::Graph& other) {
  ir::Block& block = *graph.block();
  while (!block.outputs().empty()) block.remove_output(block.outputs().size() - 1);
  while (!block.empty()) block.last()->destroy();
  ir::Block::ValueMap map;
  for (size_t i = 0; i < graph.inputs().size(); ++i) map[other.inputs()[i]] = graph.inputs()[i];
  for (const ir::Node* node : other.nodes()) block.append(graph.create_copy(*node, map));
  for (const ir::Value* v : other.outputs()) block.add_output(map.at(v));
}

}  // namespace

void lower_guarded(ir::Graph& graph, FunctionRef<void(ir::Graph&, bool apart)> lower) {
  const std::shared_ptr<ir::Graph> before = graph.copy();
  lower(graph, false);
  const size_t left = count_early_writes(graph);
  if (left == 0) return;
  lower(*before, true);
  const std::optional<std::map<Place, TypePtr>> named = named_from_outside(*before);
  if (!named || count_early_writes(*before) == left) return;
  become(graph, *before);
  Guard(graph, *named).add();
}

}  // namespace sconce::lowering
