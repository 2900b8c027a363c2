#include "capture/compiled/settings.h"

namespace sconce::python::capture {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local int evaluating = 0;
bool stance_counted = false;  // in unusual_calls

// A thread_local of its own type would need a destructor at the end of a thread, where Python may be gone.
std::shared_ptr<const CompileConfig>& config_here() {
  thread_local std::shared_ptr<const CompileConfig>* here = nullptr;
  if (here == nullptr) here = new std::shared_ptr<const CompileConfig>();
  return *here;
}

}  // namespace

constinit int unusual_calls = 0;

Settings& settings() {
  static Settings* made = new Settings();  // never destroyed: it holds objects of Python
  return *made;
}

bool is_evaluating() { return evaluating != 0; }
EvaluatingScope::EvaluatingScope() {
  ++evaluating;
  ++unusual_calls;
}
EvaluatingScope::~EvaluatingScope() {
  --evaluating;
  --unusual_calls;
}

void note_stance() {
  const bool unusual = settings().stance != Stance::normal || settings().skip_guards;
  unusual_calls += static_cast<int>(unusual) - static_cast<int>(stance_counted);
  stance_counted = unusual;
}

const std::shared_ptr<const CompileConfig>& current_config() { return config_here(); }
RegionScope::RegionScope(std::shared_ptr<const CompileConfig> config) : before_(std::move(config)) {
  std::swap(before_, config_here());
}
RegionScope::~RegionScope() { std::swap(before_, config_here()); }

}  // namespace sconce::python::capture
