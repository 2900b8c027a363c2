#include "files/run_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "files/map_tensors.h"
#include "files/model_file.h"
#include "graphs/operator_uses.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/register_backend.h"
#include "sconce/dispatch/registry.h"
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

// All of them at once, so that nobody finds them one by one. Operators without tensors run anywhere.
void check_operators(const ModelFile& model, Device device) {
  std::vector<std::string> missing;
  for (const OperatorUse& use : operators_in_unit(*model.unit())) {
    const Op* op = find_op(use.name);
    if (op && op->has_kernel(Key::cpu) && !runs_on(*op, device.type)) missing.push_back(use.name);
  }
  if (missing.empty()) return;
  fail("{}: no kernel for device {} of {}", model.file(), to_string(device),
       fmt::format("{}", fmt::join(missing, ", ")));
}

}  // namespace

void add_device_option(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device, "Where the program runs, with its inputs: cpu, cuda or cuda:N; cpu by default")
      ->type_name("NAME");
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
  const auto move = [&](const Tensor& t) { return moved(t, device); };
  for (Value& v : inputs.args) v = map_tensors(v, move);
  for (auto& [name, v] : inputs.kwargs) v = map_tensors(v, move);
}

void wait_for_device(Device device) {
  if (device.type != DeviceType::cpu) backend_of(device).synchronize(device);
}

}  // namespace sconce::cli
