// The cache of FFT plans: tables cost more than a transform, so the plans last used are kept, up to a number of bytes.
#include <mutex>

#include "sconce/kernels/cpu/fft/plan.h"

namespace sconce {
namespace {

int64_t bytes_of(const FftPlan& plan) { return plan.bytes(); }
int64_t bytes_of(const RealFftPlan& plan) { return plan.twiddles.bytes(); }

// The plans last used, newest first: a program uses few lengths, so a list is fast, and forgetting the
// oldest bounds it.
template <class Plan>
class PlanCache {
 public:
  std::shared_ptr<const Plan> get(int64_t n, bool is_double) {
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < plans_.size(); ++i) {
        if (plans_[i].n == n && plans_[i].is_double == is_double) {
          if (i > 0) std::swap(plans_[i], plans_[i - 1]);
          return plans_[i > 0 ? i - 1 : 0].plan;
        }
      }
    }
    auto plan = std::make_shared<const Plan>(n, is_double);  // not under the lock: it takes a while
    const std::lock_guard lock(mutex_);
    bytes_ += bytes_of(*plan);
    plans_.insert(plans_.begin(), Entry{n, is_double, plan});
    while (plans_.size() > kMostPlans || (plans_.size() > 1 && bytes_ > kMostBytes)) {
      bytes_ -= bytes_of(*plans_.back().plan);
      plans_.pop_back();
    }
    return plan;
  }

 private:
  static constexpr size_t kMostPlans = 64;
  static constexpr int64_t kMostBytes = int64_t{64} << 20;
  struct Entry {
    int64_t n;
    bool is_double;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::vector<Entry> plans_;
  int64_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<const FftPlan> fft_plan(int64_t n, bool is_double) {
  static auto* cache = new PlanCache<FftPlan>;  // never destroyed: threads may outlive static objects
  return cache->get(n, is_double);
}

std::shared_ptr<const RealFftPlan> real_fft_plan(int64_t n, bool is_double) {
  static auto* cache = new PlanCache<RealFftPlan>;
  return cache->get(n, is_double);
}

}  // namespace sconce
