// Ratchet lists: two tracked files that let a suite only improve.
//
//   known_failures.txt   ops/norm.safetensors#7  complex norms of order 0 are not implemented
//   supported.txt        aten::add.Tensor
//
// A case that fails and is listed counts as skipped; one that passes and is listed is a failure, so that the line
// goes. An operator that is supported must not be missing again. In both files blank lines and lines that begin with
// # are comments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sconce/testing/conformance/suite.h"

namespace sconce::testing {

class KnownFailures {
 public:
  // Throws Error with file and line when it cannot be read, or a line has no reason.
  static KnownFailures open(const std::string& path);
  // Changes the results as the list says. `complete`: the run was not filtered, so a listed case of its folders that
  // did not run is a failure, too.
  void apply(std::vector<FolderRecord>& folders, bool complete) const;
  // Rewrites the file without the lines of cases that pass. Call it before apply.
  void drop_passing(const std::vector<FolderRecord>& folders) const;

 private:
  std::string path_;
  std::vector<std::string> lines_;
  std::map<std::string, std::string, std::less<>> reasons_;  // by case id
};

class SupportedOperators {
 public:
  static SupportedOperators open(const std::string& path);
  // A case of a supported operator that was skipped because the operator is missing becomes a failure.
  void apply(std::vector<FolderRecord>& folders) const;
  // Rewrites the file, sorted, with the operators whose cases ran added.
  void add_running(const std::vector<FolderRecord>& folders) const;

 private:
  std::string path_;
  std::vector<std::string> comments_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace sconce::testing
