#include "sconce/api/compile/frozen_inputs.h"

#include <algorithm>

#include "sconce/tensor/memory/write_count.h"

namespace sconce::jit {
namespace {

// Straight code of operators that write to nothing: what a graph of a capture is, if it is free of effects.
bool is_pure(const ir::Block& block) {
  for (const ir::Node* n : block.nodes()) {
    if (!n->blocks().empty() || (n->op() && n->op()->schema().is_mutable())) return false;
  }
  return true;
}

void set_schema(ir::Function& f, const ir::Graph& graph) {
  Schema schema;
  schema.name = f.name();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Argument a;
    a.name = "input_" + std::to_string(i);
    a.type = graph.inputs()[i]->type();
    schema.arguments.push_back(std::move(a));
  }
  Argument result;
  result.type = graph.outputs().at(0)->type();
  schema.returns.push_back(std::move(result));
  f.set_schema(std::move(schema));
}

}  // namespace

FrozenInputs::~FrozenInputs() = default;

std::unique_ptr<FrozenInputs> FrozenInputs::make(const ir::Graph& graph, std::span<const Value> inputs,
                                                 const std::vector<uint32_t>& frozen) {
  if (frozen.empty() || graph.outputs().size() != 1 || !is_pure(*graph.block())) return nullptr;
  std::unique_ptr<FrozenInputs> made(new FrozenInputs());
  const std::shared_ptr<ir::Graph> copy = graph.copy();
  copy->set_insert_point(copy->block()->first());
  for (auto i = static_cast<uint32_t>(inputs.size()); i-- > 0;) {
    if (!std::binary_search(frozen.begin(), frozen.end(), i) || inputs[i].to_tensor().dim() == 0) {
      made->others_.insert(made->others_.begin(), i);
      continue;
    }
    const Tensor& t = inputs[i].to_tensor();
    ir::Value* input = copy->inputs()[i];
    input->replace_all_uses_with(copy->insert_constant(Value(t), {}, input->type()));
    copy->block()->remove_input(i);
    made->known_.push_back({i, t, t.data(), t.numel(), t.impl()->meta, write_count(t)});
  }
  if (made->known_.empty()) return nullptr;
  made->function_ = &made->unit_.add_function("compiled_graph");
  set_schema(*made->function_, *copy);
  made->function_->set_graph(copy);
  return made;
}

bool FrozenInputs::hold(std::span<const Value> inputs) const {
  return std::all_of(known_.begin(), known_.end(), [&](const Known& k) {
    const Tensor& t = inputs[k.input].to_tensor();
    return t.impl() == k.tensor.impl() && t.impl()->meta == k.meta && t.data() == k.data && t.numel() == k.numel &&
           write_count(t) == k.writes;
  });
}

}  // namespace sconce::jit
