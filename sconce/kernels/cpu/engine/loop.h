// Loop: the interface between the pointwise engine (iterate.h) and the generated vector loops. Plain data only: the
// loops are compiled for several instruction sets, so nothing here may become code that is shared between them.
//
// Note [Groups]
// A loop computes whole groups of 64 bytes of its compute type: 16 float32, 8 float64, 64 bool. It knows no tails, no
// strides and no other dtypes: the engine hands it memory in the compute type. Operand k advances by step[k] bytes per
// group: 64 (a bool operand beside float32: 16, one byte per element), or 0 for a scalar, which is stored 64 bytes
// wide. The result may be written over an operand at the same address, because a vector is read before it is written.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// The types that loops are compiled for. u8 computes bool only; the small integers go through i32, the 16-bit
// floats through f32.
enum class Compute : uint8_t { f32, f64, i32, i64, u8, c64, c128 };

inline constexpr int kComputeTypes = 7;
inline constexpr int kMaxLoopInputs = 6;  // tensors that one expression can read
inline constexpr int kMaxLoopParams = 8;  // numbers that one expression can read

// A number argument, in the forms that the compute types read. Use from_int, from_float, from_complex; a Param that is
// only declared has no value, so that arrays of them cost nothing.
struct Param {
  double real, imag;
  int64_t integer;

  static constexpr Param from_int(int64_t v) { return {static_cast<double>(v), 0, v}; }
  static constexpr Param from_float(double v) { return {v, 0, clamped(v)}; }
  static constexpr Param from_complex(double re, double im) { return {re, im, clamped(re)}; }

  Param() = default;

 private:
  constexpr Param(double re, double im, int64_t i) : real(re), imag(im), integer(i) {}

  // Towards zero; numbers that int64 cannot hold become its ends, NaN 0.
  static constexpr int64_t clamped(double v) {
    if (v != v) return 0;
    if (v >= 0x1p63) return INT64_MAX;
    if (v < -0x1p63) return INT64_MIN;
    return static_cast<int64_t>(v);
  }
};

// Computes `groups` whole groups. See Note [Groups].
#define SCONCE_LOOP_ARGUMENTS                                                                               \
  [[maybe_unused]] char *out, [[maybe_unused]] const char *const *in, [[maybe_unused]] const int64_t *step, \
      [[maybe_unused]] int64_t groups, [[maybe_unused]] const ::sconce::Param *params
using Loop = void (*)(char* out, const char* const* in, const int64_t* step, int64_t groups, const Param* params);

enum class LoopResult : uint8_t {
  common,   // the dtype that the operands were converted to
  boolean,  // one byte per element, 0 or 1
  real,     // the real dtype of the common one: abs of a complex number
};

// How a loop rounds inside an expression (`narrow`): the engine passes it as one more Param after the operator's own.
enum class Narrow : uint8_t { none, float16, bfloat16 };

// All loops of one operator.
struct PointwiseLoops {
  const char* name;  // as users know it: "div.Tensor_mode"
  uint8_t inputs;    // tensors
  uint8_t params;    // numbers, without the one for `narrow`
  LoopResult result;
  uint8_t mask_inputs;                    // bit k: input k is bool whatever the common dtype is
  uint8_t divisor_inputs;                 // bit k: integer loops divide by input k, so a zero in it is an error
  uint8_t divisor_params;                 // bit k: the same for parameter k
  bool narrows;                           // reads the Narrow parameter
  bool math;                              // busier with computing than with memory: exp, pow, integer division
  Loop loops[kCpuLevels][kComputeTypes];  // null: not defined for this type
};

}  // namespace sconce
