// --top K: the classes with the highest scores, for people.
#pragma once

#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::cli {

struct TopOptions {
  int64_t count = 0;   // --top; 0: not asked for
  std::string labels;  // --labels: a file with the name of each class on a line
};

struct ClassScore {
  int64_t index;
  double score, probability;  // probability: softmax of the scores
  std::string label;          // empty without --labels
};

// Of each row of a tensor of scores [classes] or [rows, classes], which is `output` or the only tensor in it. Throws
// Error when there is no such tensor, UsageError when there are fewer labels than classes.
std::vector<std::vector<ClassScore>> top_classes(const Value& output, const TopOptions& options);

}  // namespace sconce::cli
