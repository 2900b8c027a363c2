#include "sconce/testing/conformance/error_cases.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/frontend/script/program/program.h"
#include "sconce/testing/compare/script_error.h"

namespace sconce::testing {
namespace {

class ErrorCases final : public CaseKind {
 public:
  std::string_view name() const override { return "errors"; }
  bool matches(const CaseFile& file) const override {
    return file.at(0).contains("source") && file.at(0).contains("error");
  }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json&) const override { return ""; }

  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    const Json& json = file.at(index);
    const Json& error = json.at("error");
    try {
      script::ProgramOptions options;
      options.dialect = syntax::Dialect::archive;  // recorded from CompilationUnit
      const script::Program program(json.at("source").get<std::string>(), options);
      if (error.is_null()) return CaseResult::pass();
      return CaseResult::failure(fmt::format("is taken, expected: {}", error.get<std::string>()));
    } catch (const CompileError& got) {
      if (error.is_null()) return CaseResult::failure(fmt::format("is refused: {}", got.what()));
      if (Difference d = compare_error(got, parse_compile_error(error.get<std::string>()))) {
        return CaseResult::failure(*d);
      }
      return CaseResult::pass();
    } catch (const std::exception& got) {
      return CaseResult::failure(fmt::format("is refused without a place: {}", got.what()));
    }
  }
};

}  // namespace

const CaseKind& error_cases() {
  static const ErrorCases kind;
  return kind;
}

}  // namespace sconce::testing
