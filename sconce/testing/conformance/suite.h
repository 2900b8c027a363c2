// Conformance suite: runs all cases of some folders, each with its result.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "sconce/testing/conformance/case_kind.h"
#include "sconce/testing/conformance/case_tree.h"

namespace sconce::testing {

struct CaseRecord {
  std::string id;       // "ops/add.safetensors#3": folder, file, place in the file
  std::string subject;  // the operator's qualified name, if the case has one
  bool has_grad = false;
  CaseResult result;
};

struct FolderRecord {
  std::string label;
  std::vector<CaseRecord> cases;
};

struct SuiteOptions {
  RunOptions run;
  std::vector<std::string> ops;  // only these operators: "add", "add.Tensor", with or without namespace; empty: all
  int jobs = 1;
  std::chrono::milliseconds time_limit{60'000};             // for one case
  std::function<void(size_t done, size_t total)> progress;  // may be empty
};

// Whether `--op filter` selects this operator.
bool selects(std::string_view filter, std::string_view qualified_name);

// Runs everything, in child processes. A file that cannot be read is a failed case, one that holds no cases
// a skipped one.
std::vector<FolderRecord> run_suite(const std::vector<CaseFolder>& folders, const SuiteOptions& options);

struct Totals {
  size_t passed = 0, failed = 0, skipped = 0;
  void add(Status status);
};
Totals count(const std::vector<FolderRecord>& folders);

}  // namespace sconce::testing
