#include "sconce/testing/conformance/exported_cases.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/script_call.h"

namespace sconce::testing {
namespace {

constexpr std::string_view kSuffix = ".safetensors", kProgram = ".pt2";

std::string program_of(const CaseFile& file) { return file.path().substr(0, file.path().size() - kSuffix.size()); }

std::vector<std::string> programs_of(const CaseFile& file) {
  std::string path = program_of(file);
  const std::string core = path.substr(0, path.size() - kProgram.size()) + ".core.pt2";
  std::vector<std::string> paths{std::move(path)};
  if (std::filesystem::exists(core)) paths.push_back(core);
  return paths;
}

// Is `part` in a message? Nothing when it is.
Difference compare_message(std::string_view message, const Json& part) {
  const std::string expected = part.get<std::string>();
  if (message.find(expected) != message.npos) return {};
  return fmt::format("fails with\n{}\nexpected\n{}", message, expected);
}

class OneProgram {
 public:
  OneProgram(const std::string& path, const CaseFile& file) : file_(file), archive_(load_exported_program(path)) {}

  Difference run(const Json& json) {
    std::vector<Value> inputs;
    const Json* error = find_member(json, "error");
    try {
      const Value got = call(json, inputs);
      if (error) return fmt::format("returns {}, expected an error", got.repr());
      if (Difference d = compare_nested(got, read(json.at("out"), returned()))) return d;
    } catch (const Error& failure) {
      if (!error) return failure.what();
      return compare_message(failure.what(), *error);
    }
    if (const Json* after = find_member(json, "after")) {
      for (size_t i = 0; i < after->size(); ++i) {
        if (Difference d = compare_nested(inputs[i], read(after->at(i), inputs[i].type()))) {
          return fmt::format("input {} after the call: {}", i, *d);
        }
      }
    }
    return compare_state(json);
  }

  // For the state it leaves behind; its result or error belongs to another case.
  void repeat(const Json& json) {
    std::vector<Value> inputs;
    try {
      call(json, inputs);
    } catch (const Error&) {
    }
  }

 private:
  Value read(const Json& json, TypePtr type) const { return read_value(json, file_.tensors(), type); }
  jit::Module module() const { return jit::Module(archive_.unit, archive_.module); }
  const Schema& schema() const { return module().get_method("forward").schema(); }
  TypePtr returned() const { return schema().returns[0].type; }

  Value call(const Json& json, std::vector<Value>& inputs) {
    const Schema& s = schema();
    jit::NamedValues kwargs;
    for (const Json& input : json.at("inputs")) {
      const size_t at = inputs.size() + 1;
      inputs.push_back(read(input, at < s.arguments.size() ? s.arguments[at].type : nullptr));
    }
    if (const Json* named = find_member(json, "kwargs")) {
      for (const auto& [name, value] : named->items()) {
        const std::optional<size_t> at = s.find_argument(name);
        kwargs.emplace_back(name, read(value, at ? s.arguments[*at].type : nullptr));
      }
    }
    if (const Json* seed = find_member(json, "seed")) manual_seed(seed->get<uint64_t>());
    return module().call(inputs, kwargs);
  }

  Difference compare_state(const Json& json) const {
    const Json* state = find_member(json, "state");
    if (!state) return {};
    const jit::NamedTensors got = module().state_dict();
    if (got.size() != state->size()) return fmt::format("the state has {} tensors, not {}", got.size(), state->size());
    for (const auto& [name, t] : got) {
      const Json* expected = find_member(*state, name.c_str());
      if (!expected) return fmt::format("the state has a tensor '{}'", name);
      if (Difference d = compare_nested(t, read(*expected, tensor_type()))) return fmt::format("'{}': {}", name, *d);
    }
    return {};
  }

  const CaseFile& file_;
  Archive archive_;
};

class ExportedCases final : public CaseKind {
 public:
  std::string_view name() const override { return "exported programs"; }
  bool matches(const CaseFile& file) const override {
    return file.path().ends_with(kSuffix) && program_of(file).ends_with(kProgram);
  }
  bool is_case(const Json& json) const override { return json.contains("inputs") || json.contains("load_error"); }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    for (const std::string& path : programs_of(file)) {
      try {
        if (Difference d = run_one(path, file, index)) {
          return CaseResult::failure(std::filesystem::path(path).filename().string() + ": " + *d);
        }
      } catch (const std::exception& error) {
        return CaseResult::failure(error.what());
      }
    }
    return CaseResult::pass();
  }

 private:
  Difference run_one(const std::string& path, const CaseFile& file, size_t index) const {
    if (const Json* error = find_member(file.at(index), "load_error")) {
      try {
        load_exported_program(path);
      } catch (const Error& failure) {
        return compare_message(failure.what(), *error);
      }
      return "loads, expected an error";
    }
    OneProgram program(path, file);
    for (size_t i = 0; i < index; ++i) {
      if (is_case(file.at(i))) program.repeat(file.at(i));
    }
    return program.run(file.at(index));
  }
};

}  // namespace

const CaseKind& exported_cases() {
  static const ExportedCases kind;
  return kind;
}

}  // namespace sconce::testing
