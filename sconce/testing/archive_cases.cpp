#include "sconce/testing/archive_cases.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "sconce/serialization/archive.h"
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
      const Archive archive = load_archive(archive_of(file));
      ir::Function* forward = ir::find_method(archive.module.to_object().type(), "forward");
      SCONCE_CHECK(forward, "the archive has no forward");
      for (size_t i = 0; i < index; ++i) {
        if (is_case(file.at(i))) repeat_script_call(*forward, archive.module, file, file.at(i));
      }
      return run_script_call(*forward, archive.module, file, file.at(index));
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
