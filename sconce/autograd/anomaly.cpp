#include "sconce/autograd/anomaly.h"

#include <atomic>

namespace sconce::autograd {
namespace {

std::atomic<bool> enabled_now{false}, checks_now{true};
std::atomic<PlaceSource> place_source{nullptr};

}  // namespace

AnomalyMode::AnomalyMode(bool enabled, bool check_nan) : enabled_(enabled_now.load()), check_nan_(checks_now.load()) {
  enabled_now = enabled;
  checks_now = check_nan;
}
AnomalyMode::~AnomalyMode() {
  enabled_now = enabled_;
  checks_now = check_nan_;
}
bool AnomalyMode::enabled() noexcept { return enabled_now.load(std::memory_order_relaxed); }
bool AnomalyMode::checks_nan() noexcept { return checks_now.load(std::memory_order_relaxed); }

void set_place_source(PlaceSource source) noexcept { place_source = source; }
std::string current_place() {
  const PlaceSource source = place_source.load();
  return source ? source() : std::string();
}
std::unique_ptr<Place> make_place() { return std::make_unique<Place>(Place{current_place(), nullptr}); }

}  // namespace sconce::autograd
