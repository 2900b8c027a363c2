// Gradient checks of operators over the table's samples (sample.h): against finite differences, first and second order;
// in-place forms against functional ones; inputs that are views against contiguous ones. If an operator takes complex
// numbers, the same again with them.
#pragma once

#include <string>
#include <vector>

#include "sconce/testing/gradients/sample.h"

namespace sconce::testing {

enum class Check : uint8_t {
  absent,  // there is nothing to check
  passed,
  failed,
  missing,  // second order only: there is no formula, and the table says so
};

struct GradientReport {
  std::string op;
  Check runs = Check::absent;  // every sample can be called
  Check first = Check::absent, second = Check::absent, inplace = Check::absent, views = Check::absent;
  std::vector<std::string> failures;  // check, sample and message
};

// Never throws: an error is a failure of the check in which it occurred.
GradientReport check_gradients(const OpSamples& samples);

}  // namespace sconce::testing
