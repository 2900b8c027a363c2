#include "sconce/connect/cuda/decomposed_kernels.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/dispatch/registry.h"
#include "sconce/dispatch/schema.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/graph_code.h"

namespace sconce {
namespace {

bool has_decomposition(const Op& op) { return op.info.entry && op.info.entry->decompose; }

// Compiled when first called, and kept.
const runtime::GraphCode& code_of(const Op& op) {
  static std::mutex mutex;
  static auto& codes = *new std::unordered_map<const Op*, std::unique_ptr<runtime::GraphCode>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<runtime::GraphCode>& code = codes[&op];
  if (!code) {
    passes::OpGraphs* graphs = passes::op_graphs();
    const ir::Graph* graph = graphs ? graphs->decomposition(op) : nullptr;
    SCONCE_CHECK(graph, "{}: its decomposition cannot be compiled (SCONCE_LOGS=autodiff says why)",
                 op.qualified_name());
    code = std::make_unique<runtime::GraphCode>(*graph, op.info.name, nullptr, false);
  }
  return *code;
}

std::vector<Value> results_of(const Op& op, std::vector<Value> args) {
  Value result = code_of(op).run(args);
  if (op.schema().returns.size() == 1) return {std::move(result)};
  return result.to_tuple().items;
}

// The tensor becomes the result: in place it has the sizes already, as out= it is resized.
void write(const Value& to, const Value& result, bool resizes) {
  const Tensor& target = to.to_tensor();
  const Tensor& source = result.to_tensor();
  if (resizes && target.sizes() != source.sizes())
    call_op("aten::resize_", {to, Value(std::vector<int64_t>(source.sizes().begin(), source.sizes().end()))});
  call_op("aten::copy_", {to, result});
}

}  // namespace

void run_decomposed(const Op& op, KeySet, Value* args, Value* returns) {
  const Schema& schema = op.schema();
  const size_t count = schema.arguments.size();
  std::vector<size_t> written;
  for (size_t i = 0; i < count; ++i) {
    if (schema.arguments[i].is_written()) written.push_back(i);
  }
  if (written.empty()) {
    std::vector<Value> results = results_of(op, std::vector<Value>(args, args + count));
    for (size_t i = 0; i < results.size(); ++i) returns[i] = std::move(results[i]);
    return;
  }
  const Op* twin = functional_twin(op);
  SCONCE_ASSERT(twin);
  const bool is_out = op.has(Trait::out);
  std::vector<Value> given;
  for (size_t i = 0; i < count; ++i) {
    if (!is_out || !schema.arguments[i].is_written()) given.push_back(args[i]);
  }
  const std::vector<Value> results = results_of(*twin, std::move(given));
  SCONCE_ASSERT(results.size() >= written.size());
  for (size_t i = 0; i < written.size(); ++i) write(args[written[i]], results[i], is_out);
  for (size_t i = 0; i < schema.returns.size(); ++i) returns[i] = args[written[i]];
}

size_t add_decomposed_kernels(DeviceType type) {
  size_t count = 0;
  for (const Op* op : all_ops()) {
    if (runs_on(*op, type) || !op->has_kernel(Key::cpu)) continue;
    const Op* functional = op->schema().is_mutable() ? functional_twin(*op) : op;
    if (!functional || !has_decomposition(*functional)) continue;
    if (functional != op && functional->schema().arguments.size() > op->schema().arguments.size()) continue;
    const_cast<Op*>(op)->set_kernel(backend_key(type), SCONCE_BOXED_KERNEL(run_decomposed));
    ++count;
  }
  return count;
}

}  // namespace sconce
