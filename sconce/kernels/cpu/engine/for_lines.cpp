#include "sconce/kernels/cpu/engine/for_lines.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(neighbours, "lines.transposed",
               "lines that stand side by side, of a source or a result, with gaps along them");
SCONCE_VARIANT(blocks_read, "lines.read", "lines that are gathered or converted before they are used");
SCONCE_VARIANT(blocks_written, "lines.write", "lines of a result that are scattered or converted after they are made");
SCONCE_VARIANT(one_at_a_time, "lines.long", "side by side, but too long to be taken together");

constexpr int kMaxOuts = 3;
constexpr int64_t kTile = 16;             // neighbouring lines that are transposed together
constexpr int64_t kTileElements = 65536;  // no more than this are

// One tensor as lines. Strides are in bytes; those of the other dims are in the order in which lines are numbered.
struct Side {
  char* data;
  DType dtype, compute;
  int64_t n = 1, item, step;
  Dims strides;

  Side(const LineOperand& operand, int64_t dim, IntList order)
      : data(static_cast<char*>(operand.tensor.data())), dtype(operand.tensor.dtype()), compute(operand.compute) {
    item = step = static_cast<int64_t>(item_size(dtype));
    if (operand.tensor.dim() > 0) {
      n = operand.tensor.sizes()[static_cast<size_t>(dim)];
      step = operand.tensor.strides()[static_cast<size_t>(dim)] * item;
    }
    for (int64_t d : order) strides.push_back(operand.tensor.strides()[static_cast<size_t>(d)] * item);
    if (strides.empty()) strides.push_back(0);
  }
  int64_t width() const { return static_cast<int64_t>(item_size(compute)); }
  bool direct() const { return (step == item || n <= 1) && dtype == compute; }
  // Do neighbouring lines stand side by side?
  bool side_by_side() const { return strides[0] == item && step != item && n > 1; }
  int log_item() const { return std::countr_zero(static_cast<unsigned>(item)); }
};

void convert(void* out, DType to, const void* in, DType from, int64_t n) {
  conversion(tile_kernels(), from, to)(out, in, n);
}

// `lines` lines from `at` on into `out`, one after the other, in the compute type.
void read_lines(const Side& side, const char* at, int64_t lines, char* out, char* raw) {
  const TileKernels& tiles = tile_kernels();
  char* to = side.dtype == side.compute ? out : raw;
  if (lines > 1 && side.side_by_side()) {
    tiles.transpose[side.log_item()](to, side.n * side.item, at, side.step, lines, side.n);
  } else {
    for (int64_t k = 0; k < lines; ++k)
      tiles.gather[side.log_item()](to + k * side.n * side.item, at + k * side.strides[0], side.step, side.n);
  }
  if (to != out) convert(out, side.compute, raw, side.dtype, lines * side.n);
}

void write_lines(const Side& side, char* at, int64_t lines, const char* in, char* raw) {
  const TileKernels& tiles = tile_kernels();
  const char* from = in;
  if (side.dtype != side.compute) {
    convert(raw, side.dtype, in, side.compute, lines * side.n);
    from = raw;
  }
  if (lines > 1 && side.side_by_side()) {
    tiles.transpose[side.log_item()](at, side.step, from, side.n * side.item, side.n, lines);
    return;
  }
  for (int64_t k = 0; k < lines; ++k)
    tiles.scatter[side.log_item()](at + k * side.strides[0], side.step, from + k * side.n * side.item, side.n);
}

}  // namespace

void for_lines(const LineOperand& in, int64_t dim, std::span<const LineOperand> outs, int64_t grain,
               FunctionRef<void(const void* in, void* const* out)> body) {
  const int64_t rank = in.tensor.dim();
  Dims order, sizes;  // the other dims, innermost first
  if (rank > 0) {
    for (int64_t d : memory_order(in.tensor.sizes(), in.tensor.strides())) {
      if (d == dim) continue;
      order.push_back(d);
      sizes.push_back(in.tensor.sizes()[static_cast<size_t>(d)]);
    }
  }
  if (sizes.empty()) sizes.push_back(1);  // one line
  const Side source(in, dim, order);
  std::vector<Side> targets;
  for (const LineOperand& out : outs) targets.emplace_back(out, dim, order);
  const int64_t inner = sizes[0];
  bool tiled = source.side_by_side();
  for (const Side& t : targets) tiled = tiled || t.side_by_side();
  const int64_t tile =
      neighbours(tiled) ? std::clamp<int64_t>(kTileElements / std::max<int64_t>(source.n, 1), 1, std::min(kTile, inner))
                        : 1;
  if (tiled) one_at_a_time(tile == 1);
  blocks_read(!source.direct());
  for (const Side& t : targets) blocks_written(!t.direct());
  const int64_t per_row = (inner + tile - 1) / tile;
  int64_t groups = per_row;
  for (size_t d = 1; d < sizes.size(); ++d) groups *= sizes[d];
  parallel_for(groups, std::max<int64_t>(1, grain / std::max<int64_t>(source.n * tile, 1)),
               [&](int64_t begin, int64_t end) {
                 Scratch scratch;
                 char* in_block = source.direct() ? nullptr : scratch.take<char>(tile * source.n * source.width());
                 int64_t raw_bytes = source.dtype == source.compute ? 0 : tile * source.n * source.item;
                 char* out_block[kMaxOuts] = {};
                 for (size_t i = 0; i < targets.size(); ++i) {
                   const Side& t = targets[i];
                   if (!t.direct()) out_block[i] = scratch.take<char>(tile * t.n * t.width());
                   if (t.dtype != t.compute) raw_bytes = std::max(raw_bytes, tile * t.n * t.item);
                 }
                 char* raw = raw_bytes > 0 ? scratch.take<char>(raw_bytes) : nullptr;
                 for (int64_t g = begin; g < end; ++g) {
                   const int64_t first = g % per_row * tile, lines = std::min(tile, inner - first);
                   const auto place = [&](const Side& side) {
                     char* at = side.data + first * side.strides[0];
                     int64_t row = g / per_row;
                     for (size_t d = 1; d < sizes.size(); ++d) {
                       at += row % sizes[d] * side.strides[d];
                       row /= sizes[d];
                     }
                     return at;
                   };
                   const char* from = place(source);
                   char* to[kMaxOuts] = {};
                   for (size_t i = 0; i < targets.size(); ++i) to[i] = place(targets[i]);
                   if (in_block) read_lines(source, from, lines, in_block, raw);
                   for (int64_t k = 0; k < lines; ++k) {
                     void* out[kMaxOuts] = {};
                     for (size_t i = 0; i < targets.size(); ++i)
                       out[i] = out_block[i] ? out_block[i] + k * targets[i].n * targets[i].width()
                                             : to[i] + k * targets[i].strides[0];
                     body(in_block ? in_block + k * source.n * source.width() : from + k * source.strides[0], out);
                   }
                   for (size_t i = 0; i < targets.size(); ++i) {
                     if (out_block[i]) write_lines(targets[i], to[i], lines, out_block[i], raw);
                   }
                 }
               });
}

}  // namespace sconce::cpu
