#include "sconce/testing/archive_cases.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "sconce/api/jit.h"
#include "sconce/ir/function.h"
#include "sconce/testing/script_call.h"

namespace sconce::testing {
namespace {

// model.safetensors goes with model.pt, model.pt.safetensors with model.pt.
std::string archive_of(const CaseFile& file) {
  const std::string stem = file.path().substr(0, file.path().size() - std::string_view(".safetensors").size());
  return std::filesystem::exists(stem + ".pt") ? stem + ".pt" : stem;
}

class ArchiveCases final : public CaseKind {
 public:
  std::string_view name() const override { return "archives"; }
  bool matches(const CaseFile& file) const override { return file.has_program(); }
  bool is_case(const Json& json) const override { return json.contains("inputs"); }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    try {
      const jit::Module module = jit::load(archive_of(file));
      ir::Function& forward = module.get_method("forward").function();
      // Calling a module runs its hooks, too.
      const ScriptCall call = [&](std::vector<Value> args) {
        args.erase(args.begin());
        return module.call(std::move(args));
      };
      for (size_t i = 0; i < index; ++i) {
        if (is_case(file.at(i))) repeat_script_call(forward, module.value(), file, file.at(i), call);
      }
      return run_script_call(forward, module.value(), file, file.at(index), call);
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
