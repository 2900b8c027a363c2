#include "sconce/dispatch/entry.h"

#include <algorithm>

#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

struct StepFacts {
  std::string_view name;
  int arity;
};
constexpr StepFacts kSteps[] = {
    {"argument", 0},   {"constant", 0},    {"count", 0}, {"accumulator", 0}, {"left", 0},   {"right", 0},
    {"left_count", 0}, {"right_count", 0}, {"neg", 1},   {"invert", 1},      {"not", 1},    {"add", 2},
    {"sub", 2},        {"mul", 2},         {"div", 2},   {"bit_and", 2},     {"bit_or", 2}, {"bit_xor", 2},
    {"shift_left", 2}, {"shift_right", 2}, {"eq", 2},    {"ne", 2},          {"lt", 2},     {"le", 2},
    {"gt", 2},         {"ge", 2},          {"and", 2},   {"or", 2},          {"where", 3},
#define SCONCE_STEP_FUNCTION(name, arity) {#name, arity},
#include "sconce/generated/step_functions.inc"
#undef SCONCE_STEP_FUNCTION
};

}  // namespace

std::string_view step_name(StepKind kind) { return kSteps[static_cast<int>(kind)].name; }
int step_arity(StepKind kind) { return kSteps[static_cast<int>(kind)].arity; }

StepKind number_operation(const Op& op) {
  if (!op.info.entry || !op.info.entry->number) return StepKind::argument;
  const std::span<const Step> steps = op.info.entry->number->steps();
  const Step& last = steps.back();
  const size_t operands = steps.size() - 1;
  if (operands != static_cast<size_t>(step_arity(last.kind))) return StepKind::argument;
  for (size_t i = 0; i < operands; ++i) {
    if (steps[i] != Step{StepKind::argument, static_cast<uint8_t>(i)}) return StepKind::argument;
  }
  const uint8_t given[] = {last.a, last.b, last.c};
  for (size_t i = 0; i < operands; ++i) {
    if (given[i] != i) return StepKind::argument;
  }
  return last.kind;
}

bool is_range_element(const Op& op) {
  using enum StepKind;
  static constexpr Step wanted[] = {{argument, 1}, {argument, 0}, {argument, 2}, {mul, 1, 2}, {add, 0, 3}};
  if (!op.info.entry || !op.info.entry->number) return false;
  return std::ranges::equal(op.info.entry->number->steps(), wanted);
}

const Op* functional_twin(const Op& op) {
  if (op.info.functional) return &op + op.info.functional;
  return op.info.entry && op.info.entry->functional ? find_op(op.info.entry->functional) : nullptr;
}

}  // namespace sconce
