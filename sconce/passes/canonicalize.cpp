// Canonical naming: values have no names and are numbered as they come.
//   %x.3 : Tensor = aten::relu(%7)        =>  %1 : Tensor = aten::relu(%0)
// Graphs that differ only in names have the same text after it.
#include "sconce/passes/analysis/rewrite.h"
#include "sconce/passes/passes.h"

namespace sconce::passes {
namespace {

class Renumber {
 public:
  bool block(const ir::Block& b) {
    bool changed = false;
    for (ir::Value* v : b.inputs()) changed |= value(*v);
    for (ir::Node* node : b.nodes()) {
      for (ir::Value* v : node->outputs()) changed |= value(*v);
      for (const auto& [name, v] : node->attributes()) {
        if (const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&v)) changed |= canonicalize(**graph);
      }
      for (const ir::Block* inner : node->blocks()) changed |= block(*inner);
    }
    return changed;
  }

 private:
  bool value(ir::Value& v) {
    const bool changed = v.has_name() || v.id() != next_;
    v.set_name("");
    v.set_id(next_++);
    return changed;
  }
  uint32_t next_ = 0;
};

}  // namespace

bool canonicalize(ir::Graph& graph) { return Renumber().block(*graph.block()); }

}  // namespace sconce::passes
