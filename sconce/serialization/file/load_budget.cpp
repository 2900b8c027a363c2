#include "sconce/serialization/file/load_budget.h"

namespace sconce {

std::shared_ptr<Budget> load_budget(const FileBytes& file, const Limits& limits) {
  const uint64_t size = file.bytes().size();
  Limits used = limits;
  if (used.memory == Limits::kNone) used.memory = kLoadBytes + kLoadBytesPerByte * size;
  if (used.work == Limits::kNone) used.work = kLoadWork + kLoadWorkPerByte * size;
  if (used.steps == Limits::kNone) used.steps = kLoadSteps + size / 1024 * kLoadStepsPerKiB;
  return named_budget(used, "loading " + file.name());
}

std::shared_ptr<Budget> setstate_budget(const std::string& file, bool trust) {
  auto budget = named_budget({}, "__setstate__ of " + file);
  if (!trust) budget->allow_loading_only();
  return budget;
}

std::shared_ptr<Budget> named_budget(const Limits& limits, std::string name) {
  return std::make_shared<Budget>(limits, std::move(name));
}

}  // namespace sconce
