#include "sconce/executor/probe.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/entry.h"
#include "sconce/kernels/pointwise_probe.h"

namespace sconce::executor {
namespace {

class Listening {
 public:
  explicit Listening(PointwiseProbe& probe) { pointwise_probe = &probe; }
  ~Listening() { pointwise_probe = nullptr; }
  Listening(const Listening&) = delete;
};

bool is_device_argument(const Argument& a) {
  return a.type->is(TypeKind::device) || (a.type->is(TypeKind::optional) && a.type->element()->is(TypeKind::device));
}

}  // namespace

bool same_geometry(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

void call_on_meta(const Tape& tape, TapeNode& node, MetaTwins& twins, std::vector<Value>& results) {
  // A value that occurs twice has one twin, as it is one tensor. Those that are written get copies, which may change.
  std::vector<Value> args = arguments_with(node, [&](ValueId v) {
    const auto [at, is_new] = twins.try_emplace(v);
    if (is_new) at->second = Tape::twin_of(tape.twin(v));
    return at->second;
  });
  const std::vector<Argument>& schema = node.op->schema().arguments;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_default = node.uses.empty() && args[i].is_none() && is_device_argument(schema[i]);
    if (is_default || (args[i].is_device() && args[i].to_device().type != DeviceType::meta))
      args[i] = Value(Device{DeviceType::meta});
  }
  results.resize(node.op->schema().returns.size());
  PointwiseProbe seen;
  {
    const Listening listening(seen);
    node.op->call_boxed(args.data(), results.data());
  }
  node.pointwise = nullptr;
  const bool in_table = node.op->info.entry && !node.op->info.entry->pointwise().empty();
  if (seen.calls != 1 || !in_table) return;
  auto call = std::make_unique<PointwiseCall>();
  call->loops = seen.rule->loops;
  call->common = seen.common;
  call->result = seen.result;
  for (int i = 0; i < call->loops->inputs; ++i) {
    const auto found = std::find_if(twins.begin(), twins.end(),
                                    [&](const auto& twin) { return twin.second.impl() == seen.inputs[i]; });
    if (found == twins.end()) return;
    call->inputs.push_back(found->first);
  }
  call->params.assign(seen.params, seen.params + call->loops->params);
  node.pointwise = std::move(call);
}

bool probe(const Tape& tape, TapeNode& node, std::vector<Value>& results) {
  MetaTwins twins;
  try {
    call_on_meta(tape, node, twins, results);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace sconce::executor
