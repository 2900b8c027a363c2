#include "sconce/testing/conformance/recorded_call.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

// The numbers of the tensors inside of a value: t3 is 3.
void collect_numbers(const Json& json, std::vector<int64_t>& numbers) {
  if (const Json* name = json.is_object() ? find_member(json, "t") : nullptr; name && name->is_string()) {
    numbers.push_back(std::stoll(name->get<std::string>().substr(1)));
  } else if (json.is_structured()) {
    for (const Json& item : json) collect_numbers(item, numbers);
  }
}

// Reads values and remembers their tensors by number: a recording counts them in the order of its arguments, which JSON
// does not keep for named ones.
class Reader {
 public:
  Reader(const SafetensorsFile& tensors, bool strided) : tensors_(tensors), strided_(strided) {}

  Value read(const Json& json, TypePtr type) {
    Value value = read_value(json, tensors_, type);
    if (strided_) value = to_strided(value);
    std::vector<int64_t> numbers;
    collect_numbers(json, numbers);
    size_t next = 0;
    for (const Value& v : flatten({value})) {
      if (v.is_tensor() && next < numbers.size()) read_.emplace_back(numbers[next++], v.to_tensor());
    }
    return value;
  }

  std::vector<Tensor> in_order() {
    std::sort(read_.begin(), read_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Tensor> result;
    for (const auto& [number, tensor] : read_) result.push_back(tensor);
    return result;
  }

 private:
  const SafetensorsFile& tensors_;
  const bool strided_;
  std::vector<std::pair<int64_t, Tensor>> read_;
};

RecordedCall bind(const Op& op, const Json& json, const SafetensorsFile& tensors, bool strided) {
  const Schema& schema = op.schema();
  std::vector<Value> args;
  std::vector<NamedValue> kwargs;
  Reader reader(tensors, strided);
  const Json &positional = json.at("args"), &named = json.at("kwargs");
  for (size_t i = 0; i < positional.size(); ++i) {
    args.push_back(reader.read(positional[i], i < schema.arguments.size() ? schema.arguments[i].type : nullptr));
  }
  for (const auto& [name, value] : named.items()) {
    const auto at = schema.find_argument(name);
    kwargs.emplace_back(name, reader.read(value, at ? schema.arguments[*at].type : nullptr));
  }
  return {&op, bind_arguments(schema, args, kwargs), reader.in_order()};
}

}  // namespace

bool stays_on_cpu(const Argument& argument) { return argument.name == "tensor_indices_or_sections"; }

bool is_call(const Json& json) {
  const auto has = [&](const char* key, auto is) {
    const Json* member = find_member(json, key);
    return member && (member->*is)();
  };
  return has("op", &Json::is_string) && has("args", &Json::is_array) && has("kwargs", &Json::is_object);
}

RecordedCall bind_call(const Op& op, const Json& json, const SafetensorsFile& tensors, bool strided) {
  try {
    return bind(op, json, tensors, strided);
  } catch (const Error&) {
    for (const Op* other : find_overloads(op.schema().name)) {
      if (other == &op) continue;
      try {
        return bind(*other, json, tensors, strided);
      } catch (const Error&) {
      }
    }
    throw;
  }
}

RecordedCall on_device(const RecordedCall& call, Device device) {
  RecordedCall moved{call.op, {}, {}};
  std::vector<std::pair<Tensor, Tensor>> pairs;  // where each tensor went
  const Schema& schema = call.op->schema();
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (stays_on_cpu(argument)) {
      moved.args.push_back(call.args[i]);
      continue;
    }
    const TypePtr type = argument.type;
    const bool names_device =
        type->is(TypeKind::device) || (type->is(TypeKind::optional) && type->element()->is(TypeKind::device));
    moved.args.push_back(names_device ? Value(device) : to_device(call.args[i], device));
    const std::vector<Value> from = flatten({call.args[i]}), to = flatten({moved.args[i]});
    for (size_t k = 0; k < from.size(); ++k) {
      if (from[k].is_tensor()) pairs.emplace_back(from[k].to_tensor(), to[k].to_tensor());
    }
  }
  for (const Tensor& t : call.tensors) {
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first.is_same(t); });
    moved.tensors.push_back(found == pairs.end() ? t : found->second);
  }
  return moved;
}

std::vector<Value> invoke(const RecordedCall& call) {
  std::vector<Value> args = call.args;  // a kernel may move from them
  std::vector<Value> returns(call.op->schema().returns.size());
  call.op->call_boxed(args.data(), returns.data());
  return returns;
}

}  // namespace sconce::testing
