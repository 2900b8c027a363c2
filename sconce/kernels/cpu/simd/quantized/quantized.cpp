// Loops over quantised elements. They are plain loops, which the compiler turns into vectors (-O3, see library.cmake):
// there is no arithmetic in them that it could not.
#include "sconce/kernels/quantized/quantized_loops.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// What is added leaves no room for a fraction: the sum is rounded to an integer, of two to the even one.
constexpr float kRound = 12582912.f;
constexpr int32_t kRoundBits = 0x4b400000;

inline uint8_t to_byte(float scaled, float least, float most, int32_t zero_point) {
  scaled = scaled > least ? scaled : least;
  scaled = scaled < most ? scaled : most;
  const float moved = scaled + kRound;
  return static_cast<uint8_t>(__builtin_bit_cast(int32_t, moved) - kRoundBits + zero_point);
}

struct Bounds {
  float least, most;
  explicit Bounds(const ToBytes& to)
      : least(static_cast<float>(to.lo - to.zero_point)), most(static_cast<float>(to.hi - to.zero_point)) {}
};

void quantize(const float* __restrict in, int64_t n, const ToBytes& to, uint8_t* __restrict out) {
  const Bounds b(to);
  const float inverse = to.inverse_scale;
  const int32_t zero = to.zero_point;
  for (int64_t i = 0; i < n; ++i) out[i] = to_byte(in[i] * inverse, b.least, b.most, zero);
}

template <class T>
void dequantize(const uint8_t* in, int64_t n, const Affine& from, float* __restrict out) {
  const T* __restrict bytes = reinterpret_cast<const T*>(in);
  const float scale = from.scale;
  const int32_t zero = from.zero_point;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(bytes[i] - zero) * scale;
}

// By sixteen, each with its own extremes, so that they need not wait for each other.
void min_max(const float* in, int64_t n, float* least, float* most) {
  constexpr int lanes = 32;
  float lo[lanes], hi[lanes];
  for (int j = 0; j < lanes; ++j) lo[j] = hi[j] = in[0];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int j = 0; j < lanes; ++j) {
      const float v = in[i + j];
      lo[j] = v < lo[j] ? v : lo[j];
      hi[j] = v > hi[j] ? v : hi[j];
    }
  }
  for (; i < n; ++i) {
    lo[0] = in[i] < lo[0] ? in[i] : lo[0];
    hi[0] = in[i] > hi[0] ? in[i] : hi[0];
  }
  for (int j = 1; j < lanes; ++j) {
    lo[0] = lo[j] < lo[0] ? lo[j] : lo[0];
    hi[0] = hi[j] > hi[0] ? hi[j] : hi[0];
  }
  *least = lo[0];
  *most = hi[0];
}

template <class T>
void add(const uint8_t* a, const Affine& of_a, const uint8_t* b, const Affine& of_b, int64_t n, const ToBytes& to,
         uint8_t* __restrict out) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  const Bounds bounds(to);
  const float sa = of_a.scale, sb = of_b.scale, inverse = to.inverse_scale;
  const int32_t za = of_a.zero_point, zb = of_b.zero_point, zero = to.zero_point;
  for (int64_t i = 0; i < n; ++i) {
    const float sum = static_cast<float>(x[i] - za) * sa + static_cast<float>(y[i] - zb) * sb;
    out[i] = to_byte(sum * inverse, bounds.least, bounds.most, zero);
  }
}

template <class T>
void mul(const uint8_t* a, int32_t zero_a, const uint8_t* b, int32_t zero_b, int64_t n, const ToBytes& to,
         uint8_t* __restrict out) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  const Bounds bounds(to);
  const float inverse = to.inverse_scale;
  const int32_t zero = to.zero_point;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t product = (x[i] - zero_a) * (y[i] - zero_b);
    out[i] = to_byte(static_cast<float>(product) * inverse, bounds.least, bounds.most, zero);
  }
}

void look_up(const uint8_t* in, int64_t n, const uint8_t* table, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = table[in[i]];
}

template <class T>
void take_larger(uint8_t* out, const uint8_t* in, int64_t n) {
  T* __restrict to = reinterpret_cast<T*>(out);
  const T* __restrict from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

template <class T>
void add_bytes(int32_t* __restrict sums, const uint8_t* in, int64_t n) {
  const T* __restrict from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) sums[i] += from[i];
}

}  // namespace

constinit const QuantizedLoops quantized_loops = {quantize,
                                                  {dequantize<uint8_t>, dequantize<int8_t>},
                                                  min_max,
                                                  {add<uint8_t>, add<int8_t>},
                                                  {mul<uint8_t>, mul<int8_t>},
                                                  look_up,
                                                  {take_larger<uint8_t>, take_larger<int8_t>},
                                                  {add_bytes<uint8_t>, add_bytes<int8_t>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
