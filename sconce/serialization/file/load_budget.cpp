#include "sconce/serialization/file/load_budget.h"

#include "sconce/base/error.h"

namespace sconce {

std::shared_ptr<Budget> load_budget(const FileBytes& file, const Limits& limits) {
  const uint64_t size = file.bytes().size();
  Limits used = limits;
  if (used.memory == Limits::kNone) used.memory = kLoadBytes + kLoadBytesPerByte * size;
  if (used.work == Limits::kNone) used.work = kLoadWork + kLoadWorkPerByte * size;
  if (used.steps == Limits::kNone) used.steps = kLoadSteps + size / 1024 * kLoadStepsPerKiB;
  return named_budget(used, "loading ", file.name());
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
