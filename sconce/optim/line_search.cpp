#include "sconce/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace sconce::optim {
namespace {

constexpr double kDecrease = 1e-4, kCurvature = 0.9;

// Where the cubic through two points with these values and slopes is smallest, within [low, high].
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.length - b.length);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const LinePoint &left = a.length <= b.length ? a : b, &right = a.length <= b.length ? b : a;
  const double at =
      right.length - (right.length - left.length) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}

class Search {
 public:
  Search(const LineSearch& search, const LinePoint& start, int64_t& evaluations)
      : search_(search), start_(start), evaluations_(evaluations) {}

  LinePoint run(double first) {
    LinePoint before = start_, now = evaluate(first);
    int64_t tries = 0;
    for (; tries < search_.max_evaluations; ++tries) {
      if (too_high(now) || (tries > 1 && now.value >= before.value) || (!flat(now) && now.slope >= 0)) {
        return zoom(std::move(before), std::move(now), tries);
      }
      if (flat(now)) return now;
      const double next = cubic_minimum(before, now, now.length + 0.01 * (now.length - before.length), now.length * 10);
      before = std::move(now);
      now = evaluate(next);
    }
    return start_.value <= now.value ? start_ : now;
  }

 private:
  LinePoint evaluate(double length) {
    ++evaluations_;
    return search_.evaluate(length);
  }
  bool too_high(const LinePoint& p) const { return p.value > start_.value + kDecrease * p.length * start_.slope; }
  bool flat(const LinePoint& p) const { return std::abs(p.slope) <= -kCurvature * start_.slope; }

  // Between a and b is a point that satisfies the conditions; the interval shrinks around it.
  LinePoint zoom(LinePoint a, LinePoint b, int64_t tries) {
    LinePoint low = std::move(a), high = std::move(b);
    if (high.value < low.value) std::swap(low, high);
    bool stuck = false;  // the last trial was close to an end
    for (; tries < search_.max_evaluations; ++tries) {
      if (std::abs(high.length - low.length) * search_.largest_component < search_.tolerance_change) break;
      LinePoint trial = evaluate(trial_length(low, high, stuck));
      if (too_high(trial) || trial.value >= low.value) {
        high = std::move(trial);
        if (high.value < low.value) std::swap(low, high);
        continue;
      }
      const bool done = flat(trial);
      if (!done && trial.slope * (high.length - low.length) >= 0) high = std::move(low);
      low = std::move(trial);
      if (done) break;
    }
    return low;
  }

  // A length inside of the interval; away from its ends when trials keep coming close to them.
  double trial_length(const LinePoint& low, const LinePoint& high, bool& stuck) const {
    const double begin = std::min(low.length, high.length), end = std::max(low.length, high.length);
    const double at = cubic_minimum(low, high, begin, end), margin = 0.1 * (end - begin);
    if (std::min(end - at, at - begin) >= margin) {
      stuck = false;
      return at;
    }
    if (!stuck && at < end && at > begin) {
      stuck = true;
      return at;
    }
    stuck = false;
    return std::abs(at - end) < std::abs(at - begin) ? end - margin : begin + margin;
  }

  const LineSearch& search_;
  const LinePoint& start_;
  int64_t& evaluations_;
};

}  // namespace

LinePoint strong_wolfe(const LineSearch& search, const LinePoint& start, double first, int64_t& evaluations) {
  return Search(search, start, evaluations).run(first);
}

}  // namespace sconce::optim
