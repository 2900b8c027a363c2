// The kinds of case files, in the order in which a file is tried for them.
#include <array>

#include <nlohmann/json.hpp>

#include "sconce/testing/conformance/archive_cases.h"
#include "sconce/testing/conformance/case_kind.h"
#include "sconce/testing/conformance/error_cases.h"
#include "sconce/testing/conformance/exported_cases.h"
#include "sconce/testing/conformance/format_cases.h"
#include "sconce/testing/conformance/gradgrad_cases.h"
#include "sconce/testing/conformance/module_cases.h"
#include "sconce/testing/conformance/operator_cases.h"
#include "sconce/testing/conformance/optim_cases.h"
#include "sconce/testing/conformance/program_cases.h"

namespace sconce::testing {
namespace {

bool has(const Json& json, const char* key) { return json.contains(key); }

// A kind that cannot be run yet: its cases are counted and skipped.
class UnsupportedKind final : public CaseKind {
 public:
  using Predicate = bool (*)(const CaseFile& file, const Json& first);
  UnsupportedKind(std::string_view name, Predicate predicate) : name_(name), predicate_(predicate) {}
  std::string_view name() const override { return name_; }
  bool matches(const CaseFile& file) const override { return predicate_(file, file.at(0)); }
  bool is_case(const Json& json) const override {
    const bool description = has(json, "graph") || has(json, "how") || has(json, "schema");
    return !description || has(json, "inputs");
  }
  std::string subject(const Json& json) const override {
    const Json* op = find_member(json, "op");
    return op && op->is_string() ? op->get<std::string>() : "";
  }
  CaseResult run(const CaseFile&, size_t, const RunOptions&) const override {
    return CaseResult::skip("kind not supported yet: " + std::string(name_));
  }

 private:
  std::string_view name_;
  Predicate predicate_;
};

}  // namespace

const CaseKind* kind_of(const CaseFile& file, const RunOptions& options) {
  static const UnsupportedKind kUnsupported[] = {
      {"facts", [](const CaseFile&, const Json& c) { return has(c, "expr") || has(c, "str"); }},
  };
  if (file.size() == 0) return nullptr;
  if ((options.archives || options.lite) && archive_cases().matches(file)) return &archive_cases();
  for (const CaseKind* kind :
       {&exported_cases(), &operator_cases(), &script_cases(), &program_cases(), &jit_suite_cases(), &error_cases(),
        &module_cases(), &format_cases(), &gradgrad_cases(), &optim_cases(), &archive_cases()}) {
    if (kind->matches(file)) return kind;
  }
  for (const CaseKind& kind : kUnsupported) {
    if (kind.matches(file)) return &kind;
  }
  return nullptr;
}

}  // namespace sconce::testing
