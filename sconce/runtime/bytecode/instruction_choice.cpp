#include "sconce/runtime/bytecode/instruction_choice.h"

#include <mutex>
#include <unordered_map>

#include "sconce/dispatch/box.h"
#include "sconce/dispatch/op_instructions.h"
#include "sconce/dispatch/registry.h"
#include "sconce/runtime/bytecode/liveness.h"

namespace sconce::runtime {

std::optional<Arithmetic> arithmetic_of(const Op& op) {
  using enum Arithmetic;
  static const std::unordered_map<std::string_view, Arithmetic> by_expression = {
      {"a + b", add},
      {"a - b", sub},
      {"a * b", mul},
      {"a / b", div},
      {"a // b", floordiv},
      {"a % b", mod},
      {"a & b", bit_and},
      {"a | b", bit_or},
      {"a ^ b", bit_xor},
      {"a == b", eq},
      {"a != b", ne},
      {"a < b", lt},
      {"a <= b", le},
      {"a > b", gt},
      {"a >= b", ge},
      {"-a", neg},
      {"not self", logical_not},
      {"float(a)", to_float},
      {"int(a)", to_int},
      {"bool(a)", to_bool},
      {"start + index * step", derive_index}};
  if (!op.info.scalar) return std::nullopt;
  const auto found = by_expression.find(op.info.scalar);
  if (found == by_expression.end()) return std::nullopt;
  const Schema& schema = op.schema();
  if (schema.returns.size() != 1 || class_of(schema.returns[0].type) == RegisterClass::value) return std::nullopt;
  bool floats = false;
  for (const Argument& a : schema.arguments) {
    const RegisterClass c = class_of(a.type);
    if (c == RegisterClass::value) return std::nullopt;
    floats |= c == RegisterClass::float_;
  }
  const Arithmetic a = found->second;
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

// Asks the operator itself, on Meta tensors: what dtype has the result for float32?
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
