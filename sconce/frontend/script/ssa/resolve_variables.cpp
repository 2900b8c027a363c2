// Step 3 of SSA construction: every Load becomes the value that was stored last.
#include <unordered_map>

#include "sconce/frontend/script/ssa/to_ssa_steps.h"

namespace sconce::script {
namespace {

struct Frame {
  const Frame* parent;
  std::unordered_map<std::string, ir::Value*> values;
  ir::Value* find(const std::string& name) const {
    for (const Frame* f = this; f; f = f->parent) {
      if (const auto it = f->values.find(name); it != f->values.end()) return it->second;
    }
    return nullptr;
  }
};

void resolve(ir::Block* block, const Frame* parent) {
  Frame frame{parent, {}};
  for (ir::Node* n : block->nodes()) {
    if (n->is(ir::kind::Store)) {
      frame.values[n->string_attribute("name")] = n->input();
      n->destroy();
    } else if (n->is(ir::kind::Load)) {
      ir::Value* v = frame.find(n->string_attribute("name"));
      SCONCE_ASSERT(v);  // the emitter found it, too
      n->output()->replace_all_uses_with(v);
      n->destroy();
    } else {
      for (ir::Block* b : n->blocks()) resolve(b, &frame);
    }
  }
}

}  // namespace

void resolve_variables(ir::Graph& graph) { resolve(graph.block(), nullptr); }

}  // namespace sconce::script
