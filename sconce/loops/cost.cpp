#include "sconce/loops/cost.h"

#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::loops {
namespace {

Compute compute_of(const LoopCall& call) {
  const Compute compute = compute_type(call.common);
  if (compute == Compute::u8 && call.loops->loops[0][static_cast<int>(compute)] == nullptr) return Compute::i32;
  return compute;
}

int lane_bytes(Compute compute) {
  constexpr int kBytes[kComputeTypes] = {4, 8, 4, 8, 1, 8, 16};
  return kBytes[static_cast<int>(compute)];
}

}  // namespace

const Machine& this_machine() {
  static constexpr Machine machine;
  return machine;
}

// Throughputs of AVX2 machines (the tables of Agner Fog and uops.info), of loops with several of them in flight; math
// functions: measured loops of simd/math.h, divided by their vectors, rounded.
double step_cycles(StepKind kind, Compute compute) {
  const bool wide = compute == Compute::f64 || compute == Compute::c128;
  switch (kind) {
    case StepKind::argument:
    case StepKind::constant:
    case StepKind::count:
    case StepKind::conj:
    case StepKind::real:
    case StepKind::narrow:
      return 0;
    case StepKind::neg:
    case StepKind::invert:
    case StepKind::not_:
    case StepKind::add:
    case StepKind::sub:
    case StepKind::fma:
    case StepKind::abs:
    case StepKind::bit_and:
    case StepKind::bit_or:
    case StepKind::bit_xor:
    case StepKind::and_:
    case StepKind::or_:
      return 0.5;
    case StepKind::mul:
      return compute == Compute::i64 ? 3 : 0.5;
    case StepKind::eq:
    case StepKind::ne:
    case StepKind::lt:
    case StepKind::le:
    case StepKind::gt:
    case StepKind::ge:
    case StepKind::where:
    case StepKind::floor:
    case StepKind::ceil:
    case StepKind::trunc:
    case StepKind::round:
    case StepKind::isnan:
    case StepKind::isinf:
    case StepKind::isfinite:
    case StepKind::signbit:
    case StepKind::copysign:
    case StepKind::shift_left:
    case StepKind::shift_right:
      return 1;
    case StepKind::maximum:
    case StepKind::minimum:
    case StepKind::fmax:
    case StepKind::fmin:
    case StepKind::sign:
    case StepKind::sgn:
      return 2;
    case StepKind::div:
      return wide ? 8 : 5;
    case StepKind::sqrt:
      return wide ? 12 : 6;
    case StepKind::rsqrt:
      return wide ? 20 : 11;
    case StepKind::exp:
    case StepKind::exp2:
    case StepKind::expm1:
      return wide ? 24 : 12;
    case StepKind::log:
    case StepKind::log2:
    case StepKind::log10:
    case StepKind::log1p:
    case StepKind::sigmoid:
      return wide ? 30 : 17;
    case StepKind::tanh:
    case StepKind::erf:
    case StepKind::normal_cdf:
    case StepKind::sin:
    case StepKind::cos:
      return wide ? 40 : 22;
    default:
      return wide ? 120 : 60;
  }
}

double call_cycles(const LoopCall& call) {
  if (call.is_conversion()) return 1.5;
  if (call.is_row()) return call.row == RowOp::softmax || call.row == RowOp::log_softmax ? 18 : 4;
  const Compute compute = compute_of(call);
  double cycles = 0;
  if (const Expression* e = expression_of(call)) {
    for (const Step& s : e->steps()) cycles += step_cycles(s.kind, compute);
  } else {
    cycles = call.loops->math ? 40 : 2;
  }
  if (is_complex(call.common)) cycles *= 4;
  // 16-bit floats and small integers are widened on the way in and rounded on the way out.
  const bool converts = item_size(call.common) != static_cast<size_t>(lane_bytes(compute));
  return converts ? cycles + 1.5 * call.loops->inputs + 2.5 : cycles;
}

double element_ns(const LoopCall& call, const Machine& machine) {
  const int bytes = call.loops == nullptr ? static_cast<int>(item_size(call.result)) : lane_bytes(compute_of(call));
  const double lanes = static_cast<double>(machine.vector_bytes) / (bytes < 4 ? 4 : bytes);
  return call_cycles(call) / lanes / machine.clock;
}

double move_ns(double bytes, double working_set, const Machine& machine) {
  const double rate = working_set <= static_cast<double>(machine.l1)   ? machine.l1_rate
                      : working_set <= static_cast<double>(machine.l2) ? machine.l2_rate
                      : working_set <= static_cast<double>(machine.l3) ? machine.l3_rate
                                                                       : machine.memory_rate;
  return bytes / rate;
}

}  // namespace sconce::loops
