// Line search: finds the step length along a direction that satisfies the strong Wolfe conditions.
#pragma once

#include <functional>

#include "sconce/tensor/tensor.h"

namespace sconce::optim {

// A point on the line: how far along, the function there, its gradient and the slope along the direction.
struct LinePoint {
  double length = 0, value = 0;
  Tensor gradient;
  double slope = 0;
};

struct LineSearch {
  std::function<LinePoint(double length)> evaluate;
  double largest_component;  // of the direction
  int64_t max_evaluations = 25;
  double tolerance_change = 1e-9;
};

// From `start` (at length 0), trying `first` first. Counts calls of evaluate.
LinePoint strong_wolfe(const LineSearch& search, const LinePoint& start, double first, int64_t& evaluations);

}  // namespace sconce::optim
