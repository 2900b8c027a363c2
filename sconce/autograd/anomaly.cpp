#include "sconce/autograd/anomaly.h"

#include <atomic>

#include "sconce/base/error.h"
#include "sconce/generated/comparison.h"
#include "sconce/generated/reduction.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::autograd {
namespace {

std::atomic<bool> enabled_now{false}, checks_now{true};
std::atomic<PlaceSource> outer_source{nullptr};
constinit thread_local Node* running_here = nullptr;

}  // namespace

AnomalyMode::AnomalyMode(bool enabled, bool check_nan) : enabled_(enabled_now.load()), check_nan_(checks_now.load()) {
  enabled_now = enabled;
  checks_now = check_nan;
}
AnomalyMode::~AnomalyMode() {
  enabled_now = enabled_;
  checks_now = check_nan_;
}
void AnomalyMode::set(bool enabled, bool check_nan) noexcept {
  enabled_now = enabled;
  checks_now = check_nan;
}
bool AnomalyMode::enabled() noexcept { return enabled_now.load(std::memory_order_relaxed); }
bool AnomalyMode::checks_nan() noexcept { return checks_now.load(std::memory_order_relaxed); }

std::string current_place() {
  std::string place = place_source ? place_source() : std::string();
  const PlaceSource outer = outer_source.load();
  return place.empty() && outer ? outer() : place;
}
void set_outer_place_source(PlaceSource source) noexcept { outer_source = source; }
std::unique_ptr<Place> make_place() {
  return std::make_unique<Place>(Place{current_place(), Ref<Node>::share(running_here)});
}

Node* running_node() noexcept { return running_here; }
RunningNode::RunningNode(Node& node) noexcept : outer_(std::exchange(running_here, &node)) {}
RunningNode::~RunningNode() { running_here = outer_; }

void check_nan(const Node& node, std::span<const Tensor> gradients) {
  const NoGrad off;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& g = gradients[i];
    if (!g.defined() || g.is_meta()) continue;
    SCONCE_CHECK(!item_of(any(isnan(g))).to_bool(), "Function '{}' returned nan values in its {}th output.",
                 node.name(), i);
  }
}

std::string history_of(const Node& node) {
  std::string out;
  const Node* at = &node;
  for (bool first = true; at; first = false) {
    out += first ? "\n\nError detected in " : "\n\nPrevious calculation was induced by ";
    out += at->name() + ".";
    if (!at->place) {
      out += " No forward pass information available. Enable detect anomaly during forward pass for more information.";
      break;
    }
    if (at->place->text.empty()) {
      out += " The forward call was not made by a script, so its line is not known.";
    } else {
      out += first ? " Traceback of forward call that caused the error:\n"
                   : " Traceback of forward call that induced the previous calculation:\n";
      out += at->place->text;
      while (out.ends_with('\n')) out.pop_back();
    }
    at = at->place->parent.get();
  }
  return out;
}

}  // namespace sconce::autograd
