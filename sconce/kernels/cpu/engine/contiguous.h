// Fast path into a pointwise loop, for small operands that fill their blocks: no tiles, no tails, no threads.
#pragma once

#include <array>

#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The dtypes whose memory a loop can read as it is, as Compute + 1; 0 for the others.
inline constexpr auto kDirect = [] {
  std::array<uint8_t, kDTypeSlots> table{};
  for (DType t : {DType::float32, DType::float64, DType::int32, DType::int64, DType::bool_})
    table[static_cast<size_t>(t)] = static_cast<uint8_t>(static_cast<int>(compute_type(t)) + 1);
  return table;
}();

// `level`: cpu_level() - 2. `params` has room for one more: these dtypes do not narrow. `whole`: all operands have
// TensorImpl::whole_block, so that the loop may run over the end of each.
inline void run_contiguous(const PointwiseLoops& loops, int level, Compute compute, const TensorImpl& out,
                           const void* const* in, Param* params, bool whole) {
  constexpr int64_t kSmall = 2048;  // elements; more of them go to threads and streaming stores
  static constexpr int64_t kSteps[kMaxLoopInputs] = {64, 64, 64, 64, 64, 64};
  const int64_t numel = out.numel;
  if (numel == 0) return;
  const bool divides =
      (loops.divisor_inputs | loops.divisor_params) != 0 && compute != Compute::f32 && compute != Compute::f64;
  if (!whole || numel > kSmall || divides) return run_dense(loops, compute, out.data, in, numel, params);
  if (loops.narrows) params[loops.params] = Param::from_int(static_cast<int64_t>(Narrow::none));
  const int shift = compute == Compute::u8 ? 6 : compute == Compute::f64 || compute == Compute::i64 ? 3 : 4;
  const int64_t groups = (numel + (int64_t{1} << shift) - 1) >> shift;
  loops.loops[level][static_cast<int>(compute)](static_cast<char*>(out.data), reinterpret_cast<const char* const*>(in),
                                                kSteps, groups, params);
}

}  // namespace sconce
