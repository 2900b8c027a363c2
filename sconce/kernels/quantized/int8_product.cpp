#include "sconce/kernels/quantized/int8_product.h"

#include "sconce/kernels/cpu/engine/cpu_features.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce {
namespace {

const Int8Table& find_table() {
  switch (cpu_level()) {
#if SCONCE_CPU_LEVELS >= 2
    case 3:
      return has_byte_products(3) ? v3::int8_table_extended : v3::int8_table;
#endif
#if SCONCE_CPU_LEVELS >= 3
    case 4:
      return has_byte_products(4) ? v4::int8_table_extended : v4::int8_table;
#endif
    default:
      return v2::int8_table;
  }
}

}  // namespace

bool has_byte_products(int level) {
#if defined(__x86_64__)
  return level == 4 ? cpu_has_avx512_vnni() : level == 3 && cpu_has_avx_vnni();
#else
  return level == 3 && cpu_has_dot_product();
#endif
}

const Int8Table& int8_table() {
  static const Int8Table& table = find_table();
  return table;
}

namespace quantized {

AlignedBytes::AlignedBytes(int64_t count) : memory_(static_cast<size_t>(count) + 63) {
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  data_ = memory_.data() + ((address + 63) / 64 * 64 - address);
}

void take_column_params(const Quantizer& q, int64_t first, int64_t count, PackedWeights& packed) {
  const auto padded = static_cast<size_t>((count + Int8Table::panel - 1) / Int8Table::panel * Int8Table::panel);
  packed.n = count;
  packed.scales.assign(padded, 0);
  packed.zero_points.assign(padded, 0);
  packed.has_zero_points = false;
  for (int64_t c = 0; c < count; ++c) {
    const auto at = static_cast<size_t>(c);
    const bool each = q.per_channel();
    packed.scales[at] = static_cast<float>(each ? q.scales.data<double>()[first + c] : q.scale);
    packed.zero_points[at] = static_cast<int32_t>(each ? q.zero_points.data<int64_t>()[first + c] : q.zero_point);
    packed.has_zero_points = packed.has_zero_points || packed.zero_points[at] != 0;
  }
}

ColumnTerms column_terms(const PackedWeights& packed, const float* bias, float in_scale, int32_t in_zero_point,
                         float out_scale) {
  ColumnTerms terms;
  const size_t padded = packed.scales.size();
  terms.offset.assign(padded, 0);
  terms.bias.assign(padded, 0);
  terms.scale.assign(padded, 0);
  for (size_t c = 0; c < static_cast<size_t>(packed.n); ++c) {
    const float both = in_scale * packed.scales[c];
    terms.offset[c] = static_cast<int32_t>(in_zero_point * (packed.sums[c] - packed.elements * packed.zero_points[c]));
    terms.scale[c] = out_scale == 0 ? both : both / out_scale;
    if (bias) terms.bias[c] = out_scale == 0 ? bias[c] : bias[c] / both;
  }
  return terms;
}

int64_t rows_at_once(const PackedWeights& packed) {
  constexpr int64_t kCacheBytes = 256 << 10;
  const int64_t rows = kCacheBytes / std::max<int64_t>(1, packed.taps * packed.k);
  return std::clamp<int64_t>(rows / 8 * 8, 8, 256);
}

}  // namespace quantized
}  // namespace sconce
