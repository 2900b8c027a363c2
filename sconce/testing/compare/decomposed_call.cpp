#include "sconce/testing/compare/decomposed_call.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/entry.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/graph_code.h"

namespace sconce::testing {

std::string why_not_decomposed(const Op& op) {
  if (!op.info.entry || !op.info.entry->decompose) return "has no decomposition";
  if (op.schema().is_mutable()) return "writes to its arguments";
  return {};
}

std::vector<Value> invoke_decomposed(const Op& op, std::vector<Value> args) {
  const ir::Graph* graph = passes::op_graphs()->decomposition(op);
  SCONCE_CHECK(graph, "{}: its decomposition cannot be compiled (SCONCE_LOGS=autodiff says why)", op.qualified_name());
  Value result = runtime::GraphCode(*graph, "decomposition", nullptr, false).run(args);
  if (op.schema().returns.size() == 1) return {std::move(result)};
  return result.to_tuple().items;
}

}  // namespace sconce::testing
