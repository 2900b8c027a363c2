#include "sconce/kernels/cpu/engine/reduce_engine.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/prefetch.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"

namespace sconce {
namespace {

SCONCE_VARIANT(columns_way, "reduce.columns", "outputs side by side, 16 or more, and reduced elements that are not");
SCONCE_VARIANT(narrow_way, "reduce.narrow",
               "fewer than 16 outputs side by side, more than 32 rows right behind each other");
SCONCE_VARIANT(narrow_ordered, "reduce.narrow.ordered",
               "as reduce.narrow, of a reduction whose result depends on the order");
SCONCE_VARIANT(one_leaf, "reduce.one_leaf", "4,096 reduced elements or fewer");
SCONCE_VARIANT(short_way, "reduce.short_rows", "2 to 32 reduced elements, 16 outputs or more");
SCONCE_VARIANT(dense_rows, "reduce.rows.dense", "reduced elements side by side, in the type of the loop");
SCONCE_VARIANT(outputs_shared, "reduce.rows.outputs",
               "several leaves, and outputs enough to share them out instead of the leaves");
SCONCE_VARIANT(gathered_run, "reduce.gather", "reduced elements with gaps");
SCONCE_VARIANT(converted_run, "reduce.convert", "elements in another type than the loop's");
SCONCE_VARIANT(two_conversions, "reduce.convert.twice", "elements that become the common type first");
SCONCE_VARIANT(prefetched, "reduce.prefetch", "8 MB or more, elements converted, more than 512 at a time");
SCONCE_VARIANT(scattered_results, "reduce.store.scatter", "results that are not side by side");
SCONCE_VARIANT(narrow_rest, "reduce.narrow.rest", "rows that are no multiple of 16");

SCONCE_VARIANT(column_blocks, "reduce.columns.blocks", "more than 4,096 rows, reduced in blocks that are merged");
SCONCE_VARIANT(column_tasks, "reduce.columns.outputs",
               "several threads, and blocks of columns enough to share them out");
SCONCE_VARIANT(columns_in_place, "reduce.columns.in_place", "columns in whole vectors, in the type of the loop");
SCONCE_VARIANT(walked_rows, "reduce.columns.walk", "rows at places that several reduced dims give");
SCONCE_VARIANT(column_leaves, "reduce.columns.leaves", "more than 64 rows in a block");

constexpr int64_t kGrain = 32768;          // elements; fewer are not worth waking a thread
constexpr int64_t kBatch = 256;            // outputs that are finished and stored together
constexpr int64_t kBlockRows = 4096;       // rows of a block of columns that become one slot
constexpr int64_t kShortRow = 32;          // rows up to here are transposed and reduced as columns
constexpr int64_t kShortRowOutputs = 128;  // that many at a time
constexpr int64_t kTileColumns = 128;      // of a block of columns that must be converted
constexpr int64_t kDirectColumns = 1024;   // of one that is used in place
constexpr int64_t kPiece = 512;            // elements that are converted at a time where memory is slow
constexpr int kMaxDims = 64;

constexpr DType kComputeDType[kComputeTypes] = {DType::float32, DType::float64,   DType::int32,     DType::int64,
                                                DType::bool_,   DType::complex64, DType::complex128};
constexpr DType wide_dtype(Compute c) {
  switch (c) {
    case Compute::f32:
    case Compute::f64:
      return DType::float64;
    case Compute::i64:
      return DType::int64;
    case Compute::u8:
      return DType::bool_;
    default:
      return DType::complex128;
  }
}

Compute compute_for(const ReduceLoops& loops, DType common) {
  switch (category(common)) {
    case Category::boolean: {
      const bool bytes = loops.kernels[0][static_cast<int>(Compute::u8)] != nullptr;
      return bytes ? Compute::u8 : Compute::i64;
    }
    case Category::integral:
      return Compute::i64;
    case Category::floating:
      return common == DType::float64 ? Compute::f64 : Compute::f32;
    case Category::complex:
      return Compute::c128;
  }
  return Compute::f32;
}

const ReduceKernels* find_kernels(const ReduceLoops& loops, DType common) {
  return loops.kernels[cpu_level() - 2][static_cast<int>(compute_for(loops, common))];
}

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int log2_size(int64_t item) { return std::countr_zero(static_cast<uint64_t>(item)); }

// Arrays of states, 64-byte aligned and padded by a whole vector, from wherever one is read.
struct States {
  char* at[kMaxStates];
  int64_t item;

  static States take(Scratch& scratch, int count, int64_t outputs, int64_t item) {
    States s{};
    s.item = item;
    for (int k = 0; k < count; ++k) s.at[k] = scratch.take<char>(rounded_up(outputs * item, 64) + 64);
    return s;
  }
  States from(int64_t output) const {
    States s = *this;
    for (char*& p : s.at) {
      if (p) p += output * item;
    }
    return s;
  }
};

// Dimensions with strides in bytes, the innermost last.
struct Axis {
  int64_t size, in, out[kMaxReduceResults];
};
struct Axes {
  Axis axis[kMaxDims];
  int rank = 0;
  int64_t numel = 1;

  void add(const Axis& a) {
    numel *= a.size;
    if (a.size != 1) axis[rank++] = a;
  }
  void sort() {
    std::stable_sort(axis, axis + rank, [](const Axis& a, const Axis& b) { return a.in > b.in; });
  }
  void merge() {
    int last = 0;
    for (int i = 1; i < rank; ++i) {
      Axis &a = axis[last], b = axis[i];
      bool joins = a.in == b.in * b.size;
      for (int r = 0; r < kMaxReduceResults; ++r) joins &= a.out[r] == b.out[r] * b.size;
      if (joins) {
        b.size *= a.size;
        a = b;
      } else {
        axis[++last] = b;
      }
    }
    if (rank > 0) rank = last + 1;
  }
  const Axis& inner() const { return axis[rank - 1]; }
};

// Walks a range of indices of some axes, row by row along the innermost.
class Walk {
 public:
  Walk(const Axes& axes, int64_t first) : axes_(axes) {
    for (int d = axes.rank - 1; d >= 0; --d) {
      index_[d] = first % axes.axis[d].size;
      first /= axes.axis[d].size;
      in_ += index_[d] * axes.axis[d].in;
    }
  }
  int64_t in() const { return in_; }
  int64_t out(int r) const {
    int64_t at = 0;
    for (int d = 0; d < axes_.rank; ++d) at += index_[d] * axes_.axis[d].out[r];
    return at;
  }
  // How many more there are along the innermost axis, this one included.
  int64_t run() const { return axes_.rank == 0 ? 1 : axes_.inner().size - index_[axes_.rank - 1]; }
  void advance(int64_t by) {  // by <= run()
    int d = axes_.rank - 1;
    if (d < 0) return;
    index_[d] += by;
    in_ += by * axes_.axis[d].in;
    while (d > 0 && index_[d] == axes_.axis[d].size) {
      in_ -= index_[d] * axes_.axis[d].in;
      index_[d] = 0;
      ++index_[--d];
      in_ += axes_.axis[d].in;
    }
  }

 private:
  const Axes& axes_;
  int64_t in_ = 0;
  int64_t index_[kMaxDims];
};

class Reduction {
 public:
  Reduction(const ReduceLoops& loops, DType common, std::span<const int64_t> sizes, const bool* reduced,
            const Operand& in, std::span<const Operand> out, const Param* params)
      : loops_(loops),
        kernels_(*find_kernels(loops, common)),
        tiles_(tile_kernels()),
        params_(params),
        in_(static_cast<const char*>(in.data)),
        out_(out) {
    const Compute compute = compute_for(loops, common);
    const DType computed = kComputeDType[static_cast<int>(compute)];
    wide_ = wide_dtype(compute);
    item_ = static_cast<int64_t>(item_size(in.dtype));
    compute_item_ = static_cast<int64_t>(item_size(computed));
    wide_item_ = static_cast<int64_t>(item_size(wide_));
    per_group_ = 64 / compute_item_;
    direct_ = in.dtype == computed && common == computed;
    if (in.dtype != common) to_common_ = conversion(tiles_, in.dtype, common);
    if (common != computed) to_compute_ = conversion(tiles_, common, computed);
    common_item_ = static_cast<int64_t>(item_size(common));

    for (size_t d = 0; d < sizes.size(); ++d) {
      Axis a{sizes[d], in.strides[d] * item_, {}};
      if (reduced[d]) {
        reduced_.add(a);
        continue;
      }
      for (size_t r = 0; r < out.size(); ++r)
        a.out[r] = out[r].strides[d] * static_cast<int64_t>(item_size(out[r].dtype));
      kept_.add(a);
    }
    if (reduced_.numel == 0 || kept_.numel == 0) return;
    kept_.sort();
    kept_.merge();
    if (!loops.ordered) reduced_.sort();
    reduced_.merge();
    prefetch_ = kept_.numel * reduced_.numel * item_ >= kPrefetchBytes;
  }

  void run() {
    if (kept_.numel == 0) return;
    if (reduced_.numel == 0) return reduce_nothing();
    const bool adjacent_columns = kept_.rank > 0 && kept_.inner().in == item_;
    const bool adjacent_rows = reduced_.rank == 0 || reduced_.inner().in == item_;
    if (columns_way(adjacent_columns && !adjacent_rows && kept_.inner().size >= 16)) return reduce_columns();
    reduce_rows();
  }

 private:
  static constexpr int64_t kLeaf = kLeafElements;

  int64_t threads_for(int64_t elements) const { return elements < kGrain ? 1 : num_threads(); }

  // --- elements ---------------------------------------------------------------------------------------------------

  // n elements `stride` bytes apart, adjacent and in the compute type, to `to`. buffer: 2 * n elements.
  void fetch_run(char* to, const char* from, int64_t stride, int64_t n, char* buffer) const {
    if (gathered_run(stride != item_ && n > 1)) {
      char* gathered = to_common_ || to_compute_ ? buffer : to;
      tiles_.gather[log2_size(item_)](gathered, from, stride, n);
      if (gathered == to) return;
      from = gathered;
    }
    converted_run(to_common_ != nullptr || to_compute_ != nullptr);
    if (two_conversions(to_common_ && to_compute_)) {
      char* between = buffer + rounded_up(n * item_, 64);
      to_common_(between, from, n);
      to_compute_(to, between, n);
    } else if (to_common_ || to_compute_) {
      const auto convert = to_common_ ? to_common_ : to_compute_;
      if (!prefetched(prefetch_ && n > kPiece && from != buffer)) return convert(to, from, n);
      for (int64_t at = 0; at < n; at += kPiece) {
        const int64_t m = std::min(kPiece, n - at);
        prefetch_after(from + at * item_, m * item_);
        convert(to + at * compute_item_, from + at * item_, m);
      }
    } else {
      std::memcpy(to, from, static_cast<size_t>(n * item_));
    }
  }
  int64_t buffer_bytes(int64_t n) const { return rounded_up(n * item_, 64) + rounded_up(n * common_item_, 64); }

  // Elements [first, first + n) of the reduction that begins at `base`.
  void fetch(char* to, const char* base, int64_t first, int64_t n, char* buffer) const {
    Walk walk(reduced_, first);
    const int64_t stride = reduced_.rank == 0 ? item_ : reduced_.inner().in;
    while (n > 0) {
      const int64_t m = std::min(n, walk.run());
      fetch_run(to, base + walk.in(), stride, m, buffer);
      walk.advance(m);
      to += m * compute_item_;
      n -= m;
    }
  }

  // --- results ----------------------------------------------------------------------------------------------------

  // Finishes and stores outputs [first, first + n); n <= kBatch or the tile of columns.
  void store(int64_t first, int64_t n, const States& states) const {
    Scratch scratch;
    char* finished[kMaxReduceResults];
    for (int r = 0; r < loops_.results; ++r)
      finished[r] = scratch.take<char>(rounded_up(n * std::max<int64_t>(wide_item_, 8), 64));
    kernels_.finish(finished, states.at, n, reduced_.numel, params_);
    char* converted = scratch.take<char>(n * 16);
    for (int r = 0; r < loops_.results; ++r) {
      const bool index = loops_.indices >> r & 1;
      const DType from = index ? DType::int64 : wide_;
      const DType to = out_[r].dtype;
      const auto to_item = static_cast<int64_t>(item_size(to));
      const char* values = finished[r];
      if (from != to) {
        conversion(tiles_, from, to)(converted, values, n);
        values = converted;
      }
      char* out = static_cast<char*>(out_[r].data);
      if (kept_.rank == 0) {
        std::memcpy(out, values, static_cast<size_t>(to_item));
        continue;
      }
      Walk walk(kept_, first);
      const int64_t stride = kept_.inner().out[r];
      for (int64_t left = n; left > 0;) {
        const int64_t m = std::min(left, walk.run());
        char* at = out + walk.out(r);
        if (scattered_results(stride != to_item && m != 1)) {
          tiles_.scatter[log2_size(to_item)](at, stride, values, m);
        } else {
          std::memcpy(at, values, static_cast<size_t>(m * to_item));
        }
        values += m * to_item;
        left -= m;
        walk.advance(m);
      }
    }
  }

  void reduce_nothing() const {
    Scratch scratch;
    const States states = States::take(scratch, loops_.states, kBatch, wide_item_);
    kernels_.identity(states.at, kBatch);
    for (int64_t i = 0; i < kept_.numel; i += kBatch) store(i, std::min(kBatch, kept_.numel - i), states);
  }

  // slots[0] = slots[0] and ... and slots[count - 1], each `width` states wide and `pitch` apart.
  void merge_slots(const States& slots, int64_t count, int64_t width, int64_t pitch) const {
    while (count > 1) {
      const int64_t half = (count + 1) / 2;
      if (width == 1 && pitch == 1) {
        kernels_.merge(slots.at, slots.from(half).at, count - half, params_);
      } else {
        for (int64_t i = 0; i < count - half; ++i)
          kernels_.merge(slots.from(i * pitch).at, slots.from((i + half) * pitch).at, width, params_);
      }
      count = half;
    }
  }

  // --- rows: the reduced elements of an output are one leaf or more
  // ---------------------------------------------------

  void reduce_rows() const {
    const int64_t outputs = kept_.numel, count = reduced_.numel, total = outputs * count;
    const int64_t leaves = (count + kLeaf - 1) / kLeaf;
    const bool dense = direct_ && reduced_.rank <= 1 && (reduced_.rank == 0 || reduced_.inner().in == item_);
    const int64_t threads = threads_for(total);
    const int64_t grain = std::max<int64_t>(1, kGrain / count);
    if (narrow_way(is_narrow())) return narrow_ordered(loops_.ordered) ? narrow_columns_in_order() : narrow_columns();
    dense_rows(dense);
    if (one_leaf(leaves == 1)) {
      parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
        if (short_way(count <= kShortRow && count > 1 && outputs >= 16 && compute_item_ < 16)) {
          short_rows(begin, end, dense);
        } else {
          whole_rows(begin, end, dense);
        }
      });
      return;
    }
    const auto one = [&](int64_t output) {
      Scratch scratch;
      const States slots = States::take(scratch, loops_.states, leaves, wide_item_);
      const char* base = in_ + Walk(kept_, output).in();
      parallel_for(leaves, kGrain / kLeaf, [&](int64_t begin, int64_t end) {
        Scratch inner;
        char* tile = dense ? nullptr : inner.take<char>(kLeaf * compute_item_);
        char* buffer = dense ? nullptr : inner.take<char>(buffer_bytes(kLeaf));
        for (int64_t leaf = begin; leaf < end; ++leaf) {
          const int64_t first = leaf * kLeaf, n = std::min(kLeaf, count - first);
          const char* from = base + first * item_;
          if (!dense) {
            fetch(tile, base, first, n, buffer);
            from = tile;
          }
          kernels_.rows(from, 0, n, 1, first, params_, slots.from(leaf).at);
        }
      });
      merge_slots(slots, leaves, 1, 1);
      store(output, 1, slots);
    };
    if (outputs_shared(outputs >= 2 * threads)) {
      parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one(i);
      });
    } else {
      for (int64_t i = 0; i < outputs; ++i) one(i);
    }
  }

  // A few columns, and their rows one after the other in memory.
  bool is_narrow() const {
    return kept_.rank > 0 && kept_.inner().in == item_ && kept_.inner().size < 16 && compute_item_ < 16 &&
           reduced_.rank == 1 && reduced_.inner().in == kept_.inner().size * item_ && reduced_.numel > kShortRow;
  }

  // 16 rows are taken as one that is 16 times as wide, and its parts merged in the end.
  void narrow_columns() const {
    const int64_t columns = kept_.inner().size, width = 16 * columns, count = reduced_.numel;
    const int64_t wide_rows = count / 16, rest = count % 16, blocks = (wide_rows + kBlockRows - 1) / kBlockRows;
    const auto one = [&](int64_t first_output) {
      Scratch scratch;
      const char* base = in_ + Walk(kept_, first_output).in();
      const int64_t pitch = rounded_up(width, 64);
      const States slots = States::take(scratch, loops_.states, blocks * pitch, wide_item_);
      parallel_for(blocks, std::max<int64_t>(1, kGrain / (kBlockRows * width)), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
          column_block(base, width * item_, b * kBlockRows, std::min(kBlockRows, wide_rows - b * kBlockRows), width,
                       slots.from(b * pitch));
      });
      merge_slots(slots, blocks, width, pitch);
      for (int64_t half = width / 2; half >= columns; half /= 2)
        kernels_.merge(slots.at, slots.from(half).at, half, params_);
      if (narrow_rest(rest > 0)) {
        const States last = States::take(scratch, loops_.states, 64, wide_item_);
        column_block(base + wide_rows * width * item_, columns * item_, 0, rest, columns, last);
        kernels_.merge(slots.at, last.at, columns, params_);
      }
      store(first_output, columns, slots);
    };
    const int64_t outer = kept_.numel / columns;
    if (outer >= 2 * threads_for(kept_.numel * count)) {
      parallel_for(outer, std::max<int64_t>(1, kGrain / (columns * count)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one(i * columns);
      });
    } else {
      for (int64_t i = 0; i < outer; ++i) one(i * columns);
    }
  }

  // Each leaf of all columns is transposed into as many rows.
  void narrow_columns_in_order() const {
    const int64_t columns = kept_.inner().size, count = reduced_.numel, leaves = (count + kLeaf - 1) / kLeaf;
    const auto transpose = tiles_.transpose[log2_size(compute_item_)];
    const auto one = [&](int64_t first_output) {
      Scratch scratch;
      const States slots = States::take(scratch, loops_.states, columns * leaves, wide_item_);
      const char* base = in_ + Walk(kept_, first_output).in();
      parallel_for(leaves, std::max<int64_t>(1, kGrain / (kLeaf * columns)), [&](int64_t begin, int64_t end) {
        Scratch inner;
        char* tile = inner.take<char>(columns * kLeaf * compute_item_);
        char* converted = direct_ ? nullptr : inner.take<char>(columns * kLeaf * compute_item_);
        char* buffer = direct_ ? nullptr : inner.take<char>(buffer_bytes(columns * kLeaf));
        for (int64_t leaf = begin; leaf < end; ++leaf) {
          const int64_t first = leaf * kLeaf, n = std::min(kLeaf, count - first);
          const char* from = base + first * columns * item_;
          if (converted) {
            fetch_run(converted, from, item_, n * columns, buffer);
            from = converted;
          }
          transpose(tile, kLeaf * compute_item_, from, columns * compute_item_, columns, n);
          for (int64_t c = 0; c < columns; ++c)
            kernels_.rows(tile + c * kLeaf * compute_item_, 0, n, 1, first, params_, slots.from(c * leaves + leaf).at);
        }
      });
      for (int64_t c = 0; c < columns; ++c) {
        merge_slots(slots.from(c * leaves), leaves, 1, 1);
        store(first_output + c, 1, slots.from(c * leaves));
      }
    };
    const int64_t outer = kept_.numel / columns;
    if (outer >= 2 * threads_for(kept_.numel * count)) {
      parallel_for(outer, std::max<int64_t>(1, kGrain / (columns * count)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one(i * columns);
      });
    } else {
      for (int64_t i = 0; i < outer; ++i) one(i * columns);
    }
  }

  // One leaf an output.
  void whole_rows(int64_t begin, int64_t end, bool dense) const {
    Scratch scratch;
    const int64_t count = reduced_.numel;
    const States states = States::take(scratch, loops_.states, kBatch, wide_item_);
    const int64_t in_tile = std::clamp<int64_t>(kLeaf / count, 1, kBatch);
    char* tile = dense ? nullptr : scratch.take<char>(in_tile * count * compute_item_);
    char* buffer = dense ? nullptr : scratch.take<char>(buffer_bytes(count));
    for (int64_t batch = begin; batch < end; batch += kBatch) {
      const int64_t batch_end = std::min(end, batch + kBatch);
      Walk walk(kept_, batch);
      for (int64_t i = batch; i < batch_end;) {
        int64_t m;
        if (dense) {
          m = std::min(batch_end - i, walk.run());
          kernels_.rows(in_ + walk.in(), kept_.rank == 0 ? 0 : kept_.inner().in, count, m, 0, params_,
                        states.from(i - batch).at);
          walk.advance(m);
        } else {
          m = std::min(batch_end - i, in_tile);
          for (int64_t r = 0; r < m; ++r) {
            fetch(tile + r * count * compute_item_, in_ + walk.in(), 0, count, buffer);
            walk.advance(1);
          }
          kernels_.rows(tile, count * compute_item_, count, m, 0, params_, states.from(i - batch).at);
        }
        i += m;
      }
      store(batch, batch_end - batch, states);
    }
  }

  // Rows too short for vectors: transposed, so that a vector holds several outputs.
  void short_rows(int64_t begin, int64_t end, bool dense) const {
    Scratch scratch;
    const int64_t count = reduced_.numel;
    const States states = States::take(scratch, loops_.states, kShortRowOutputs, wide_item_);
    const int64_t pitch = kShortRowOutputs * compute_item_;
    char* transposed = scratch.take<char>(count * pitch);
    char* accumulators = scratch.take<char>(loops_.states * pitch);
    char* tile = scratch.take<char>(kShortRowOutputs * count * compute_item_);
    char* buffer = scratch.take<char>(buffer_bytes(count));
    const char* rows[kShortRow];
    for (int64_t k = 0; k < count; ++k) rows[k] = transposed + k * pitch;
    std::memset(transposed, 0, static_cast<size_t>(count * pitch));
    const auto transpose = tiles_.transpose[log2_size(compute_item_)];
    for (int64_t batch = begin; batch < end; batch += kShortRowOutputs) {
      const int64_t outputs = std::min(end - batch, kShortRowOutputs);
      Walk walk(kept_, batch);
      for (int64_t i = 0; i < outputs;) {
        int64_t m = std::min(outputs - i, walk.run());
        if (dense) {
          transpose(transposed + i * compute_item_, pitch, in_ + walk.in(), kept_.inner().in, count, m);
          walk.advance(m);
        } else {
          for (int64_t r = 0; r < m; ++r) {
            fetch(tile + r * count * compute_item_, in_ + walk.in(), 0, count, buffer);
            walk.advance(1);
          }
          transpose(transposed + i * compute_item_, pitch, tile, count * compute_item_, count, m);
        }
        i += m;
      }
      kernels_.columns(rows, count, (outputs + per_group_ - 1) / per_group_, 0, params_, states.at, accumulators);
      store(batch, outputs, states);
    }
  }

  // --- columns: outputs lie side by side -----------------------------------------------------------------------------

  void reduce_columns() const {
    const int64_t columns = kept_.inner().size, outer = kept_.numel / columns, count = reduced_.numel;
    const int64_t threads = threads_for(columns * outer * count);
    int64_t width = direct_ ? kDirectColumns * 4 / compute_item_ : kTileColumns;
    if (threads > 1)
      width = std::clamp(rounded_up(columns / (2 * threads), per_group_), std::min<int64_t>(width, 64), width);
    const int64_t whole = direct_ ? columns / per_group_ * per_group_ : columns;  // the others go through a tile
    const int64_t chunks = (whole + width - 1) / width + (whole < columns);
    const int64_t tasks = outer * chunks;
    const int64_t blocks = (count + kBlockRows - 1) / kBlockRows;
    column_blocks(blocks > 1);
    const int64_t stride = walked_rows(reduced_.rank != 1) ? -1 : reduced_.inner().in;
    const auto one = [&](int64_t task) {
      const int64_t chunk = task % chunks, first = chunk * width >= whole ? whole : chunk * width;
      const int64_t n = first == whole ? columns - whole : std::min(width, whole - first);
      const int64_t output = task / chunks * columns + first;
      const char* base = in_ + Walk(kept_, output).in();
      Scratch scratch;
      const int64_t pitch = rounded_up(n, 64);
      const States slots = States::take(scratch, loops_.states, blocks * pitch, wide_item_);
      parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
          column_block(base, stride, b * kBlockRows, std::min(kBlockRows, count - b * kBlockRows), n,
                       slots.from(b * pitch));
      });
      merge_slots(slots, blocks, n, pitch);
      store(output, n, slots);
    };
    if (column_tasks(tasks >= threads && threads > 1)) {
      parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one(i);
      });
    } else {
      for (int64_t i = 0; i < tasks; ++i) one(i);
    }
  }

  // Rows [first, first + count) of n columns. Rows are `stride` bytes apart, or where the reduced axes say when
  // it is -1.
  void column_block(const char* base, int64_t stride, int64_t first, int64_t count, int64_t n,
                    const States& into) const {
    Scratch scratch;
    const int64_t groups = (n + per_group_ - 1) / per_group_, row_bytes = groups * 64;
    const bool in_place = columns_in_place(direct_ && n % per_group_ == 0);
    column_leaves(count > kLeafRows);
    const States leaf = States::take(scratch, loops_.states, groups * per_group_, wide_item_);
    char* accumulators = scratch.take<char>(loops_.states * row_bytes);
    char* tile = in_place ? nullptr : scratch.take<char>(kLeafRows * row_bytes);
    char* buffer = in_place ? nullptr : scratch.take<char>(buffer_bytes(n));
    if (tile) std::memset(tile, 0, static_cast<size_t>(kLeafRows * row_bytes));
    const char* rows[kLeafRows];
    Walk walk(reduced_, stride < 0 ? first : 0);
    for (int64_t at = 0; at < count; at += kLeafRows) {
      const int64_t m = std::min(kLeafRows, count - at);
      for (int64_t r = 0; r < m; ++r) {
        if (stride >= 0) {
          rows[r] = base + (first + at + r) * stride;
        } else {
          rows[r] = base + walk.in();
          walk.advance(1);
        }
        if (in_place) continue;
        fetch_run(tile + r * row_bytes, rows[r], item_, n, buffer);
        rows[r] = tile + r * row_bytes;
      }
      kernels_.columns(rows, m, groups, first + at, params_, at == 0 ? into.at : leaf.at, accumulators);
      if (at > 0) kernels_.merge(into.at, leaf.at, n, params_);
    }
  }

  const ReduceLoops& loops_;
  const ReduceKernels& kernels_;
  const TileKernels& tiles_;
  const Param* params_;
  const char* in_;
  std::span<const Operand> out_;
  DType wide_;
  int64_t item_, compute_item_, wide_item_, common_item_, per_group_;
  bool direct_;            // elements are stored in the compute type, no conversion
  bool prefetch_ = false;  // too large for the caches
  TileKernels::Convert to_common_ = nullptr, to_compute_ = nullptr;
  Axes kept_, reduced_;
};

}  // namespace

bool has_reduction(const ReduceLoops& loops, DType common) { return find_kernels(loops, common) != nullptr; }

void run_reduce(const ReduceLoops& loops, DType common, std::span<const int64_t> sizes, const bool* reduced,
                const Operand& in, std::span<const Operand> out, const Param* params) {
  SCONCE_CHECK_AS(not_implemented, has_reduction(loops, common), "\"{}\" not implemented for '{}'", loops.name,
                  dtype_legacy_name(common));
  Reduction(loops, common, sizes, reduced, in, out, params).run();
}

bool run_reduce_dense(const ReduceLoops& loops, DType dtype, const void* in, int64_t n, void* out, DType out_dtype,
                      const Param* params) {
  const Compute compute = compute_for(loops, dtype);
  const DType computed = kComputeDType[static_cast<int>(compute)];
  if (n <= 0 || n > kLeafElements || dtype != computed || loops.results != 1 || loops.indices != 0) return false;
  const ReduceKernels* kernels = loops.kernels[cpu_level() - 2][static_cast<int>(compute)];
  if (kernels == nullptr) return false;
  alignas(64) char memory[kMaxStates + 1][64];
  char* states[kMaxStates] = {memory[0], memory[1], memory[2], memory[3]};
  char* result[1] = {memory[kMaxStates]};
  kernels->rows(static_cast<const char*>(in), 0, n, 1, 0, params, states);
  kernels->finish(result, states, 1, n, params);
  const DType wide = wide_dtype(compute);
  if (wide == out_dtype) {
    std::memcpy(out, result[0], item_size(wide));
  } else if (out_dtype == DType::float32 && wide == DType::float64) {
    double value;
    std::memcpy(&value, result[0], sizeof value);
    const float narrow = static_cast<float>(value);
    std::memcpy(out, &narrow, sizeof narrow);
  } else {
    convert(out, out_dtype, result[0], wide, 1);
  }
  return true;
}

}  // namespace sconce
