// Vector loops over quantised elements: quantise, dequantise, requantise, in flat memory.
//
// Bytes are unsigned or signed by a flag where they are read; what is written is clamped to [lo, hi], so that a signed
// byte is its low bits. Numbers are rounded to the nearest integer, of two to the even one, and NaN becomes the least.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// number = (byte - zero_point) * scale
struct Affine {
  float scale = 1;
  int32_t zero_point = 0;
};
// byte = clamp(round(number * inverse_scale) + zero_point, lo, hi)
struct ToBytes {
  float inverse_scale = 1;
  int32_t zero_point = 0, lo = 0, hi = 255;
};

struct QuantizedLoops {
  void (*quantize)(const float* in, int64_t n, const ToBytes& to, uint8_t* out);
  // [signed]
  void (*dequantize[2])(const uint8_t* in, int64_t n, const Affine& from, float* out);
  void (*min_max)(const float* in, int64_t n, float* least, float* most);
  void (*add[2])(const uint8_t* a, const Affine& of_a, const uint8_t* b, const Affine& of_b, int64_t n,
                 const ToBytes& to, uint8_t* out);
  // The product of the integers less their zero points, times to.inverse_scale.
  void (*mul[2])(const uint8_t* a, int32_t zero_a, const uint8_t* b, int32_t zero_b, int64_t n, const ToBytes& to,
                 uint8_t* out);
  void (*look_up)(const uint8_t* in, int64_t n, const uint8_t* table, uint8_t* out);
  // out[i] = the larger one of out[i] and in[i]
  void (*take_larger[2])(uint8_t* out, const uint8_t* in, int64_t n);
  // sums[i] += in[i]
  void (*add_bytes[2])(int32_t* sums, const uint8_t* in, int64_t n);
};

SCONCE_AT_EACH_LEVEL(extern const QuantizedLoops quantized_loops;)

// The table for this machine (cpu_level).
const QuantizedLoops& quantized_loops();

}  // namespace sconce
