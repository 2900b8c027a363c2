// What a conformance run prints.
#pragma once

#include <string>
#include <vector>

#include "sconce/testing/conformance/suite.h"

namespace sconce::cli {

using testing::FolderRecord;

// One line per folder: "ops: 743 passed, 3 failed, 6023 skipped (operator missing)".
void print_folders(const std::vector<FolderRecord>& folders);
// One line per failed case: id, operator, what differs.
void print_failures(const std::vector<FolderRecord>& folders);
// Missing operators, those with the most cases first.
void print_missing(const std::vector<FolderRecord>& folders);
// "N passed, N failed, N skipped"
void print_totals(const std::vector<FolderRecord>& folders);
// Everything as JSON. Throws Error when the file cannot be written.
void write_json(const std::vector<FolderRecord>& folders, const std::string& path);

// A bar on standard error, for a terminal.
class ProgressBar {
 public:
  void show(size_t done, size_t total);
  void clear();

 private:
  size_t shown_ = 0;
};

}  // namespace sconce::cli
