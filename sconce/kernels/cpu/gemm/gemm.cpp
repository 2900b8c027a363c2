#include "sconce/kernels/cpu/gemm/gemm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/gemm_bf16.h"
#include "sconce/kernels/cpu/gemm/gemm_complex.h"
#include "sconce/kernels/cpu/gemm/gemm_generic.h"
#include "sconce/kernels/cpu/gemm/onednn.h"
#include "sconce/kernels/cpu/gemm/provider.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

// GCC would merge neighbouring loads of just written numbers into one vector load, which waits for all of them to reach
// the cache. That took a third of the time of an 8 x 8 product.
#if !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

namespace sconce {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr MatrixKernels all_kernels[] = {
    {2, &v2::gemm_f32, &v2::gemm_f64, &v2::depthwise_f32, &v2::depthwise_f64, &v2::winograd_f32, nullptr},
    {3, &v3::gemm_f32, &v3::gemm_f64, &v3::depthwise_f32, &v3::depthwise_f64, &v3::winograd_f32, nullptr},
    {4, &v4::gemm_f32, &v4::gemm_f64, &v4::depthwise_f32, &v4::depthwise_f64, &v4::winograd_f32, nullptr},
};
constexpr MatrixKernels with_bf16 = {
    4, &v4::gemm_f32, &v4::gemm_f64, &v4::depthwise_f32, &v4::depthwise_f64, &v4::winograd_f32, &v4::bf16};

// Below this many multiplications a second thread costs more than it brings: about 5 us of one core.
constexpr int64_t work_per_thread = 256 * 1024;

// Bytes of packed b that stay in the second-level cache beside everything else, of a tile of a in the first.
constexpr int64_t b_block_bytes = 512 * 1024;
constexpr int64_t a_tile_bytes = 24 * 1024;
constexpr int64_t staged_rows = 1024;

enum class Path {
  dot,          // few rows, b contiguous along k
  swapped_dot,  // few columns, a contiguous along k
  axpy,         // few rows, b large and contiguous along columns
  in_place,     // tiles read b where it lies
  blocked,      // tiles read b packed, block by block or beforehand
};

constexpr BatchStrides no_strides{0, 0, 0};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
Range part(int64_t n, int64_t parts, int64_t index) { return {n * index / parts, n * (index + 1) / parts}; }

// Rows that lie a multiple of 1 kB apart fall into the same few sets of the first-level cache.
bool rows_collide(int64_t stride_bytes) { return stride_bytes >= 2048 && stride_bytes % 1024 == 0; }

// A product with everything decided that does not depend on where the operands lie. T is the compute type.
template <class T>
struct Plan {
  const GemmTable<T>& table;
  GemmStorage storage;
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  const T* packed;  // or null
  const Epilogue& epilogue;

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

struct Operands {
  const void* a;
  const void* b;
  void* c;
  const void* residual;
  int64_t row_number;  // the number that post is told for row 0
};

template <class T>
void Plan<T>::decide() {
  const bool native = storage == GemmStorage::native;
  if (k == 1) a_column = 1;
  if (n == 1) c_column = 1;
  if (n == 1 && b_row != 1) b_column = 1;
  staged = !native || c_column != 1;
  clamp = epilogue.lo > -infinity || epilogue.hi < infinity;

  tile = m <= table.tile_rows ? m : divide_up(m, divide_up(m, table.tile_rows));
  int64_t blocks = 1;
  if (m > 4 && k > 512) {
    const int64_t limit = std::max<int64_t>(384, a_tile_bytes / static_cast<int64_t>(sizeof(T)) / tile);
    if (k > limit + limit / 3) blocks = divide_up(k, limit);
  }
  k_block = blocks == 1 ? k : divide_up(divide_up(k, blocks), 8) * 8;
  column_unit = table.panel;

  if (!packed && m <= 8 && b_row == 1 && k >= 2 * table.lanes) {
    path = Path::dot;
    tile = m;
  } else if (!packed && n <= 4 && a_column == 1 && k >= 16) {
    path = Path::swapped_dot;
    tile = 1;
    column_unit = n;
  } else if (!packed && m <= 4 && b_column == 1 && n >= 64 && k * n >= 16 * 1024) {
    path = Path::axpy;
    tile = m;
    column_unit = 64;
  } else if (!packed && !staged && b_column == 1 &&
             (m <= 2 * table.tile_rows || (k * b_row * item_bytes() <= 96 * 1024 && b_row * item_bytes() < 4096))) {
    path = Path::in_place;
    k_block = k;
  }
  bool small_tile = tile <= 6 || n < 4 * table.panel;
  copy_a = !native || a_column != 1 || (path == Path::blocked && !small_tile && rows_collide(a_row * item_bytes()));
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

  // The tile whose first element is [row, column] of c. Only the last block along k gets bias, residual and clamp.
  TileOutput<T> at(int64_t row, int64_t column, bool first, bool last) const {
    const int64_t i = row - rows_.begin, j = column - columns_.begin;
    return {.c = base_.c + i * base_.c_stride + j,
            .c_stride = base_.c_stride,
            .bias = base_.bias && last ? base_.bias + j : nullptr,
            .row_bias = base_.row_bias && last ? base_.row_bias + i : nullptr,
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

template <class T>
const T* contiguous_rows(const Plan<T>& plan, const void* data, int64_t row_stride, int64_t column_stride, int64_t rows,
                         int64_t& stride, Scratch& scratch) {
  if (plan.storage == GemmStorage::native && (column_stride == 1 || plan.k == 1)) {
    stride = row_stride;
    return static_cast<const T*>(data);
  }
  stride = plan.k;
  T* copy = scratch.take<T>(rows * plan.k);
  plan.table.copy_rows(plan.storage, data, row_stride, column_stride, rows, plan.k, copy, plan.k);
  return copy;
}

template <class T>
void run_dot(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  const TileOutput<T>& out = target.all();
  const bool swapped = plan.path == Path::swapped_dot;
  const void* a = plan.offset(operands.a, rows.begin * plan.a_row);
  const void* b = plan.offset(operands.b, columns.begin * plan.b_column);
  DotArgs<T> args{};
  args.k = plan.k;
  args.many_storage = plan.storage;
  args.c = out.c;
  args.bias = out.bias;
  args.residual = out.residual;
  args.lo = out.lo;
  args.hi = out.hi;
  args.clamp = out.clamp;
  args.accumulate = out.accumulate;
  if (swapped) {
    args.few_count = columns.size();
    args.many_count = rows.size();
    args.few = contiguous_rows(plan, b, plan.b_column, plan.b_row, columns.size(), args.few_stride, scratch);
    args.many = a;
    args.many_stride = plan.a_row;
    args.c_few = args.bias_few = args.residual_few = 1;
    if (out.row_bias) {
      args.bias = out.row_bias;
      args.bias_few = 0;
      args.bias_many = 1;
    }
    args.c_many = out.c_stride;
    args.residual_many = out.residual_stride;
  } else {
    args.few_count = rows.size();
    args.many_count = columns.size();
    args.few = contiguous_rows(plan, a, plan.a_row, plan.a_column, rows.size(), args.few_stride, scratch);
    args.many = b;
    args.many_stride = plan.b_column;
    args.c_many = args.bias_many = args.residual_many = 1;
    if (out.row_bias) {
      args.bias = out.row_bias;
      args.bias_few = 1;
      args.bias_many = 0;
    }
    args.c_few = out.c_stride;
    args.residual_few = out.residual_stride;
  }
  plan.table.dot(args);
  target.finish(rows);
}

template <class T>
void run_axpy(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  AxpyArgs<T> args{};
  args.rows = static_cast<int>(rows.size());
  args.k = plan.k;
  args.columns = columns.size();
  const void* a = plan.offset(operands.a, rows.begin * plan.a_row);
  args.a = contiguous_rows(plan, a, plan.a_row, plan.a_column, rows.size(), args.a_stride, scratch);
  args.b = plan.offset(operands.b, columns.begin * plan.b_column);
  args.b_stride = plan.b_row;
  args.b_storage = plan.storage;
  args.output = target.all();
  plan.table.axpy(args);
  target.finish(rows);
}

// Row pointers of the tile that starts at `row`, columns k0 on. A tile that is copied is copied with its neighbours up
// to the end of `group`, into `buffer`.
template <class T>
class RowPointers {
 public:
  RowPointers(const Plan<T>& plan, const void* a, Scratch& scratch)
      : plan_(plan), a_(a), stride_(plan.k_block + plan.table.lanes), group_rows_(plan.tile) {
    if (!plan.copy_a) return;
    if (plan.tile < 32) group_rows_ = 32 / plan.tile * plan.tile;
    buffer_ = scratch.take<T>(group_rows_ * stride_);
  }
  int64_t group_rows() const { return group_rows_; }

  // rows.size() <= group_rows()
  void load(Range rows, int64_t k0, int64_t depth) {
    const void* from = plan_.offset(a_, rows.begin * plan_.a_row + k0 * plan_.a_column);
    first_ = rows.begin;
    if (plan_.copy_a) {
      plan_.table.copy_rows(plan_.storage, from, plan_.a_row, plan_.a_column, rows.size(), depth, buffer_, stride_);
      start_ = buffer_;
    } else {
      start_ = static_cast<const T*>(from);
      stride_ = plan_.a_row;
    }
  }
  void fill(int64_t row, int count, const T** pointers) const {
    for (int i = 0; i < count; i++) pointers[i] = start_ + (row - first_ + i) * stride_;
  }

 private:
  const Plan<T>& plan_;
  const void* a_;
  int64_t stride_;
  int64_t group_rows_;
  T* buffer_ = nullptr;
  const T* start_ = nullptr;
  int64_t first_ = 0;
};

template <class T>
TileKernel<T> tile_kernel(const GemmTable<T>& table, int rows, int columns) {
  return table.tiles[columns > table.lanes][rows];
}

// b stays where it is; only a last panel that is not a whole number of vectors is packed.
// A large product takes seconds: whoever limits its time, or cancels it, does not wait for the end.
void look_at_clock() {
  if (Budget* budget = Budget::active()) [[unlikely]]
    budget->poll();
}

template <class T>
void run_in_place(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const int64_t panel = plan.table.panel;
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  RowPointers<T> pointers(plan, operands.a, scratch);
  const int64_t vector_mask = plan.table.lanes - 1;  // lanes and panel are powers of two, and divisions slow
  T* ragged = columns.size() & vector_mask ? scratch.take<T>(plan.k * panel) : nullptr;
  const T* tile_rows[8];
  if (ragged) {
    int64_t column = columns.begin + (columns.size() & -panel);
    plan.table.pack_panel(plan.storage, plan.offset(operands.b, column), plan.b_row, 1, plan.k,
                          static_cast<int>(columns.end - column), ragged);
  }
  for (int64_t group = rows.begin; group < rows.end; group += pointers.group_rows()) {
    look_at_clock();
    const Range group_rows{group, std::min(rows.end, group + pointers.group_rows())};
    pointers.load(group_rows, 0, plan.k);
    for (int64_t row = group; row < group_rows.end; row += plan.tile) {
      const int count = static_cast<int>(std::min(plan.tile, group_rows.end - row));
      pointers.fill(row, count, tile_rows);
      for (int64_t column = columns.begin; column < columns.end; column += panel) {
        const int width = static_cast<int>(std::min(panel, columns.end - column));
        const bool packed = (width & vector_mask) != 0;
        const T* b = packed ? ragged : static_cast<const T*>(operands.b) + column;
        tile_kernel(plan.table, count, width)(1, plan.k, tile_rows, b, packed ? panel : plan.b_row, width,
                                              target.at(row, column, true, true));
      }
    }
    target.finish(group_rows);
  }
}

template <class T>
void run_blocked(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const int64_t panel = plan.table.panel;
  const int64_t all_columns = (columns.size() + panel - 1) & -panel;
  const int64_t block_elements = b_block_bytes / static_cast<int64_t>(sizeof(T));
  const int64_t column_block = all_columns * plan.k_block <= block_elements
                                   ? all_columns
                                   : std::max(block_elements / plan.k_block & -panel, panel);
  Scratch scratch;
  T* b_block = plan.packed ? nullptr : scratch.take<T>(plan.k_block * column_block);
  RowPointers<T> pointers(plan, operands.a, scratch);
  const int64_t row_block =
      plan.staged ? divide_up(staged_rows, pointers.group_rows()) * pointers.group_rows() : plan.m;
  const T* tile_rows[8];

  for (int64_t r0 = rows.begin; r0 < rows.end; r0 += row_block) {
    const Range block_rows{r0, std::min(rows.end, r0 + row_block)};
    for (int64_t c0 = columns.begin; c0 < columns.end; c0 += column_block) {
      const Range block_columns{c0, std::min(columns.end, c0 + column_block)};
      Scratch target_scratch;
      Target<T> target(plan, operands, block_rows, block_columns, target_scratch);
      int64_t k0 = 0;
      do {
        const int64_t depth = std::min(plan.k_block, plan.k - k0);
        const bool first = k0 == 0, last = k0 + depth >= plan.k;
        for (int64_t column = c0; b_block && column < block_columns.end; column += panel) {
          const int width = static_cast<int>(std::min(panel, block_columns.end - column));
          const void* b = plan.offset(operands.b, k0 * plan.b_row + column * plan.b_column);
          plan.table.pack_panel(plan.storage, b, plan.b_row, plan.b_column, depth, width,
                                b_block + (column - c0) * depth);
        }
        for (int64_t group = r0; group < block_rows.end; group += pointers.group_rows()) {
          look_at_clock();
          const Range group_rows{group, std::min(block_rows.end, group + pointers.group_rows())};
          pointers.load(group_rows, k0, depth);
          for (int64_t row = group; row < group_rows.end; row += plan.tile) {
            const int count = static_cast<int>(std::min(plan.tile, group_rows.end - row));
            pointers.fill(row, count, tile_rows);
            for (int64_t column = c0; column < block_columns.end; column += panel) {
              const int width = static_cast<int>(std::min(panel, block_columns.end - column));
              const T* b = b_block ? b_block + (column - c0) * depth : plan.packed + column * plan.k + k0 * panel;
              tile_kernel(plan.table, count, width)(1, depth, tile_rows, b, panel, width,
                                                    target.at(row, column, first, last));
            }
          }
          if (last) target.finish(group_rows);
        }
        k0 += depth;
      } while (k0 < plan.k);
    }
  }
}

template <class T>
void run_share(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  if (rows.size() <= 0 || columns.size() <= 0) return;
  switch (plan.path) {
    case Path::dot:
    case Path::swapped_dot:
      return run_dot(plan, operands, rows, columns);
    case Path::axpy:
      return run_axpy(plan, operands, rows, columns);
    case Path::in_place:
      return run_in_place(plan, operands, rows, columns);
    case Path::blocked:
      return run_blocked(plan, operands, rows, columns);
  }
}

// Into how many shares the tiles of rows and the units of columns are cut.
template <class T>
std::pair<int64_t, int64_t> choose_grid(const Plan<T>& plan, int64_t tiles, int64_t units) {
  int64_t threads = std::min<int64_t>(num_threads(), plan.m * plan.n * plan.k / work_per_thread);
  if (threads <= 1 || in_parallel_region()) return {1, 1};
  // In units of one tile times one panel: packing a panel of b costs a quarter of that, copying a tile of
  // a a sixteenth.
  const double pack = plan.path == Path::blocked && !plan.packed ? 0.25 : 0, copy = plan.copy_a ? 0.0625 : 0;
  std::pair<int64_t, int64_t> best{1, 1};
  double best_cost = -1;
  for (int64_t by_rows = 1; by_rows <= std::min(threads, tiles); by_rows++) {
    const int64_t by_columns = std::min(threads / by_rows, units);
    const auto own_tiles = static_cast<double>(divide_up(tiles, by_rows));
    const auto own_units = static_cast<double>(divide_up(units, by_columns));
    const double cost = own_tiles * own_units + pack * own_units + copy * own_tiles;
    if (best_cost < 0 || cost < best_cost) {
      best_cost = cost;
      best = {by_rows, by_columns};
    }
  }
  return best;
}

template <class T>
void run_item(const Plan<T>& plan, const Operands& operands) {
  if (plan.m * plan.n * plan.k < 2 * work_per_thread) return run_share(plan, operands, {0, plan.m}, {0, plan.n});
  const int64_t tiles = divide_up(plan.m, plan.tile), units = divide_up(plan.n, plan.column_unit);
  auto [by_rows, by_columns] = choose_grid(plan, tiles, units);
  if (by_rows * by_columns == 1) return run_share(plan, operands, {0, plan.m}, {0, plan.n});
  parallel_for(by_rows * by_columns, 1, [&, by_rows = by_rows, by_columns = by_columns](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; cell++) {
      Range rows = part(tiles, by_rows, cell / by_columns), columns = part(units, by_columns, cell % by_columns);
      run_share(plan, operands, {rows.begin * plan.tile, std::min(plan.m, rows.end * plan.tile)},
                {columns.begin * plan.column_unit, std::min(plan.n, columns.end * plan.column_unit)});
    }
  });
}

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
};

GemmStorage storage_of(DType dtype) {
  return dtype == DType::bfloat16  ? GemmStorage::bfloat16
         : dtype == DType::float16 ? GemmStorage::float16
                                   : GemmStorage::native;
}

template <class T>
void run(const GemmTable<T>& table, const Problem& problem, const Epilogue& epilogue) {
  Plan<T> plan{table,
               storage_of(problem.dtype),
               problem.m,
               problem.n,
               problem.k,
               problem.a.row_stride,
               problem.a.column_stride,
               problem.b.row_stride,
               problem.b.column_stride,
               problem.c.row_stride,
               problem.c.column_stride,
               static_cast<const T*>(problem.packed),
               epilogue};
  plan.decide();
  auto item = [&](int64_t index) {
    const BatchStrides& strides = problem.strides;
    const void* residual = epilogue.residual ? plan.offset(epilogue.residual, index * strides.residual) : nullptr;
    run_item(
        plan,
        Operands{plan.offset(problem.a.data, index * strides.a), plan.offset(problem.b.data, index * strides.b),
                 plan.offset(problem.c.data, index * strides.c), residual, epilogue.first_row + index * problem.m});
  };
  if (problem.batch == 1) return item(0);
  const int64_t work = std::max<int64_t>(1, problem.m * problem.n * std::max<int64_t>(problem.k, 1));
  if (problem.batch < num_threads()) {
    for (int64_t index = 0; index < problem.batch; index++) item(index);
    return;
  }
  parallel_for(problem.batch, divide_up(work_per_thread, work), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; index++) item(index);
  });
}

void run_generic(const Problem& problem, const Epilogue& epilogue) {
  const auto item_bytes = static_cast<int64_t>(item_size(problem.dtype));
  const int64_t rows = problem.batch * problem.m;
  const int64_t row_work = std::max<int64_t>(1, problem.n * std::max<int64_t>(problem.k, 1));
  parallel_for(rows, divide_up(work_per_thread / 8, row_work), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t index = row / problem.m, first = row % problem.m, last = std::min(problem.m, first + end - row);
      auto offset = [&](const auto* data, int64_t stride) {
        return static_cast<const char*>(data) + index * stride * item_bytes;
      };
      ConstMatrix a = problem.a, b = problem.b;
      Matrix c = problem.c;
      Epilogue item_epilogue = epilogue;
      a.data = offset(a.data, problem.strides.a);
      b.data = offset(b.data, problem.strides.b);
      c.data = static_cast<char*>(c.data) + index * problem.strides.c * item_bytes;
      if (epilogue.residual) item_epilogue.residual = offset(epilogue.residual, problem.strides.residual);
      gemm_generic(problem.dtype, problem.n, problem.k, a, b, c, item_epilogue, first, last);
      if (epilogue.post) {
        epilogue.post(epilogue.post_context, static_cast<char*>(c.data) + first * c.row_stride * item_bytes,
                      c.row_stride, c.column_stride, epilogue.first_row + row, 0, last - first, problem.n);
      }
      row += last - first;
    }
  });
}

void run_complex(const Problem& p, const Epilogue& epilogue, const MatrixKernels& kernels) {
  const auto bytes = static_cast<int64_t>(item_size(p.dtype));
  auto at = [&](const void* data, int64_t index, int64_t stride) {
    return static_cast<const char*>(data) + index * stride * bytes;
  };
  parallel_for(p.batch, p.batch < num_threads() ? p.batch : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      Epilogue own = epilogue;
      own.first_row += i * p.m;
      if (epilogue.residual) own.residual = at(epilogue.residual, i, p.strides.residual);
      gemm_complex(p.dtype, p.m, p.n, p.k, {at(p.a.data, i, p.strides.a), p.a.row_stride, p.a.column_stride},
                   {at(p.b.data, i, p.strides.b), p.b.row_stride, p.b.column_stride},
                   {static_cast<char*>(p.c.data) + i * p.strides.c * bytes, p.c.row_stride, p.c.column_stride}, own,
                   kernels);
    }
  });
}

// Small products without an epilogue need no plan. Whether this was one.
template <class T>
bool run_small(const GemmTable<T>& table, const Problem& p, const Epilogue& epilogue) {
  if (p.m > 16 || p.n > table.lanes || p.k > 64 || p.packed || !table.small) return false;
  if (p.b.column_stride != 1 || p.c.column_stride != 1 || (p.n == 1 && p.k >= 16)) return false;
  if (epilogue.accumulate || epilogue.bias || epilogue.row_bias || epilogue.residual || epilogue.post) return false;
  if (epilogue.lo != -infinity || epilogue.hi != infinity) return false;
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* b = static_cast<const T*>(p.b.data);
  auto* c = static_cast<T*>(p.c.data);
  auto run = [&](int64_t begin, int64_t end) {
    table.small({end - begin, p.m, p.n, p.k, a + begin * p.strides.a, p.a.row_stride, p.a.column_stride, p.strides.a,
                 b + begin * p.strides.b, p.b.row_stride, p.strides.b, c + begin * p.strides.c, p.c.row_stride,
                 p.strides.c});
  };
  if (p.batch == 1) {
    run(0, 1);
  } else {
    parallel_for(p.batch, divide_up(work_per_thread / 8, std::max<int64_t>(1, p.m * p.n * p.k)), run);
  }
  return true;
}

// One tile of rows times a packed b, too little for a second thread: panel by panel. Whether this was one.
template <class T>
bool run_one_tile(const GemmTable<T>& table, const Problem& p, const Epilogue& epilogue) {
  if (p.m > table.tile_rows || p.batch != 1 || p.m * p.n * p.k >= 2 * work_per_thread) return false;
  if (p.a.column_stride != 1 || p.c.column_stride != 1 || epilogue.post || (p.m > 4 && p.k > 512)) return false;
  const auto rows = static_cast<int>(p.m);
  const T* pointers[8];
  for (int i = 0; i < rows; i++) pointers[i] = static_cast<const T*>(p.a.data) + i * p.a.row_stride;
  const auto* bias = static_cast<const T*>(epilogue.bias);
  const auto* residual = static_cast<const T*>(epilogue.residual);
  TileOutput<T> out{};
  out.c_stride = p.c.row_stride;
  out.row_bias = static_cast<const T*>(epilogue.row_bias);
  out.residual_stride = epilogue.residual_stride;
  out.lo = static_cast<T>(epilogue.lo);
  out.hi = static_cast<T>(epilogue.hi);
  out.clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
  out.accumulate = epilogue.accumulate;
  for (int64_t column = 0; column < p.n; column += table.panel) {
    const int width = static_cast<int>(std::min<int64_t>(table.panel, p.n - column));
    out.c = static_cast<T*>(p.c.data) + column;
    out.bias = bias ? bias + column : nullptr;
    out.residual = residual ? residual + column : nullptr;
    tile_kernel(table, rows, width)(1, p.k, pointers, static_cast<const T*>(p.packed) + column * p.k, table.panel,
                                    width, out);
  }
  return true;
}

void run_floating(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels) {
  if (problem.dtype == DType::float64) return run(*kernels.f64, problem, epilogue);
  if (problem.dtype == DType::bfloat16 && kernels.bf16 && problem.k > 0 &&
      (problem.packed ||
       bf16_product_pays(problem.m, problem.n, problem.k, problem.a, problem.b, problem.c, nullptr))) {
    return gemm_bf16(problem.batch, problem.m, problem.n, problem.k, problem.a, problem.b, problem.c, problem.packed,
                     problem.strides, epilogue, kernels);
  }
  run(*kernels.f32, problem, epilogue);
}

void dispatch(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels) {
  const auto& [dtype, batch, m, n, k, a, b, c, packed, strides] = problem;
  SCONCE_CHECK(batch >= 0 && m >= 0 && n >= 0 && k >= 0,
               "matmul: sizes must not be negative, got batch {}, m {}, n {}, k {}", batch, m, n, k);
  SCONCE_CHECK(dtype != DType::bool_, "matmul: dtype bool has no matrix product");
  SCONCE_CHECK(!epilogue.row_bias || ((dtype == DType::float32 || dtype == DType::float64) && !epilogue.bias),
               "matmul: a bias of rows is for float32 and float64 products without a bias of columns, got {}",
               dtype_name(dtype));
  if (batch == 0 || m == 0 || n == 0) return;
  if (!is_floating(dtype)) {
    SCONCE_CHECK(epilogue.lo == -infinity && epilogue.hi == infinity,
                 "matmul: only floating point results can be clamped, got {}", dtype_name(dtype));
    if (is_complex(dtype) && complex_product_pays(m, n, k)) return run_complex(problem, epilogue, kernels);
    return run_generic(problem, epilogue);
  }
  if (packed && dtype == DType::float32 && run_one_tile(*kernels.f32, problem, epilogue)) return;
  if (packed && dtype == DType::float64 && run_one_tile(*kernels.f64, problem, epilogue)) return;
  if (dtype == DType::float32 && run_small(*kernels.f32, problem, epilogue)) return;
  if (dtype == DType::float64 && run_small(*kernels.f64, problem, epilogue)) return;
  if (uses_onednn() && batch == 1 && !packed && onednn_gemm(dtype, m, n, k, a, b, c, epilogue)) return;
  // A batch that shares b and lies row after row is one product.
  if (batch > 1 && !epilogue.row_bias && strides.b == 0 && strides.a == m * a.row_stride &&
      strides.c == m * c.row_stride && (!epilogue.residual || strides.residual == m * epilogue.residual_stride)) {
    return dispatch({dtype, 1, batch * m, n, k, a, b, c, packed, strides}, epilogue, kernels);
  }
  // c transposed is b transposed times a transposed. That makes c contiguous along columns, or a matrix times one
  // column one row times a matrix, when the matrix is contiguous that way.
  const bool c_by_columns = c.column_stride != 1 && n > 1 && (c.row_stride == 1 || m == 1);
  const bool a_by_columns = n == 1 && c.row_stride == 1 && a.row_stride == 1 && m > 1;
  if ((c_by_columns || a_by_columns) && !packed && !epilogue.bias && !epilogue.row_bias && !epilogue.residual &&
      !epilogue.post) {
    const ConstMatrix new_a{b.data, b.column_stride, b.row_stride}, new_b{a.data, a.column_stride, a.row_stride};
    const Matrix new_c{c.data, c.column_stride, c.row_stride};
    return run_floating({dtype, batch, n, m, k, new_a, new_b, new_c, nullptr, {strides.b, strides.a, strides.c}},
                        epilogue, kernels);
  }
  run_floating(problem, epilogue, kernels);
}

}  // namespace

const MatrixKernels& matrix_kernels() { return matrix_kernels(cpu_level()); }

const MatrixKernels& matrix_kernels(int level) {
  SCONCE_CHECK(level >= 2 && level <= 4, "matrix_kernels: expected level 2, 3 or 4, got {}", level);
  if (level == 4 && __builtin_cpu_supports("avx512bf16")) return with_bf16;
  return all_kernels[level - 2];
}

void gemm(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
          const Epilogue& epilogue, const MatrixKernels& kernels) {
  dispatch({dtype, 1, m, n, k, a, b, c, nullptr, no_strides}, epilogue, kernels);
}

void gemm_batched(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  BatchStrides strides, const Epilogue& epilogue, const MatrixKernels& kernels) {
  dispatch({dtype, batch, m, n, k, a, b, c, nullptr, strides}, epilogue, kernels);
}

size_t packed_b_bytes(DType dtype, int64_t k, int64_t n, const MatrixKernels& kernels) {
  SCONCE_CHECK(is_floating(dtype), "pack_b: only floating point matrices are packed, got {}", dtype_name(dtype));
  if (dtype == DType::bfloat16 && kernels.bf16) return bf16_packed_bytes(k, n);
  const bool wide = dtype == DType::float64;
  const int64_t panel = wide ? kernels.f64->panel : kernels.f32->panel;
  return static_cast<size_t>(divide_up(n, panel) * panel * k) * (wide ? sizeof(double) : sizeof(float));
}

void pack_b(DType dtype, int64_t k, int64_t n, ConstMatrix b, void* packed, const MatrixKernels& kernels) {
  SCONCE_CHECK(is_floating(dtype), "pack_b: only floating point matrices are packed, got {}", dtype_name(dtype));
  if (dtype == DType::bfloat16 && kernels.bf16) return bf16_pack_b(k, n, b, packed, kernels);
  auto pack = [&]<class T>(const GemmTable<T>& table) {
    const auto bytes = static_cast<int64_t>(item_size(dtype));
    const int64_t panel = table.panel;
    parallel_for(divide_up(n, panel), divide_up(work_per_thread, panel * std::max<int64_t>(k, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t column = begin * panel; column < std::min(n, end * panel); column += panel) {
                     table.pack_panel(storage_of(dtype),
                                      static_cast<const char*>(b.data) + column * b.column_stride * bytes, b.row_stride,
                                      b.column_stride, k, static_cast<int>(std::min(panel, n - column)),
                                      static_cast<T*>(packed) + column * k);
                   }
                 });
  };
  if (dtype == DType::float64) return pack(*kernels.f64);
  pack(*kernels.f32);
}

void gemm_packed(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, const void* packed, Matrix c,
                 const Epilogue& epilogue, const MatrixKernels& kernels) {
  SCONCE_CHECK(is_floating(dtype), "gemm_packed: only floating point matrices are packed, got {}", dtype_name(dtype));
  SCONCE_CHECK(packed || k == 0 || n == 0, "gemm_packed: no packed matrix");
  dispatch({dtype, 1, m, n, k, a, ConstMatrix{packed, 0, 0}, c, packed, no_strides}, epilogue, kernels);
}

}  // namespace sconce
