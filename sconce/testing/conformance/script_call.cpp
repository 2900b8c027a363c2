#include "sconce/testing/conformance/script_call.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/compare/compare_rules.h"
#include "sconce/testing/compare/script_error.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

std::vector<Value> read_inputs(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                               const Json& json) {
  const Schema& schema = function.schema();
  std::vector<Value> args;
  if (self) args.push_back(*self);
  for (const Json& input : json.at("inputs")) {
    const TypePtr wanted = args.size() < schema.arguments.size() ? schema.arguments[args.size()].type : nullptr;
    args.push_back(read_value(input, file.tensors(), wanted));
  }
  return args;
}

Value call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file, const Json& json,
           const ScriptCall& how) {
  std::vector<Value> args = runtime::bind_call(function, read_inputs(function, self, file, json));
  if (const Json* seed = find_member(file.at(0), "seed")) manual_seed(seed->get<uint64_t>());
  return how ? how(std::move(args)) : runtime::run(function, args);
}

Difference compare_items(const std::vector<Value>& got, const std::vector<Value>& expected, std::string_view what,
                         TensorComparison tensors) {
  if (got.size() != expected.size()) return fmt::format("{} of {}, expected {}", what, got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (Difference d = compare_nested(got[i], expected[i], tensors)) return fmt::format("{} item {}: {}", what, i, *d);
  }
  return {};
}

std::vector<Value> items_of(const Value& value) {
  return value.is_tuple() ? value.to_tuple().items : value.to_list().values();
}

Difference compare_dicts(const Dict& got, const Dict& expected, TensorComparison tensors) {
  std::vector<Value> keys[2], values[2];
  got.for_each([&](const Value& k, const Value& v) { keys[0].push_back(k), values[0].push_back(v); });
  expected.for_each([&](const Value& k, const Value& v) { keys[1].push_back(k), values[1].push_back(v); });
  if (Difference d = compare_items(keys[0], keys[1], "keys of a dict", tensors)) return d;
  return compare_items(values[0], values[1], "values of a dict", tensors);
}

// Quantised results may be one step apart: where they are, `got` with the expected element.
Value without_steps(const Value& got, const Value& expected, double quantum) {
  const auto same_list = [&](const std::vector<Value>& a, const std::vector<Value>& b) {
    std::vector<Value> out = a;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) out[i] = without_steps(a[i], b[i], quantum);
    return out;
  };
  if (got.is_tuple() && expected.is_tuple())
    return make_ref<Tuple>(same_list(items_of(got), items_of(expected)), got.to_tuple().named_type);
  if (got.is_list() && expected.is_list()) {
    auto list = make_ref<List>(got.to_list().element_type());
    for (Value& item : same_list(items_of(got), items_of(expected))) list->append(std::move(item));
    return list;
  }
  if (!got.is_tensor() || !expected.is_tensor()) return got;
  const Tensor &a = got.to_tensor(), &b = expected.to_tensor();
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype() || a.dtype() == DType::bool_) return got;
  const Tensor near = le(abs(sub(to(a, DType::float64), to(b, DType::float64))), quantum * (1 + 1e-5));
  return where(near, b, a);
}

Difference compare_results(const CaseFile& file, const Json& json, const Value& got, const Value& expected) {
  const Json* op = find_member(json, "op");
  const Rule rule = op && op->is_string() ? rule_for(op->get<std::string>(), {}) : Rule::close;
  if (const Json* quantum = find_member(json, "quantum"))
    return compare_nested(without_steps(got, expected, quantum->get<double>()), expected);
  if (rule < Rule::svd || !got.is_tuple() || !expected.is_tuple()) return compare_nested(got, expected);
  const std::vector<Value> self{read_value(json.at("inputs").at(0), file.tensors())};
  return compare_outputs(rule, self, items_of(got), items_of(expected), false);
}

}  // namespace

Difference compare_accumulated(const Tensor& got, const Tensor& expected) {
  return compare_elements(got, expected, Closeness::accumulated);
}

Difference compare_drawn(const Tensor& got, const Tensor& expected) {
  return compare_distribution(got, expected, Draws::dependent);
}

Difference compare_nested(const Value& got, const Value& expected, TensorComparison tensors) {
  if (got.is_tensor() && expected.is_tensor()) {
    if (Difference d = compare_geometry(got.to_tensor(), expected.to_tensor(), false)) return d;
    return tensors(got.to_tensor(), expected.to_tensor());
  }
  if ((got.is_tuple() && expected.is_tuple()) || (got.is_list() && expected.is_list())) {
    return compare_items(items_of(got), items_of(expected), got.is_tuple() ? "tuple" : "list", tensors);
  }
  if (got.is_dict() && expected.is_dict()) return compare_dicts(got.to_dict(), expected.to_dict(), tensors);
  return compare_plain(got, expected);
}

CaseResult run_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                           const Json& json, const ScriptCall& how) {
  const Json* error = find_member(json, "error");
  if (plans_are_compared()) {
    const auto arguments = [&](const std::optional<Value>& own) {
      std::vector<Value> args = runtime::bind_call(function, read_inputs(function, own, file, json));
      manual_seed(0);
      return args;
    };
    if (Difference d = compare_planned_calls(function, self, arguments)) return CaseResult::failure(*d);
  }
  try {
    const Value got = call(function, self, file, json, how);
    if (error != nullptr) return CaseResult::failure(fmt::format("returns {}, expected an error", got.repr()));
    const TypePtr type = function.schema().returns.empty() ? nullptr : function.schema().returns[0].type;
    const Value expected = read_value(json.at("out"), file.tensors(), type);
    if (Difference d = compare_results(file, json, got, expected)) return CaseResult::failure(*d);
    return CaseResult::pass();
  } catch (const runtime::ScriptError& failure) {
    if (error == nullptr) return CaseResult::failure(failure.what());
    if (Difference d = compare_error(failure, parse_run_error(error->get<std::string>()))) {
      return CaseResult::failure(*d);
    }
    return CaseResult::pass();
  }
}

void repeat_script_call(ir::Function& function, const std::optional<Value>& self, const CaseFile& file,
                        const Json& json, const ScriptCall& how) {
  try {
    call(function, self, file, json, how);
  } catch (const runtime::ScriptError&) {
  }
}

}  // namespace sconce::testing
