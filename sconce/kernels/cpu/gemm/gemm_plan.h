// A product with everything decided that does not depend on where its operands lie, and the rectangle of results that a
// thread computes. For the files that make up gemm.
#pragma once

#include <algorithm>

#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce::gemm_parts {

// Below this many multiplications a second thread costs more than it brings: about 5 us of one core.
constexpr int64_t work_per_thread = 256 * 1024;

// Bytes of packed b, or of a, that stay in the second-level cache beside everything else; of c that an epilogue finds
// there; of a tile of a in the first.
constexpr int64_t b_block_bytes = 512 * 1024;
constexpr int64_t a_block_bytes = 512 * 1024;
constexpr int64_t c_block_bytes = 256 * 1024;
constexpr int64_t a_tile_bytes = 24 * 1024;
constexpr int64_t staged_rows = 1024;
constexpr int64_t one_block = 512;  // products that are no deeper are summed in one go

constexpr double infinity = std::numeric_limits<double>::infinity();

enum class Path {
  // Sums by lanes, of few rows or columns:
  dot,          // few rows, b contiguous along k
  swapped_dot,  // few columns
  stream,       // few rows, b contiguous along columns
  fold,         // few rows, panels of b packed beforehand or one by one
  // Sums in sequence:
  in_place,  // tiles read b where it lies
  blocked,   // tiles read b packed, block by block or beforehand
};

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Rows that lie a multiple of 1 kB apart fall into the same few sets of the first-level cache, unless they lie there
// one behind the other.
inline bool rows_collide(int64_t stride_bytes, int64_t used_bytes) {
  return stride_bytes >= 2048 && stride_bytes % 1024 == 0 && stride_bytes != used_bytes;
}

struct Operands {
  const void* a;
  const void* b;
  void* c;
  const void* residual;
  int64_t row_number;  // the number that post is told for row 0
};

// How the paths that are not blocked run. A product of which b is known to lie along k has a driver of its own: where
// there are no others, a small library has no code for other layouts.
template <class T>
struct Plan;
template <class T>
struct Driver {
  void (*run)(const Plan<T>& plan, const Operands& operands, Range rows, Range columns);
  const LaneTable<T>* lanes;  // null: b lies along k
};

// A product with everything decided that does not depend on where the operands lie. T is the compute type.
template <class T>
struct Plan {
  const GemmTable<T>& table;
  GemmStorage storage;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  const T* packed;  // or null
  const Epilogue& epilogue;
  SumOrder order;  // not automatic
  const Driver<T>& driver;

  Path path = Path::blocked;
  bool staged = false;  // c is written through a buffer of T: it is narrower, or not contiguous along columns
  bool copy_a = false;  // tiles of a are copied: transposed, narrow, or their rows collide
  bool clamp = false;
  int64_t tile = 1;  // rows of a tile, the same in every share of the work
  int64_t k_block = 1;
  int64_t column_unit = 1;  // shares of the work begin at multiples of this

  int64_t item_bytes() const { return storage == GemmStorage::native ? static_cast<int64_t>(sizeof(T)) : 2; }
  const void* offset(const void* data, int64_t elements) const {
    return static_cast<const char*>(data) + elements * item_bytes();
  }
  void* offset(void* data, int64_t elements) const { return static_cast<char*>(data) + elements * item_bytes(); }

  void decide();
};

// The arguments of a call. Matrices stay where the caller put them: copying words that were just written costs small
// products a stalled load each.
struct Problem {
  DType dtype;
  int64_t batch, m, n, k;
  const ConstMatrix& a;
  const ConstMatrix& b;
  const Matrix& c;
  const void* packed;
  const BatchStrides& strides;
  SumOrder order;  // not automatic
};

// Products of float64, by the drivers for all, of integers, and of complex numbers.
void run_f64(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels);
bool run_at_once_f64(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels, bool elsewhere);
void run_generic(const Problem& problem, const Epilogue& epilogue);
void run_complex(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels);

template <class T>
void Plan<T>::decide() {
  const bool native = storage == GemmStorage::native;
  if (k == 1) a_column = 1;
  if (n == 1) c_column = 1;
  if (n == 1 && b_row != 1) b_column = 1;
  staged = !native || c_column != 1;
  clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
  column_unit = table.panel;

  if (order == SumOrder::by_lanes) {
    tile = m;
    if (!packed && m <= few_rows && b_row == 1) {
      path = Path::dot;
    } else if (n <= few_rows && (a_column == 1 || m > few_rows)) {
      path = Path::swapped_dot;
      tile = 1;
      column_unit = n;
    } else if (!packed && b_column == 1) {
      path = Path::stream;
      column_unit = 64;
    } else {
      path = Path::fold;
    }
    return;
  }

  tile = m <= table.tile_rows ? m : divide_up(m, divide_up(m, table.tile_rows));
  int64_t blocks = 1;
  if (m > 4 && k > one_block) {
    const int64_t limit = std::max<int64_t>(384, a_tile_bytes / static_cast<int64_t>(sizeof(T)) / tile);
    if (k > limit + limit / 3) blocks = divide_up(k, limit);
  }
  k_block = blocks == 1 ? k : divide_up(divide_up(k, blocks), 8) * 8;
  if (driver.lanes && !packed && !staged && b_column == 1 &&
      (m <= 2 * table.tile_rows || (k * b_row * item_bytes() <= 96 * 1024 && b_row * item_bytes() < 4096))) {
    path = Path::in_place;
    k_block = k;
  }
  bool small_tile = tile <= 6 || n < 4 * table.panel;
  copy_a = !native || a_column != 1 ||
           (path == Path::blocked && !small_tile && rows_collide(a_row * item_bytes(), k_block * item_bytes()));
}

// A rectangle of c while it is computed: c itself, or a buffer of T whose rows are rounded or scattered into c
// at the end.
template <class T>
class Target {
 public:
  Target(const Plan<T>& plan, const Operands& operands, Range rows, Range columns, Scratch& scratch)
      : plan_(plan), operands_(operands), rows_(rows), columns_(columns) {
    const Epilogue& epilogue = plan.epilogue;
    base_.accumulate = epilogue.accumulate;
    base_.clamp = plan.clamp;
    base_.lo = static_cast<T>(epilogue.lo);
    base_.hi = static_cast<T>(epilogue.hi);
    const int64_t width = columns.size();
    void* c = plan.offset(operands.c, rows.begin * plan.c_row + columns.begin * plan.c_column);
    if (!plan.staged) {
      base_.c = static_cast<T*>(c);
      base_.c_stride = plan.c_row;
    } else {
      base_.c = scratch.take<T>(rows.size() * width);
      base_.c_stride = width;
      if (epilogue.accumulate) {
        plan.table.copy_rows(plan.storage, c, plan.c_row, plan.c_column, rows.size(), width, base_.c, width);
      }
    }
    const void* bias = epilogue.bias ? plan.offset(epilogue.bias, columns.begin) : nullptr;
    const void* residual = nullptr;
    if (operands.residual) {
      residual = plan.offset(operands.residual, rows.begin * epilogue.residual_stride + columns.begin);
    }
    if (plan.storage == GemmStorage::native) {
      base_.bias = static_cast<const T*>(bias);
      if (epilogue.scale) {
        base_.scale = static_cast<const T*>(epilogue.scale) + columns.begin;
        base_.shift = static_cast<const T*>(epilogue.shift) + columns.begin;
      }
      if (epilogue.row_bias) base_.row_bias = static_cast<const T*>(epilogue.row_bias) + rows.begin;
      base_.residual = static_cast<const T*>(residual);
      base_.residual_stride = epilogue.residual_stride;
      return;
    }
    if (bias) base_.bias = widened(bias, 0, 1, width, scratch);
    if (residual) {
      base_.residual = widened(residual, epilogue.residual_stride, rows.size(), width, scratch);
      base_.residual_stride = width;
    }
  }

  // The tile whose first element is [row, column] of c. Only the last block along k gets an epilogue.
  TileOutput<T> at(int64_t row, int64_t column, bool first, bool last) const {
    const int64_t i = row - rows_.begin, j = column - columns_.begin;
    return {.c = base_.c + i * base_.c_stride + j,
            .c_stride = base_.c_stride,
            .bias = base_.bias && last ? base_.bias + j : nullptr,
            .row_bias = base_.row_bias && last ? base_.row_bias + i : nullptr,
            .scale = base_.scale && last ? base_.scale + j : nullptr,
            .shift = base_.scale && last ? base_.shift + j : nullptr,
            .residual = base_.residual && last ? base_.residual + i * base_.residual_stride + j : nullptr,
            .residual_stride = base_.residual_stride,
            .lo = base_.lo,
            .hi = base_.hi,
            .clamp = base_.clamp && last,
            .accumulate = base_.accumulate || !first};
  }
  const TileOutput<T>& all() const { return base_; }

  // To be called once for every row, when all its columns of this rectangle are complete.
  void finish(Range rows) const {
    void* c = plan_.offset(operands_.c, rows.begin * plan_.c_row + columns_.begin * plan_.c_column);
    if (plan_.staged) store(base_.c + (rows.begin - rows_.begin) * base_.c_stride, c, rows.size());
    if (plan_.epilogue.post) {
      plan_.epilogue.post(plan_.epilogue.post_context, c, plan_.c_row, plan_.c_column,
                          operands_.row_number + rows.begin, columns_.begin, rows.size(), columns_.size());
    }
  }

 private:
  const T* widened(const void* data, int64_t row_stride, int64_t rows, int64_t columns, Scratch& scratch) const {
    T* out = scratch.take<T>(rows * columns);
    plan_.table.copy_rows(plan_.storage, data, row_stride, 1, rows, columns, out, columns);
    return out;
  }

  void store(const T* from, void* c, int64_t rows) const {
    const int64_t width = columns_.size();
    if (plan_.c_column == 1)
      return plan_.table.store_rows(plan_.storage, from, base_.c_stride, rows, width, c, plan_.c_row);
    Scratch scratch;
    void* narrow = scratch.take<T>(width);
    for (int64_t i = 0; i < rows; i++) {
      plan_.table.store_rows(plan_.storage, from + i * base_.c_stride, width, 1, width, narrow, width);
      auto scatter = [&]<class Item>(Item* to) {
        for (int64_t j = 0; j < width; j++) to[i * plan_.c_row + j * plan_.c_column] = static_cast<Item*>(narrow)[j];
      };
      if (plan_.storage == GemmStorage::native) {
        scatter(static_cast<T*>(c));
      } else {
        scatter(static_cast<uint16_t*>(c));
      }
    }
  }

  const Plan<T>& plan_;
  const Operands& operands_;
  Range rows_, columns_;
  TileOutput<T> base_;
};

}  // namespace sconce::gemm_parts
