#include "sconce/serialization/file/load_budget.h"

#include "sconce/base/error.h"

namespace sconce {

Limits load_limits(uint64_t size, Limits limits) {
  if (limits.memory == Limits::kNone) limits.memory = kLoadBytes + kLoadBytesPerByte * size;
  if (limits.work == Limits::kNone) limits.work = kLoadWork + kLoadWorkPerByte * size;
  if (limits.steps == Limits::kNone) limits.steps = kLoadSteps + size / 1024 * kLoadStepsPerKiB;
  return limits;
}

std::shared_ptr<Budget> load_budget(const FileBytes& file, const Limits& limits) {
  return named_budget(load_limits(file.bytes().size(), limits), "loading ", file.name());
}

std::shared_ptr<Budget> setstate_budget(const std::string& file, bool trust) {
  auto budget = named_budget({}, "__setstate__ of ", file);
  if (!trust) budget->allow_loading_only();
  return budget;
}

// Not by make_shared, which is twice the code.
std::shared_ptr<Budget> named_budget(const Limits& limits, std::string_view what, std::string_view file) {
  return std::shared_ptr<Budget>(new Budget(limits, format_message("{}{}", {what, file})));
}

}  // namespace sconce
