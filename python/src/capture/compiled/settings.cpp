#include "capture/compiled/settings.h"

namespace sconce::python::capture {
namespace {

thread_local int evaluating = 0;

// A thread_local of its own type would need a destructor at the end of a thread, where Python may be gone.
std::shared_ptr<const CompileConfig>& config_here() {
  thread_local std::shared_ptr<const CompileConfig>* here = nullptr;
  if (here == nullptr) here = new std::shared_ptr<const CompileConfig>();
  return *here;
}

}  // namespace

Settings& settings() {
  static Settings* made = new Settings();  // never destroyed: it holds objects of Python
  return *made;
}

bool is_evaluating() { return evaluating != 0; }
EvaluatingScope::EvaluatingScope() { ++evaluating; }
EvaluatingScope::~EvaluatingScope() { --evaluating; }

const std::shared_ptr<const CompileConfig>& current_config() { return config_here(); }
RegionScope::RegionScope(std::shared_ptr<const CompileConfig> config) : before_(std::move(config)) {
  std::swap(before_, config_here());
}
RegionScope::~RegionScope() { std::swap(before_, config_here()); }

}  // namespace sconce::python::capture
