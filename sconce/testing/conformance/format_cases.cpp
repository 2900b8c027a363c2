#include "sconce/testing/conformance/format_cases.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "sconce/ir/function.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/conformance/script_call.h"

namespace sconce::testing {
namespace {

std::string stem_of(const CaseFile& file) {
  return file.path().substr(0, file.path().size() - std::string_view(".safetensors").size());
}

// The names of the state dict in their order, each with its tensor, in both files.
CaseResult compare_state(const CaseFile& file, const Json& state) {
  for (const char* suffix : {".pth", ".legacy.pth"}) {
    const std::string path = stem_of(file) + suffix;
    const NamedTensors got = read_tensors(path).tensors;
    if (got.size() != state.size()) return CaseResult::failure(path + ": another number of tensors");
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string name = state[i][0];
      if (got[i].first != name) return CaseResult::failure(path + ": '" + got[i].first + "' stands for '" + name + "'");
      const Value expected = read_value(state[i][1], file.tensors());
      if (Difference d = compare_nested(got[i].second, expected)) {
        return CaseResult::failure(path + ": " + name + ": " + *d);
      }
    }
  }
  return CaseResult::pass();
}

class FormatCases final : public CaseKind {
 public:
  std::string_view name() const override { return "formats"; }
  bool matches(const CaseFile& file) const override { return find_member(file.at(0), "state_dict") != nullptr; }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    try {
      if (const Json* state = find_member(file.at(index), "state_dict")) return compare_state(file, *state);
      const Archive archive = load_lite_archive(stem_of(file) + ".ptl");
      ir::Function* forward = ir::find_method(archive.module.to_object().type(), "forward");
      SCONCE_CHECK(forward, "{}: there is no method 'forward'", file.path());
      for (size_t i = 1; i < index; ++i) repeat_script_call(*forward, archive.module, file, file.at(i));
      return run_script_call(*forward, archive.module, file, file.at(index));
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& format_cases() {
  static const FormatCases kind;
  return kind;
}

}  // namespace sconce::testing
