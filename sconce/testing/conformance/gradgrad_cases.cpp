#include "sconce/testing/conformance/gradgrad_cases.h"

#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/autograd/backward.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/gradients/gradients.h"
#include "sconce/testing/phases.h"

namespace sconce::testing {
namespace {

constexpr const char* kLists[] = {"cotangents", "inputs", "grads", "differentiable_grads", "cotangents2", "grads2"};

bool is_well_formed(const Json& json) {
  for (const char* key : kLists) {
    const Json* member = find_member(json, key);
    if (!member || !member->is_array()) return false;
  }
  return is_call(json);
}

Difference check_second_gradients(const RecordedCall& call, const Json& json, const SafetensorsFile& tensors) {
  const Rule rule = rule_for(call.op->schema().name, call.args);
  const std::vector<Tensor> leaves = require_grads(call, read_places(json.at("inputs")));
  if (const Json* seed = find_member(json, "seed")) manual_seed(seed->get<uint64_t>());
  std::vector<Tensor> outputs;
  for (const Value& v : flatten(invoke(call))) {
    if (v.is_tensor() && v.to_tensor().requires_grad()) outputs.push_back(v.to_tensor());
  }
  const std::vector<Tensor> cotangents = read_tensors(json.at("cotangents"), tensors);
  if (outputs.size() != cotangents.size()) {
    return fmt::format("{} outputs require grad, expected {}", outputs.size(), cotangents.size());
  }
  autograd::GradOptions options;
  options.allow_unused = true;
  options.create_graph = true;
  options.retain_graph = true;
  const std::vector<Tensor> expected = read_tensors(json.at("grads"), tensors);
  std::vector<Tensor> grads;
  Difference first;  // for the cotangents as they are
  const bool fits = for_each_sign(rule, cotangents, [&](const std::vector<Tensor>& turned) {
    grads = autograd::grad(outputs, leaves, turned, options);
    const Difference d = compare_gradients(rule, grads, expected, "gradient");
    if (!first) first = d;
    return !d;
  });
  if (!fits) return first;

  std::vector<Tensor> differentiable;
  for (const size_t at : read_places(json.at("differentiable_grads"))) {
    if (at >= grads.size() || !grads[at].defined()) return fmt::format("there is no gradient {}", at);
    if (!grads[at].requires_grad()) return fmt::format("gradient {} does not require grad", at);
    differentiable.push_back(grads[at]);
  }
  options.create_graph = false;
  const std::vector<Tensor> second =
      autograd::grad(differentiable, leaves, read_tensors(json.at("cotangents2"), tensors), options);
  return compare_gradients(rule, second, read_tensors(json.at("grads2"), tensors), "second gradient");
}

class GradgradCases final : public CaseKind {
 public:
  std::string_view name() const override { return "gradgrad"; }
  bool matches(const CaseFile& file) const override { return is_well_formed(file.at(0)); }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json& json) const override {
    const Json* op = find_member(json, "op");
    return op && op->is_string() ? op->get<std::string>() : "";
  }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    const Json& json = file.at(index);
    if (!is_well_formed(json))
      return CaseResult::failure(fmt::format("the case needs a call and {}", fmt::join(kLists, ", ")));
    const Op* op = find_op(subject(json));
    if (op == nullptr) return CaseResult::skip(fmt::format("{}: {}", kOperatorMissing, subject(json)));
    try {
      const Difference d = check_second_gradients(bind_call(*op, json, file.tensors()), json, file.tensors());
      return d ? CaseResult::failure(*d) : CaseResult::pass();
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& gradgrad_cases() {
  static const GradgradCases kind;
  return kind;
}

}  // namespace sconce::testing
