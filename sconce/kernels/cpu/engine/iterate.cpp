#include "sconce/kernels/cpu/engine/iterate.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/prefetch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/kernels/cpu/engine/tile_grid.h"

namespace sconce {
namespace {

SCONCE_VARIANT(long_run, "pointwise.long", "dense operands of more elements than one thread's share");
SCONCE_VARIANT(simple_run, "pointwise.dense", "every operand dense or one element, in the loop's own types");
SCONCE_VARIANT(streamed, "pointwise.stream", "a result of 16 MB or more, of a cheap loop, not in place");
SCONCE_VARIANT(streamed_tiles, "pointwise.tiles.stream",
               "strided or converted operands, a result of 16 MB or more, of a cheap loop");
SCONCE_VARIANT(prefetched, "pointwise.tiles.prefetch", "a result of 8 MB or more, an input converted");
SCONCE_VARIANT(transposed_tiles, "pointwise.tiles.transposed",
               "an input whose elements are adjacent along another dimension");
SCONCE_VARIANT(long_rows, "pointwise.tiles.long_rows", "rows of a tile or more");
SCONCE_VARIANT(whole_rows, "pointwise.tiles.whole_rows", "long rows, and all operands used in place");
SCONCE_VARIANT(narrowing, "pointwise.narrow", "the loop rounds in between, and the common dtype has 16 bits");
SCONCE_VARIANT(bytes_as_int, "pointwise.bool_as_int", "bool operands of an operator without a loop over bytes");

constexpr int64_t kStreamBytes = int64_t{16} << 20;  // outputs of cheap loops from here on bypass the caches

constexpr int kComputeSize[kComputeTypes] = {4, 8, 4, 8, 1, 8, 16};
constexpr int kComputeSizeLog2[kComputeTypes] = {2, 3, 2, 3, 0, 3, 4};
constexpr DType kComputeDType[kComputeTypes] = {DType::float32, DType::float64,   DType::int32,     DType::int64,
                                                DType::bool_,   DType::complex64, DType::complex128};

// The bytes of an element that a loop writes.
int stored_size(LoopResult result, Compute compute) {
  const int size = kComputeSize[static_cast<int>(compute)];
  if (result == LoopResult::common) return size;
  return result == LoopResult::boolean ? 1 : compute == Compute::c64 || compute == Compute::c128 ? size / 2 : size;
}

// The type that a loop writes.
DType stored_dtype(const PointwiseLoops& loops, Compute compute) {
  const DType dtype = kComputeDType[static_cast<int>(compute)];
  switch (loops.result) {
    case LoopResult::boolean:
      return DType::bool_;
    case LoopResult::real:
      return real_dtype(dtype);
    default:
      return dtype;
  }
}

Loop find_loop(const PointwiseLoops& loops, Compute compute) {
  return loops.loops[cpu_level() - 2][static_cast<int>(compute)];
}

// --- bytes ----------------------------------------------------------------------------------------------------------

// 64 bytes full of one element.
inline __attribute__((always_inline)) void splat_group(char* out, const char* element, int size) {
  uint64_t word[2];
  switch (size) {
    case 1:
      word[0] = uint64_t{0x0101010101010101} * static_cast<uint8_t>(*element);
      break;
    case 2: {
      uint16_t x;
      std::memcpy(&x, element, 2);
      word[0] = uint64_t{0x0001000100010001} * x;
      break;
    }
    case 4: {
      uint32_t x;
      std::memcpy(&x, element, 4);
      word[0] = uint64_t{0x0000000100000001} * x;
      break;
    }
    case 8:
      std::memcpy(word, element, 8);
      break;
    default:
      std::memcpy(word, element, 16);
      for (int i = 0; i < 4; ++i) std::memcpy(out + 16 * i, word, 16);
      return;
  }
  for (int i = 0; i < 8; ++i) std::memcpy(out + 8 * i, word, 8);
}

// --- dense runs -----------------------------------------------------------------------------------------------------

// One loop with dense operands in its own types.
struct DenseCall {
  Loop loop;
  const Param* params;
  const TileKernels* tiles;
  int inputs;
  int lanes;  // elements of a group, a power of two
  int lanes_log2;
  int out_size;
  uint8_t divisors;  // inputs in which a zero is an error
  bool wide_divisors;
  bool math;
  std::atomic<bool>* zero_found;
  const char* in[kMaxLoopInputs];
  int64_t step[kMaxLoopInputs];
  int in_size[kMaxLoopInputs];

  bool has_zero_divisor(const char* const* from, int64_t n) const {
    for (int k = 0; k < inputs; ++k) {
      if ((divisors >> k & 1) == 0) continue;
      const int64_t count = step[k] == 0 ? 1 : n;
      if (wide_divisors ? tiles->has_zero_i64(from[k], count) : tiles->has_zero_i32(from[k], count)) return true;
    }
    return false;
  }
};

// n elements. When n is not a multiple of a group, the last whole group's worth is computed first and stored last: its
// elements overlap those of the group before it, which may be written over their own inputs by then.
inline __attribute__((always_inline)) void run_strip(const DenseCall& call, char* out, const char* const* from,
                                                     int64_t n) {
  if (call.divisors != 0 && call.has_zero_divisor(from, n)) {
    call.zero_found->store(true, std::memory_order_relaxed);
    return;
  }
  const int64_t groups = n >> call.lanes_log2;
  if (groups << call.lanes_log2 == n) {
    call.loop(out, from, call.step, groups, call.params);
    return;
  }
  if (groups == 0) {
    call.tiles->part_of_group(call.loop, out, call.out_size, from, call.step, call.in_size, call.inputs, n,
                              call.params);
    return;
  }
  alignas(64) char last[64];
  const char* in[kMaxLoopInputs];
  for (int k = 0; k < call.inputs; ++k) {
    in[k] = call.step[k] == 0 ? from[k] : from[k] + (n - call.lanes) * call.in_size[k];
  }
  call.loop(last, in, call.step, 1, call.params);
  call.loop(out, from, call.step, groups, call.params);
  std::memcpy(out + (n - call.lanes) * call.out_size, last, call.lanes * call.out_size);
}

void run_range(const DenseCall& call, char* out, int64_t begin, int64_t end, bool stream) {
  const char* from[kMaxLoopInputs];
  const auto start = [&](int64_t at) {
    for (int k = 0; k < call.inputs; ++k) from[k] = call.step[k] == 0 ? call.in[k] : call.in[k] + at * call.in_size[k];
  };
  if (!stream) {
    start(begin);
    run_strip(call, out + begin * call.out_size, from, end - begin);
    return;
  }
  alignas(64) char tile[kTileBytes];
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    start(at);
    run_strip(call, tile, from, n);
    call.tiles->stream(out + at * call.out_size, tile, n * call.out_size);
  }
  call.tiles->stream_fence();
}

void run_long(const DenseCall& call, char* out, int64_t numel) {
  bool stream = !call.math && numel * call.out_size >= kStreamBytes;
  for (int k = 0; k < call.inputs; ++k)
    stream &= call.in[k] != out;  // lines that are read anyway cost nothing to write
  streamed(stream);
  const int64_t tiles = (numel + kTile - 1) / kTile;
  parallel_for(tiles, kParallelGrain / kTile, [&](int64_t begin, int64_t end) {
    run_range(call, out, begin * kTile, std::min(end * kTile, numel), stream);
  });
}

SCONCE_COLD void fail_missing(const PointwiseLoops& loops, DType dtype) {
  fail_as(ErrorKind::not_implemented, "{}: not implemented for {}", loops.name, dtype_name(dtype));
}

SCONCE_COLD void fail_division() { fail_as(ErrorKind::zero_division, "ZeroDivisionError"); }

void check_divisor_params(const PointwiseLoops& loops, const Param* params) {
  for (int k = 0; k < loops.params; ++k) {
    if ((loops.divisor_params >> k & 1) != 0 && params[k].integer == 0) fail_division();
  }
}

bool is_integer(Compute compute) { return compute == Compute::i32 || compute == Compute::i64; }

// The operator's numbers, followed by how to round inside the expression.
union ParamRoom {  // not initialised until it is needed
  ParamRoom() {}
  Param list[kMaxLoopParams];
};
SCONCE_COLD const Param* with_narrow(const PointwiseLoops& loops, const Param* params, DType common, ParamRoom& room) {
  std::copy_n(params, loops.params, room.list);
  const Narrow mode = common == DType::float16    ? Narrow::float16
                      : common == DType::bfloat16 ? Narrow::bfloat16
                                                  : Narrow::none;
  narrowing(mode != Narrow::none);
  room.list[loops.params] = Param::from_int(static_cast<int64_t>(mode));
  return room.list;
}

// --- strided runs ---------------------------------------------------------------------------------------------------

struct TileBuffers {
  alignas(
      64) char input[kMaxLoopInputs][kTileBytes + 192];  // apart by more than a multiple of 4096: no false conflicts
  alignas(64) char raw[kTileBytes + 64];
  alignas(64) char between[kTileBytes + 64];
  alignas(64) char result[kTileBytes + 64];
};

struct StridedCall {
  DenseCall call;  // without operands
  const TileKernels* tiles;
  Geometry geometry;
  TileOperand out;
  TileOperand in[kMaxLoopInputs];
  int64_t mask_step;
  bool stream;
  bool prefetch;
};

void run_tiles(const StridedCall& s, const TileGrid& grid, int64_t begin, int64_t end) {
  const TileKernels& tiles = *s.tiles;
  DenseCall call = s.call;
  TileBuffers buffers;
  const char* from[kMaxLoopInputs];
  // The content of an input's buffer (0 rows: a repeated element): kept while the next tile would load the same again.
  const char* loaded[kMaxLoopInputs] = {};
  int64_t loaded_rows[kMaxLoopInputs], loaded_columns[kMaxLoopInputs];

  grid.each(s.geometry, call.inputs + 1, begin, end, [&](const int64_t* offset, int64_t rows, int64_t columns) {
    const int64_t n = rows * columns;
    for (int k = 0; k < call.inputs; ++k) {
      const TileOperand& t = s.in[k];
      const char* data = t.data + offset[k + 1];
      char* buffer = buffers.input[k];
      call.step[k] = t.loop_size * call.lanes;
      if (t.column_stride == 0 && (rows == 1 || t.row_stride == 0)) {
        call.step[k] = 0;
        from[k] = buffer;
        if (loaded[k] == data && loaded_rows[k] == 0) continue;
        loaded[k] = data, loaded_rows[k] = 0;
        if (t.conversion.none()) {
          splat_group(buffer, data, t.size);
        } else {
          alignas(16) char element[16];
          t.conversion.run(element, data, 1, buffers.between);
          splat_group(buffer, element, t.loop_size);
        }
        continue;
      }
      const bool dense = t.dense(rows, columns);
      if (dense && t.conversion.none()) {
        from[k] = data;
        continue;
      }
      from[k] = buffer;
      if (loaded[k] == data && loaded_rows[k] == rows && loaded_columns[k] == columns) continue;
      loaded[k] = data, loaded_rows[k] = rows, loaded_columns[k] = columns;
      if (dense) {
        if (prefetched(s.prefetch)) prefetch_after(data, n * t.size);
        t.conversion.run(buffer, data, n, buffers.between);
      } else if (t.conversion.none()) {
        gather_tile(tiles, buffer, data, t, rows, columns);
      } else {
        gather_tile(tiles, buffers.raw, data, t, rows, columns);
        t.conversion.run(buffer, buffers.raw, n, buffers.between);
      }
    }
    char* out = s.out.data + offset[0];
    const bool dense = s.out.dense(rows, columns);
    if (dense && s.out.conversion.none() && !s.stream) {
      run_strip(call, out, from, n);
      return;
    }
    run_strip(call, buffers.result, from, n);
    const char* result = buffers.result;
    if (!s.out.conversion.none()) {
      char* converted = dense && !s.stream ? out : buffers.raw;
      s.out.conversion.run(converted, result, n, buffers.between);
      result = converted;
    }
    if (dense && s.stream) {
      tiles.stream(out, result, n * s.out.size);
    } else if (!dense) {
      scatter_tile(tiles, out, result, s.out, rows, columns);
    }
  });
  if (s.stream) tiles.stream_fence();
}

// How much of the two innermost dimensions a tile covers.
TileGrid choose_grid(const StridedCall& s) {
  const Geometry& g = s.geometry;
  const int64_t columns = g.size[g.dims - 1];
  const int64_t rows = g.dims > 1 ? g.size[g.dims - 2] : 1;
  int largest = std::max(s.out.size, s.out.loop_size);
  bool transposed = false, in_place = s.out.conversion.none() && s.out.column_stride == s.out.size;
  for (int k = 0; k < s.call.inputs; ++k) {
    const TileOperand& t = s.in[k];
    transposed |= rows > 1 && t.row_stride == t.size && t.column_stride > t.size;
    in_place &= t.column_stride == 0 || (t.conversion.none() && t.column_stride == t.size);
    largest = std::max({largest, t.size, t.loop_size});
  }
  if (transposed_tiles(transposed)) {
    const int64_t tile_rows = transposed_rows(largest, rows);
    int64_t tile_columns = std::min(columns, kTileBytes / largest / tile_rows);
    if (tile_columns >= 16) tile_columns &= ~int64_t{15};
    return {g, tile_rows, tile_columns};
  }
  if (long_rows(columns >= kTile)) {
    return {g, 1, whole_rows(in_place && !s.stream) ? std::min(columns, kParallelGrain) : kTile};
  }
  return {g, rows * columns <= kTile ? rows : kTile / columns, columns};
}

inline void fill_call(DenseCall& call, const PointwiseLoops& loops, Compute compute, Loop loop, const Param* params,
                      std::atomic<bool>* zero_found) {
  call.loop = loop;
  call.params = params;
  call.tiles = &tile_kernels();
  call.inputs = loops.inputs;
  call.lanes_log2 = 6 - kComputeSizeLog2[static_cast<int>(compute)];
  call.lanes = 1 << call.lanes_log2;
  call.out_size = stored_size(loops.result, compute);
  call.divisors = is_integer(compute) ? loops.divisor_inputs : 0;
  call.wide_divisors = compute == Compute::i64;
  call.zero_found = zero_found;
  call.math = loops.math;
}

}  // namespace

bool has_loop(const PointwiseLoops& loops, DType common) {
  return find_loop(loops, compute_type(common)) != nullptr ||
         (common == DType::bool_ && find_loop(loops, Compute::i32) != nullptr);
}

void run_dense(const PointwiseLoops& loops, Compute compute, void* out, const void* const* in, int64_t numel,
               const Param* params, uint32_t scalars) {
  const Loop loop = find_loop(loops, compute);
  if (loop == nullptr) fail_missing(loops, kComputeDType[static_cast<int>(compute)]);
  ParamRoom room;
  if (loops.narrows) params = with_narrow(loops, params, kComputeDType[static_cast<int>(compute)], room);
  std::atomic<bool> zero_found = false;
  DenseCall call;
  fill_call(call, loops, compute, loop, params, &zero_found);
  alignas(64) char repeated[kMaxLoopInputs][64];
  const int item = kComputeSize[static_cast<int>(compute)];
  for (int k = 0; k < loops.inputs; ++k) {
    call.in_size[k] = (loops.mask_inputs >> k & 1) != 0 ? 1 : item;
    call.in[k] = static_cast<const char*>(in[k]);
    call.step[k] = call.in_size[k] * call.lanes;
    if ((scalars >> k & 1) != 0) {
      splat_group(repeated[k], call.in[k], call.in_size[k]);
      call.in[k] = repeated[k];
      call.step[k] = 0;
    }
  }
  if (is_integer(compute) && loops.divisor_params != 0) check_divisor_params(loops, params);
  if (long_run(numel > kParallelGrain)) {
    run_long(call, static_cast<char*>(out), numel);
  } else if (numel > 0) {
    run_strip(call, static_cast<char*>(out), call.in, numel);
  }
  if (zero_found.load(std::memory_order_relaxed)) fail_division();
}

void run_pointwise(const PointwiseLoops& loops, DType common, std::span<const int64_t> sizes, const Operand& out,
                   std::span<const Operand> in, const Param* params) {
  SCONCE_ASSERT(in.size() == loops.inputs);
  Compute compute = compute_type(common);
  Loop loop = find_loop(loops, compute);
  if (bytes_as_int(loop == nullptr && common == DType::bool_)) {  // operations without byte loops go through int32
    compute = Compute::i32;
    loop = find_loop(loops, compute);
  }
  if (loop == nullptr) fail_missing(loops, common);

  const Operand* operands[kMaxOperands] = {&out};
  for (int k = 0; k < loops.inputs; ++k) operands[k + 1] = &in[k];
  StridedCall s;
  if (!build_geometry(s.geometry, sizes, operands, loops.inputs + 1)) return;
  const Geometry& g = s.geometry;

  ParamRoom room;
  const Param* loop_params = loops.narrows ? with_narrow(loops, params, common, room) : params;
  std::atomic<bool> zero_found = false;
  fill_call(s.call, loops, compute, loop, loop_params, &zero_found);
  if (is_integer(compute) && loops.divisor_params != 0) check_divisor_params(loops, params);
  const TileKernels& tiles = *s.call.tiles;
  s.tiles = &tiles;

  const DType loop_dtype = kComputeDType[static_cast<int>(compute)];
  const auto describe = [&](TileOperand& t, const Operand& operand, int k) {
    t.data = static_cast<char*>(operand.data);
    t.size = static_cast<int>(item_size(operand.dtype));
    t.column_stride = g.stride[g.dims - 1][k];
    t.row_stride = g.dims > 1 ? g.stride[g.dims - 2][k] : 0;
    t.scalar = true;
    for (int d = 0; d < g.dims; ++d) t.scalar &= g.stride[d][k] == 0;
  };
  bool simple = g.dims == 1;  // everything dense or scalar, in the types of the loop
  for (int k = 0; k < loops.inputs; ++k) {
    TileOperand& t = s.in[k];
    describe(t, in[k], k + 1);
    if ((loops.mask_inputs >> k & 1) != 0) {
      t.loop_size = 1;
      if (in[k].dtype != DType::uint8) t.conversion.add(tiles, in[k].dtype, DType::bool_);
    } else {
      t.loop_size = static_cast<int>(item_size(loop_dtype));
      t.conversion.add(tiles, in[k].dtype, common);
      t.conversion.add(tiles, common, loop_dtype);
    }
    s.call.in_size[k] = t.loop_size;
    simple &= t.conversion.none() && (t.scalar || t.column_stride == t.size);
  }
  describe(s.out, out, 0);
  s.out.loop_size = s.call.out_size;
  const DType written = stored_dtype(loops, compute);
  const DType result = loops.result == LoopResult::boolean ? DType::bool_
                       : loops.result == LoopResult::real  ? real_dtype(common)
                                                           : common;
  s.out.conversion.add(tiles, written, result);
  s.out.conversion.add(tiles, result, out.dtype);
  simple &= s.out.conversion.none() && s.out.column_stride == s.out.size;

  if (simple_run(simple)) {
    alignas(64) char repeated[kMaxLoopInputs][64];
    for (int k = 0; k < loops.inputs; ++k) {
      s.call.in[k] = s.in[k].data;
      s.call.step[k] = s.in[k].loop_size * s.call.lanes;
      if (!s.in[k].scalar) continue;
      splat_group(repeated[k], s.in[k].data, s.in[k].size);
      s.call.in[k] = repeated[k];
      s.call.step[k] = 0;
    }
    if (long_run(g.size[0] > kParallelGrain)) {
      run_long(s.call, s.out.data, g.size[0]);
    } else {
      run_strip(s.call, s.out.data, s.call.in, g.size[0]);
    }
  } else {
    int64_t numel = 1;
    for (int d = 0; d < g.dims; ++d) numel *= g.size[d];
    s.stream = !loops.math && numel * s.out.size >= kStreamBytes;
    s.prefetch = numel * s.out.size >= kPrefetchBytes;
    for (int k = 0; k < loops.inputs; ++k) s.stream &= s.in[k].data != s.out.data;
    streamed_tiles(s.stream);
    const TileGrid grid = choose_grid(s);
    if (numel <= kParallelGrain) {
      run_tiles(s, grid, 0, grid.count());
    } else {
      const int64_t grain = std::max<int64_t>(1, kParallelGrain / (grid.tile_rows * grid.tile_columns));
      parallel_for(grid.count(), grain, [&](int64_t begin, int64_t end) { run_tiles(s, grid, begin, end); });
    }
  }
  if (zero_found.load(std::memory_order_relaxed)) fail_division();
}

}  // namespace sconce
