#include "sconce/testing/conformance/module_cases.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/frontend/script/program/program.h"
#include "sconce/passes/freeze/freeze_module.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/module_state.h"
#include "sconce/testing/conformance/script_call.h"
#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

using Keywords = std::vector<std::pair<std::string, Value>>;

Value build(script::Program& program, const Json& json, const SafetensorsFile& tensors) {
  std::vector<Value> args;
  Keywords kwargs;
  for (const Json& arg : json.at("args")) args.push_back(read_value(arg, tensors));
  for (const auto& [name, arg] : json.at("kwargs").items()) kwargs.emplace_back(name, read_value(arg, tensors));
  manual_seed(json.at("init_seed").get<uint64_t>());
  return program.build_module("torch.nn." + json.at("module").get<std::string>(), args, kwargs);
}

// The parameters and buffers that a new module has. Normal draws differ in the last places (compare_rules.cpp).
Difference compare_state(const Value& module, const Json& json, const SafetensorsFile& tensors) {
  const std::map<std::string, Tensor> state = module_state(module);
  const Json& recorded = json.at("state_dict");
  for (const Json& entry : recorded) {
    const std::string name = entry.at(0).get<std::string>();
    const auto own = state.find(name);
    if (own == state.end()) return fmt::format("has no parameter or buffer '{}'", name);
    const Tensor expected = read_value(entry.at(1), tensors).to_tensor();
    Difference d = compare_geometry(own->second, expected, false);
    if (!d) d = compare_elements(own->second, expected, Closeness::close);
    if (d) return fmt::format("'{}' begins otherwise: {}", name, *d);
  }
  if (state.size() != recorded.size()) {
    return fmt::format("has {} parameters and buffers, expected {}", state.size(), recorded.size());
  }
  return {};
}

// forward, or the first of several bodies.
ir::Function& forward_of(const Value& module) {
  const TypePtr type = module.to_object().type();
  ir::Function* forward = ir::find_method(type, "forward");
  if (forward == nullptr) forward = ir::find_method(type, "forward__0");
  SCONCE_CHECK(forward != nullptr, "{} has no forward", type->name());
  return *forward;
}

// Numbers for a Tensor (CTCLoss is called with tuples of lengths, which scripts do not take) become one.
Value read_input(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  const Json* items = json.is_object() ? find_member(json, "tuple") : nullptr;
  if (items == nullptr || wanted == nullptr || !wanted->is(TypeKind::tensor)) return read_value(json, tensors, wanted);
  Tensor result = empty_tensor(Dims{static_cast<int64_t>(items->size())}, DType::int64);
  for (size_t i = 0; i < items->size(); ++i) result.data<int64_t>()[i] = items->at(i).get<int64_t>();
  return result;
}

Value call(ir::Function& forward, const Value& module, const Json& json, const SafetensorsFile& tensors) {
  const Schema& schema = forward.schema();
  std::vector<Value> args{module};
  Keywords kwargs;
  for (const Json& input : json.at("inputs")) {
    const size_t i = args.size();
    args.push_back(read_input(input, tensors, i < schema.arguments.size() ? schema.arguments[i].type : nullptr));
  }
  for (const auto& [name, input] : json.at("input_kwargs").items()) {
    const auto at = schema.find_argument(name);
    kwargs.emplace_back(name, read_input(input, tensors, at ? schema.arguments[*at].type : nullptr));
  }
  std::vector<Value> bound = runtime::bind_call(forward, args, kwargs);
  manual_seed(json.at("call_seed").get<uint64_t>());
  return runtime::run(forward, bound);
}

// A module in eval mode gives the same when it is frozen.
Difference compare_frozen(script::Program& program, const Value& module, const Value& expected, const Json& json,
                          const SafetensorsFile& tensors) {
  if (!ir::find_method(module.to_object().type(), "forward")) return {};
  const Value frozen = passes::freeze(program.unit(), module);
  const Value got = call(forward_of(frozen), frozen, json, tensors);
  if (Difference d = compare_nested(got, expected)) return fmt::format("frozen: {}", *d);
  return {};
}

class ModuleCases final : public CaseKind {
 public:
  std::string_view name() const override { return "modules"; }
  bool matches(const CaseFile& file) const override {
    return file.at(0).contains("module") && file.at(0).contains("state_dict");
  }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    const Json& json = file.at(index);
    try {
      script::Program program("");
      const Value module = build(program, json, file.tensors());
      if (Difference d = compare_state(module, json, file.tensors())) return CaseResult::failure(*d);
      for (const Json& entry : json.at("state_dict")) {
        write_state(module, entry.at(0).get<std::string>(), read_value(entry.at(1), file.tensors()).to_tensor());
      }
      const bool training = json.at("training").get<bool>();
      set_training(module, training);
      ir::Function& forward = forward_of(module);
      const Value got = call(forward, module, json, file.tensors());
      const Value expected = read_value(json.at("out"), file.tensors(), forward.schema().returns.at(0).type);
      Difference d = compare_nested(got, expected);
      if (!d && !training) d = compare_frozen(program, module, expected, json, file.tensors());
      return d ? CaseResult::failure(*d) : CaseResult::pass();
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& module_cases() {
  static const ModuleCases kind;
  return kind;
}

}  // namespace sconce::testing
