#include "sconce/passes/analysis/op_graphs.h"

#include <atomic>

namespace sconce::passes {
namespace {
constinit std::atomic<OpGraphs*> current{nullptr};
}

void set_op_graphs(OpGraphs* source) noexcept { current.store(source); }
OpGraphs* op_graphs() noexcept { return current.load(); }

}  // namespace sconce::passes
