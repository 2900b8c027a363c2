// The strips of conv_strip.h, for float.
#include "sconce/kernels/cpu/simd/conv/conv_strip.h"

#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace matrix {
namespace {

#if SCONCE_VECTOR_REGISTERS == 32 && SCONCE_VECTOR_BYTES == 64
template <class T>
void strip(const StripArgs<T>& args) {
  constexpr int together = 4, groups = strip_pixels / together;
  Vec<T> acc[strip_pixels][1];
  const bool full = args.columns == lanes<T>;
  GEMM_UNROLL for (int i = 0; i < strip_pixels; i++) acc[i][0] = Vec<T>{};
  if (args.output.accumulate) {
    if (full) {
      add_c<T, strip_pixels, 1, true>(acc, args.output, args.columns);
    } else {
      add_c<T, strip_pixels, 1, false>(acc, args.output, args.columns);
    }
  }
  const T* b = args.b;
  const int64_t step = args.step, b_stride = args.b_stride;
  for (int64_t t = 0; t < args.taps; t++) {
    // Four pixels have one pointer: an address adds one, two or three steps to it.
    const T* rows[groups];
    GEMM_UNROLL for (int g = 0; g < groups; g++) rows[g] = args.rows[t] + g * together * step;
    for (int64_t p = 0; p < args.k; p++, b += b_stride) {
      Vec<T> weights = load(b);
      pin(weights);
      GEMM_UNROLL for (int g = 0; g < groups; g++) {
        GEMM_UNROLL for (int i = 0; i < together; i++) {
          Vec<T>& sum = acc[g * together + i][0];
          sum = multiply_add(broadcast(rows[g][i * step]), weights, sum);
        }
        rows[g]++;
      }
    }
  }
  if (full) {
    finish_tile<T, strip_pixels, 1, true>(acc, args.output, args.columns);
  } else {
    finish_tile<T, strip_pixels, 1, false>(acc, args.output, args.columns);
  }
}
constexpr auto strip_of_floats = strip<float>;
#else
constexpr void (*strip_of_floats)(const StripArgs<float>&) = nullptr;
#endif

}  // namespace
}  // namespace matrix

constinit const StripTable<float> strip_f32 = {matrix::strip_of_floats};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
