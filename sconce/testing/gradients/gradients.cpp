#include "sconce/testing/gradients/gradients.h"

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/phases.h"

namespace sconce::testing {
namespace {

bool is_all_zeros(const Tensor& t) {
  const Tensor zeros = empty_tensor(t.sizes(), t.dtype());
  if (t.numel() > 0) std::memset(zeros.data(), 0, static_cast<size_t>(t.numel()) * t.item_size());
  return !compare_elements(t, zeros, Closeness::exact);
}

// Gradients are compared as the outputs are; those of a decomposition are those of linear algebra.
Closeness closeness_of(Rule rule) {
  switch (rule) {
    case Rule::close:
    case Rule::geometry:
    case Rule::exact:
      return Closeness::close;
    default:
      return Closeness::accumulated;
  }
}

Difference compare_gradient(Rule rule, const Tensor& got, const Tensor& expected) {
  if (!got.defined() || !expected.defined()) {
    if (expected.defined()) return "there is none, expected one";
    if (!got.defined() || is_all_zeros(got)) return {};
    return "there is one, expected none";
  }
  if (Difference d = compare_geometry(got, expected, false)) return d;
  if (rule == Rule::distribution) return compare_distribution(got, expected, Draws::dependent);
  return compare_elements(got, expected, closeness_of(rule));
}

std::vector<Tensor> tensors_of(const std::vector<Value>& values) {
  std::vector<Tensor> result;
  for (const Value& v : flatten(values)) {
    if (v.is_tensor()) result.push_back(v.to_tensor());
  }
  return result;
}

}  // namespace

std::vector<size_t> read_places(const Json& json) {
  SCONCE_CHECK(json.is_array(), "a list of places is expected, got {}", json.dump());
  std::vector<size_t> places;
  for (const Json& item : json) {
    SCONCE_CHECK(item.is_number_unsigned(), "a place is expected, got {}", item.dump());
    places.push_back(item.get<size_t>());
  }
  return places;
}

std::vector<Tensor> read_tensors(const Json& json, const SafetensorsFile& tensors) {
  SCONCE_CHECK(json.is_array(), "a list of tensors is expected, got {}", json.dump());
  std::vector<Tensor> result;
  for (const Json& item : json) result.push_back(read_value(item, tensors).to_optional_tensor());
  return result;
}

std::vector<Tensor> require_grads(const RecordedCall& call, const std::vector<size_t>& places) {
  std::vector<Tensor> leaves;
  for (const size_t at : places) {
    SCONCE_CHECK(at < call.tensors.size(), "there is no tensor {} among {} of the arguments", at, call.tensors.size());
    autograd::set_requires_grad(call.tensors[at], true);
    leaves.push_back(call.tensors[at]);
  }
  return leaves;
}

Difference compare_gradients(Rule rule, const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                             std::string_view what) {
  if (got.size() != expected.size()) return fmt::format("{}: {}, expected {}", what, got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (Difference d = compare_gradient(rule, got[i], expected[i])) return fmt::format("{} {}: {}", what, i, *d);
  }
  return {};
}

Difference check_gradients(const RecordedCall& call, const Json& grad, const SafetensorsFile& tensors,
                           const std::vector<Value>& expected, std::optional<size_t> only, Device device) {
  const Rule rule = rule_for(call.op->schema().name, call.args);
  std::vector<size_t> inputs = read_places(grad.at("inputs"));
  std::vector<Tensor> wanted = read_tensors(grad.at("grads"), tensors);
  if (only) {
    inputs = {inputs.at(*only)};
    wanted = {wanted.at(*only)};
  }
  const std::vector<Tensor> leaves = require_grads(call, inputs);
  const std::vector<Tensor> all = tensors_of(invoke(call)), recorded = tensors_of(expected);
  const std::vector<Tensor> given = read_tensors(grad.at("cotangents"), tensors);
  const std::vector<size_t> places = read_places(grad.at("outputs"));
  if (places.size() != given.size()) return fmt::format("{} outputs and {} cotangents", places.size(), given.size());
  std::vector<Tensor> outputs, cotangents;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t at = places[i];
    if (at >= all.size()) return fmt::format("there is no output {} for a gradient", at);
    if (!all[at].requires_grad()) {
      if (only) continue;  // another input made it require grad
      return fmt::format("output {} does not require grad", at);
    }
    outputs.push_back(all[at]);
    const Tensor cotangent = at < recorded.size()
                                 ? align_cotangent(rule, at, given[i], to_device(all[at], Device()), recorded[at])
                                 : given[i];
    cotangents.push_back(to_device(cotangent, all[at].device()));
  }
  autograd::GradOptions options;
  options.allow_unused = true;
  std::vector<Tensor> grads =
      outputs.empty() ? std::vector<Tensor>(leaves.size()) : autograd::grad(outputs, leaves, cotangents, options);
  for (Tensor& grad : grads) {
    if (grad.defined() && grad.device() != device) return fmt::format("a gradient is on {}", to_string(grad.device()));
    grad = to_device(grad, Device());
  }
  return compare_gradients(rule, grads, wanted, only ? fmt::format("alone, input {}: gradient", *only) : "gradient");
}

}  // namespace sconce::testing
