#include "files/run_device.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/commands.h"
#include "files/map_tensors.h"
#include "files/model_file.h"
#include "graphs/operator_uses.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/copy.h"

namespace sconce::cli {
namespace {

Tensor moved(const Tensor& t, Device device) {
  if (!t.defined() || t.device() == device) return t;
  const Tensor there = empty_tensor(t.sizes(), t.dtype(), device);
  copy_tensor(there, t);
  return there;
}

// The operators that a call is certain to reach and that have no kernel on the device: itself, or those that its body
// or decomposition calls outside of branches and loops.
class MissingKernels {
 public:
  explicit MissingKernels(DeviceType type) : type_(type) {}

  void add(const Op& op) {
    if (!op.has_kernel(Key::cpu) || !seen_.insert(&op).second) return;
    if (!runs_on(op, type_)) {
      names_.push_back(op.qualified_name());
      return;
    }
    passes::OpGraphs* graphs = passes::op_graphs();
    const bool is_decomposed =
        op.kernels[static_cast<int>(backend_key(type_))] != op.kernels[static_cast<int>(Key::cpu)];
    const ir::Graph* graph = op.has(Trait::compound) ? graphs->body(op)
                             : is_decomposed         ? graphs->decomposition(op)
                                                     : nullptr;
    if (!graph) return;
    for (const ir::Node* node : graph->block()->nodes()) {
      if (node->op()) add(*node->op());
    }
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  DeviceType type_;
  std::set<const Op*> seen_;
  std::vector<std::string> names_;
};

// All of them at once, so that nobody finds them one by one.
void check_operators(const ModelFile& model, Device device) {
  MissingKernels missing(device.type);
  for (const OperatorUse& use : operators_in_unit(*model.unit())) {
    if (const Op* op = find_op(use.name)) missing.add(*op);
  }
  if (missing.names().empty()) return;
  fail("{}: no kernel for device {} of {}", model.file(), to_string(device),
       fmt::format("{}", fmt::join(missing.names(), ", ")));
}

}  // namespace

void add_device_option(App command, std::string& device) {
  command.add_option("--device", device, "Where the program runs, with its inputs: cpu, cuda or cuda:N; cpu by default")
      .type_name("NAME");
}

Device chosen_device(const std::string& text) {
  if (text.empty()) return Device();
  const Device device = [&] {
    try {
      return parse_device(text);
    } catch (const Error& e) {
      throw UsageError(fmt::format("--device: {}", e.message()));
    }
  }();
  if (device.type != DeviceType::cpu && device.type != DeviceType::cuda)
    throw UsageError(fmt::format("--device takes cpu or cuda, got '{}'", text));
  if (device.type == DeviceType::cpu) return Device();
  return resolve_device(device);
}

void move_to_device(const ModelFile& model, CallValues& inputs, Device device) {
  if (device.type == DeviceType::cpu) return;
  check_operators(model, device);
  if (model.module()) model.module()->to(device);
  move_inputs(inputs, device);
}

void move_inputs(CallValues& inputs, Device device) {
  const auto move = [&](const Tensor& t) { return moved(t, device); };
  for (Value& v : inputs.args) v = map_tensors(v, move);
  for (auto& [name, v] : inputs.kwargs) v = map_tensors(v, move);
}

Device device_of_program(const ModelFile& model, const std::string& text, Device chosen) {
  if (model.kind() != FileKind::compiled || model.device() == chosen) return chosen;
  if (text.empty()) return model.device();
  throw UsageError(
      fmt::format("{}: is compiled for {}, and --device asks for {}; sconce compile --device makes a file "
                  "for it",
                  model.file(), to_string(model.device()), to_string(chosen)));
}

void wait_for_device(Device device) {
  if (device.type != DeviceType::cpu) backend_of(device).synchronize(device);
}

}  // namespace sconce::cli
