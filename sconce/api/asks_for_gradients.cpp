#include "sconce/api/asks_for_gradients.h"

#include <algorithm>

#include "sconce/dispatch/op.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/bytecode/code.h"

namespace sconce::jit {
namespace {

bool runs_backward(const Op* op) { return op && op->has(Trait::runs_backward); }

bool runs_backward(const ir::Block& block) {
  for (const ir::Node* n : block.nodes()) {
    if (runs_backward(n->op())) return true;
    for (const ir::Block* b : n->blocks()) {
      if (runs_backward(*b)) return true;
    }
    for (const auto& [name, value] : n->attributes()) {
      const auto* graph = std::get_if<std::shared_ptr<ir::Graph>>(&value);
      if (graph && runs_backward(*(*graph)->block())) return true;
    }
  }
  return false;
}

// Of a function without a graph: its code.
bool code_runs_backward(ir::Function& f) {
  const auto& executable = static_cast<runtime::CodeExecutable&>(f.executable({}));
  return std::any_of(executable.code->op_calls.begin(), executable.code->op_calls.end(),
                     [](const runtime::OpCall& call) { return runs_backward(call.op); });
}

}  // namespace

bool asks_for_gradients(const Function& function) {
  function.function().ensure_defined();
  for (ir::Function* f : function.function().unit().functions()) {
    if (!f->is_defined()) continue;
    if (f->has_graph() ? runs_backward(*f->graph()->block()) : code_runs_backward(*f)) return true;
  }
  return false;
}

}  // namespace sconce::jit
