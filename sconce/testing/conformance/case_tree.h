// Test discovery: finds case files below folders, and lists everything else with the reason why it is left out.
#pragma once

#include <string>
#include <vector>

namespace sconce::testing {

struct CaseFolder {
  std::string label;               // "ops": the folder as reports and case ids call it
  std::vector<std::string> files;  // paths of case files, sorted
  std::vector<std::string>
      others;  // names of files that hold no cases and belong to none (a program belongs to its cases)
};

// `path` is a folder, searched with its subfolders, or one file. The label of a folder given is its last component,
// that of a subfolder is relative to it. Folders without files do not appear. Throws Error when `path` does not exist.
std::vector<CaseFolder> find_cases(const std::string& path);

}  // namespace sconce::testing
