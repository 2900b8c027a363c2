// Regions of autocast: the conversions that PyTorch makes on the fly become nodes.
//
// The file says which dtype each value had under autocast, so that a conversion stands where one is needed only, and
// the program runs and is saved as any other.
#include <algorithm>

#include "sconce/dispatch/binding/autocast.h"
#include "sconce/dispatch/op.h"
#include "sconce/serialization/exported/exported_nodes.h"
#include "sconce/serialization/exported/number_calls.h"

namespace sconce::exported {
namespace {

using Kind = Argument::Kind;

// float64 and what is no float at all stay as they are.
bool may_be_converted(const std::optional<DType>& dtype) {
  return dtype && is_floating(*dtype) && *dtype != DType::float64;
}

}  // namespace

// wrap_with_autocast(device type, dtype, enabled, cache enabled, graph, operands). The cache keeps converted weights
// and changes no result.
void NodeBuilder::insert_autocast(const Node& node, Names& names) {
  constexpr size_t kGraph = 4;
  SCONCE_CHECK(node.inputs.size() > kGraph && node.inputs[0].second.value.is_string() &&
                   node.inputs[2].second.value.is_bool() && node.inputs[3].second.value.is_bool(),
               "must have a device type, a dtype, two bools and a graph");
  const Argument& dtype = node.inputs[1].second;
  SCONCE_CHECK(dtype.kind == Kind::dtype || dtype.kind == Kind::none, "its second argument must be a dtype or None");
  const std::optional<DType> outer = autocast_;
  if (node.inputs[0].second.value.to_string_ref() == "cpu") {  // those of other devices leave tensors of the CPU alone
    const DType to = dtype.kind == Kind::none ? DType::bfloat16 : dtype_from_number(dtype.value.to_int());
    SCONCE_CHECK(to == DType::bfloat16 || to == DType::float16,
                 "In CPU autocast, but the target dtype is not supported: {}", dtype_name(to));
    autocast_ = node.inputs[2].second.value.to_bool() ? std::optional(to) : std::nullopt;
  }
  insert_inlined(node, kGraph, names, false);
  autocast_ = outer;
}

std::optional<DType> NodeBuilder::dtype_of(const Argument& argument) const {
  if (argument.kind != Kind::tensor) return std::nullopt;
  const auto meta = nodes_of_->tensors.find(argument.text);
  SCONCE_CHECK(meta != nodes_of_->tensors.end(), "tensor_values has no entry for '{}', which autocast needs",
               argument.text);
  return meta->second.dtype;
}

ir::Value* NodeBuilder::converted(ir::Value* v, DType to) {
  const auto constant = [&](Value c) { return graph_.insert_constant(std::move(c), range_); };
  return insert_call(graph_, "aten::to",
                     {v, constant(Value(to)), constant(Value(false)), constant(Value(false)),
                      graph_.insert_constant(Value(), range_, none_type())},
                     range_);
}

void NodeBuilder::autocast_inputs(const Node& node, const Op& op, std::vector<ir::Value*>& inputs) {
  AutocastPolicy policy = autocast_policy(op.qualified_name());
  if (policy == AutocastPolicy::none) {
    // An operator made of others (einsum of bmm) is not listed; its result has the dtype of those inside.
    const bool lowers = !node.outputs.empty() && node.outputs[0].kind == Kind::tensor &&
                        dtype_of(node.outputs[0]) == autocast_ && op.has(Trait::compound) &&
                        std::none_of(node.inputs.begin(), node.inputs.end(),
                                     [](const auto& input) { return input.second.kind == Kind::dtype; });
    if (!lowers) return;
    policy = AutocastPolicy::lower;
  }
  DType to = policy == AutocastPolicy::full ? DType::float32 : *autocast_;
  const auto each_tensor = [&](const auto& f) {
    for (const auto& [name, argument] : node.inputs) {
      f(argument);
      for (const Argument& item : argument.items) f(item);
    }
  };
  if (policy == AutocastPolicy::widest) {
    each_tensor([&](const Argument& a) {
      if (dtype_of(a) == DType::float32) to = DType::float32;
    });
  }
  const auto fit = [&](const Argument& a, ir::Value* v) {
    const std::optional<DType> dtype = dtype_of(a);
    return may_be_converted(dtype) && *dtype != to ? converted(v, to) : v;
  };
  for (const auto& [name, argument] : node.inputs) {
    ir::Value*& v = inputs[*op.schema().find_argument(name)];
    if (argument.kind == Kind::tensor) {
      v = fit(argument, v);
    } else if (argument.kind == Kind::list && v->node()->is(ir::kind::ListConstruct)) {
      ir::Node* list = v->node();
      const ir::InsertPoint before(graph_, list);
      for (size_t i = 0; i < argument.items.size(); ++i) list->set_input(i, fit(argument.items[i], list->input(i)));
    }
  }
}

}  // namespace sconce::exported
