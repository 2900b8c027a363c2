#include "sconce/testing/archive_cases.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/case_value.h"
#include "sconce/testing/script_call.h"

namespace sconce::testing {
namespace {

// model.safetensors goes with model.pt, model.pt.safetensors with model.pt.
std::string archive_of(const CaseFile& file) {
  const std::string stem = file.path().substr(0, file.path().size() - std::string_view(".safetensors").size());
  return std::filesystem::exists(stem + ".pt") ? stem + ".pt" : stem;
}

// Runs the cases of a file up to one, in a module of their own. `result` is what that one returned, if it did.
CaseResult replay(const CaseKind& kind, const CaseFile& file, size_t index, Value& result) {
  const jit::Module module = jit::load(archive_of(file));
  ir::Function& forward = module.get_method("forward").function();
  // Calling a module runs its hooks, too.
  const ScriptCall call = [&](std::vector<Value> args) {
    args.erase(args.begin());
    return result = module.call(std::move(args));
  };
  for (size_t i = 0; i < index; ++i) {
    if (kind.is_case(file.at(i))) repeat_script_call(forward, module.value(), file, file.at(i), call);
  }
  result = {};
  return run_script_call(forward, module.value(), file, file.at(index), call);
}

// Recorded without a seed, a program that draws random numbers has results like ours, not the same.
CaseResult compare_random(const CaseKind& kind, const CaseFile& file, size_t index, const CaseResult& before) {
  Value results[2];
  for (const uint64_t seed : {1, 2}) {
    manual_seed(seed);
    replay(kind, file, index, results[seed - 1]);
  }
  if (!compare_nested(results[0], results[1])) return before;
  const Value expected = read_value(file.at(index).at("out"), file.tensors());
  if (Difference d = compare_nested(results[0], expected, compare_drawn)) return CaseResult::failure(*d);
  return CaseResult::pass();
}

class ArchiveCases final : public CaseKind {
 public:
  std::string_view name() const override { return "archives"; }
  bool matches(const CaseFile& file) const override { return file.has_program(); }
  bool is_case(const Json& json) const override { return json.contains("inputs"); }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    try {
      Value result;
      const CaseResult compared = replay(*this, file, index, result);
      const bool seeded = find_member(file.at(0), "seed") != nullptr;
      if (compared.status != Status::failed || seeded || result.is_none()) return compared;
      return compare_random(*this, file, index, compared);
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& archive_cases() {
  static const ArchiveCases kind;
  return kind;
}

}  // namespace sconce::testing
