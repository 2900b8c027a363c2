#include "sconce/runtime/bytecode/instruction_choice.h"

#include <mutex>
#include <unordered_map>

#include "sconce/dispatch/box.h"
#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/op_instructions.h"
#include "sconce/dispatch/registry.h"
#include "sconce/runtime/bytecode/liveness.h"

namespace sconce::runtime {

namespace {

// The instruction for the one operation of a number operator. Of those with several, one has an instruction: the
// numbers of a range, start + index * step.
std::optional<Arithmetic> arithmetic_of(StepKind operation, const Op& op) {
  using enum Arithmetic;
  switch (operation) {
    case StepKind::add:
      return add;
    case StepKind::sub:
      return sub;
    case StepKind::mul:
      return mul;
    case StepKind::div:
      return div;
    case StepKind::floor_div:
      return floordiv;
    case StepKind::remainder:
      return mod;
    case StepKind::bit_and:
      return bit_and;
    case StepKind::bit_or:
      return bit_or;
    case StepKind::bit_xor:
      return bit_xor;
    case StepKind::eq:
      return eq;
    case StepKind::ne:
      return ne;
    case StepKind::lt:
      return lt;
    case StepKind::le:
      return le;
    case StepKind::gt:
      return gt;
    case StepKind::ge:
      return ge;
    case StepKind::neg:
      return neg;
    case StepKind::not_:
      return logical_not;
    case StepKind::to_float:
      return to_float;
    case StepKind::to_int:
      return to_int;
    case StepKind::to_bool:
      return to_bool;
    default:
      return is_range_element(op) ? std::optional(derive_index) : std::nullopt;
  }
}

}  // namespace

std::optional<Arithmetic> arithmetic_of(const Op& op) {
  using enum Arithmetic;
  const std::optional<Arithmetic> found = arithmetic_of(number_operation(op), op);
  if (!found) return std::nullopt;
  const Schema& schema = op.schema();
  if (schema.returns.size() != 1 || class_of(schema.returns[0].type) == RegisterClass::value) return std::nullopt;
  bool floats = false;
  for (const Argument& a : schema.arguments) {
    const RegisterClass c = class_of(a.type);
    if (c == RegisterClass::value) return std::nullopt;
    floats |= c == RegisterClass::float_;
  }
  const Arithmetic a = *found;
  // Left to the operator: rounding toward minus infinity, and what int() says of nan.
  if (floats && (a == floordiv || a == mod || a == to_int)) return std::nullopt;
  return a;
}

Container container_of(const Op& op) {
  static const auto* by_op = [] {
    const std::unordered_map<std::string_view, Container> by_name = {
#define SCONCE_CONTAINER(name) {#name, Container::name},
        SCONCE_CONTAINERS(SCONCE_CONTAINER)
#undef SCONCE_CONTAINER
    };
    auto* table = new std::unordered_map<const Op*, Container>;
    for (const OpInstruction& i : op_instructions()) table->emplace(find_op(i.op), by_name.at(i.instruction));
    return table;
  }();
  const auto found = by_op->find(&op);
  return found == by_op->end() ? Container::none : found->second;
}

Signature signature_of(const Op& op) {
  using T = const Tensor&;
  using S = const Scalar&;
  using enum Signature;
  if (op.box == &box_call<Tensor(T), 0>) return t;
  if (op.box == &box_call<Tensor(T, T), 0>) return tt;
  if (op.box == &box_call<Tensor(T, S), 0>) return ts;
  if (op.box == &box_call<Tensor(T, T, S), 0>) return tts;
  if (op.box == &box_call<Tensor(T, S, S), 0>) return tss;
  if (op.box == &box_call<Tensor(T, T, T), 4>) return ttt;
  return other;
}

namespace {

// The dtype of the result for float32, from the operator itself, run on Meta tensors.
bool keeps_floats(const Op& op) {
  std::vector<Value> args;
  for (const Argument& a : op.schema().arguments) {
    if (a.default_value)
      args.push_back(*a.default_value);
    else if (a.type->is(TypeKind::tensor))
      args.emplace_back(empty_tensor({2}, DType::float32, Device{DeviceType::meta, -1}));
    else
      args.emplace_back(2);
  }
  try {
    Value result;
    op.call_boxed(args.data(), &result);
    return result.is_tensor() && result.to_tensor().dtype() == DType::float32;
  } catch (const Error&) {
    return false;
  }
}

const Op* find_twin(const Op& op, Signature signature) {
  using T = const Tensor&;
  using S = const Scalar&;
  if (!op.has(Trait::pointwise) || op.has(Trait::inplace) || op.has(Trait::out)) return nullptr;
  const Op* twin = find_op(std::string(op.info.name) + "_", op.info.overload);
  if (!twin || !twin->has(Trait::inplace)) return nullptr;
  const BoxThunk wanted = signature == Signature::t     ? &box_call<void(T), 0, 0>
                          : signature == Signature::tt  ? &box_call<void(T, T), 0, 0>
                          : signature == Signature::ts  ? &box_call<void(T, S), 0, 0>
                          : signature == Signature::tts ? &box_call<void(T, T, S), 0, 0>
                          : signature == Signature::tss ? &box_call<void(T, S, S), 0, 0>
                                                        : nullptr;
  return wanted && twin->box == wanted && keeps_floats(op) ? twin : nullptr;
}

}  // namespace

const Op* in_place_twin(const Op& op, Signature signature) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<const Op*, const Op*>;
  const std::lock_guard lock(mutex);
  const auto found = known->find(&op);
  if (found != known->end()) return found->second;
  return (*known)[&op] = find_twin(op, signature);
}

}  // namespace sconce::runtime
