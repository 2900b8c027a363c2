#include "sconce/kernels/cpu/gemm/gemm.h"

#include <cmath>
#include <utility>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/engine/cpu_features.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/gemm/gemm_bf16.h"
#include "sconce/kernels/cpu/gemm/gemm_by_lanes.h"
#include "sconce/kernels/cpu/gemm/gemm_complex.h"
#include "sconce/kernels/cpu/gemm/gemm_generic.h"
#include "sconce/kernels/cpu/gemm/onednn.h"
#include "sconce/kernels/cpu/gemm/provider.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"

// GCC would merge neighbouring loads of just written numbers into one vector load, which waits for all of them to reach
// the cache. That took a third of the time of an 8 x 8 product.
#if !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

namespace sconce {
namespace {

SCONCE_VARIANT(few_dots, "gemm.at_once.dots", "few short rows times a matrix that is contiguous along k");
SCONCE_VARIANT(one_tile, "gemm.at_once.tile", "a tile of rows times packed weights, little work");
SCONCE_VARIANT(small_product, "gemm.small",
               "m of at most 16, n of at most a vector, k of at most 64, without an epilogue");
SCONCE_VARIANT(pairs, "gemm.bf16_pairs", "bfloat16", "bf16");
SCONCE_VARIANT(of_complex, "gemm.complex", "complex, m of 8 or more, k of 4 or more, m n k of 512 or more");
SCONCE_VARIANT(joined_batch, "gemm.batch.joined", "a batch that shares b and whose rows lie one after the other");
SCONCE_VARIANT(swapped_product, "gemm.transposed",
               "a result by columns, or few columns of a matrix that lies by columns");
SCONCE_VARIANT(few_items, "gemm.batch.few", "fewer products than threads");
SCONCE_VARIANT(with_packed, "gemm.packed", "weights that were packed before the call");
SCONCE_VARIANT(by_dots, "gemm.dot", "sums by lanes: few rows, b contiguous along k");
SCONCE_VARIANT(by_swapped_dots, "gemm.swapped_dot", "sums by lanes: few columns");
SCONCE_VARIANT(by_stream, "gemm.stream", "sums by lanes: few rows, b contiguous along columns");
SCONCE_VARIANT(by_fold, "gemm.fold", "sums by lanes: few rows, panels of b");
SCONCE_VARIANT(b_in_place, "gemm.in_place", "a b of at most 96 KB, or few rows: read where it lies");
SCONCE_VARIANT(by_blocks, "gemm.blocked", "panels of b, packed");
SCONCE_VARIANT(copied_rows, "gemm.copy_a",
               "rows of a that are copied: transposed, narrow, or that collide in the cache");
SCONCE_VARIANT(staged_result, "gemm.staged", "a narrow result, or one without adjacent columns");
SCONCE_VARIANT(cut_depth, "gemm.k_blocks", "more than 4 rows, a k that is cut into blocks");
SCONCE_VARIANT(cut_columns, "gemm.n_blocks", "more packed columns than the second-level cache holds");
SCONCE_VARIANT(ragged_panel, "gemm.in_place.ragged", "columns that are no multiple of a vector");
SCONCE_VARIANT(several_shares, "gemm.threads", "several threads share a product");
SCONCE_VARIANT(shared_columns, "gemm.threads.columns", "several threads, each with some of the columns");

using namespace gemm_parts;

constexpr MatrixKernels all_kernels[] = {
    {2, &v2::gemm_f32, &v2::gemm_f64, nullptr},
#if SCONCE_CPU_LEVELS >= 2
    {3, &v3::gemm_f32, &v3::gemm_f64, nullptr},
#endif
#if SCONCE_CPU_LEVELS >= 3
    {4, &v4::gemm_f32, &v4::gemm_f64, nullptr},
#endif
};
// The level whose processors may multiply bfloat16 numbers.
#if SCONCE_CPU_LEVELS == 2
constexpr MatrixKernels with_bf16 = {3, &v3::gemm_f32, &v3::gemm_f64, &v3::bf16};
#elif SCONCE_CPU_LEVELS == 3
constexpr MatrixKernels with_bf16 = {4, &v4::gemm_f32, &v4::gemm_f64, &v4::bf16};
#endif

constexpr BatchStrides no_strides{0, 0, 0};

Range part(int64_t n, int64_t parts, int64_t index) { return {n * index / parts, n * (index + 1) / parts}; }

// How many rows are multiplied by a panel of b before the next one. A b that was packed beforehand comes from memory:
// as many rows as stay in the second-level cache share what was read. Otherwise b has just been packed, and is near.
template <class T>
int64_t group_of_rows(const Plan<T>& plan, int64_t rows) {
  if (!plan.packed) return plan.copy_a && plan.tile < 32 ? 32 / plan.tile * plan.tile : plan.tile;
  const int64_t most =
      std::max(a_block_bytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, plan.k_block), plan.tile);
  return divide_up(divide_up(rows, divide_up(rows, most)), plan.tile) * plan.tile;
}

// Row pointers of the tile that starts at `row`, columns k0 on. A tile that is copied is copied with its neighbours up
// to the end of its group, into `buffer`.
template <class T>
class RowPointers {
 public:
  RowPointers(const Plan<T>& plan, const void* a, int64_t group_rows, Scratch& scratch)
      : plan_(plan), a_(a), stride_(plan.k_block + plan.table.lanes), group_rows_(group_rows) {
    if (plan.copy_a) buffer_ = scratch.take<T>(group_rows_ * stride_);
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

// How many of the `left` rows the next tile has. The last two share their rows: a tile of one or two is as slow as one
// of four.
template <class T>
int next_tile(const Plan<T>& plan, int64_t left) {
  if (left <= plan.table.tile_rows) return static_cast<int>(left);
  return static_cast<int>(left < plan.tile + 3 ? (left + 1) / 2 : plan.tile);
}

// A large product takes seconds: whoever limits its time, or cancels it, does not wait for the end.
void look_at_clock() {
  if (Budget* budget = Budget::active()) [[unlikely]]
    budget->poll();
}

// b stays where it is; only a last panel that is not a whole number of vectors is packed.
template <class T>
void run_in_place(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const int64_t panel = plan.table.panel;
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  RowPointers<T> pointers(plan, operands.a, group_of_rows(plan, rows.size()), scratch);
  const int64_t vector_mask = plan.table.lanes - 1;  // lanes and panel are powers of two, and divisions slow
  T* ragged = ragged_panel((columns.size() & vector_mask) != 0) ? scratch.take<T>(plan.k * panel) : nullptr;
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
    int count = 0;
    for (int64_t row = group; row < group_rows.end; row += count) {
      count = next_tile(plan, group_rows.end - row);
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

// Software prefetching: the tiles of rows that meet one panel of b fetch the panel after it, a share each, so that
// memory is read all the time. The processor's own prefetching stops at every page, and hurries during the first tile
// alone.
template <class T>
class NextPanel {
 public:
  NextPanel(const T* next, int64_t elements, int64_t depth, int64_t tiles)
      : at_(tiles > 1 ? reinterpret_cast<const char*>(next) : nullptr),
        step_(divide_up(elements * static_cast<int64_t>(sizeof(T)), std::max<int64_t>(1, tiles * depth))),
        share_(step_ * depth) {}
  void fetched_by(TileOutput<T>& tile) {
    tile.ahead = at_;
    tile.ahead_step = step_;
    if (at_) at_ += share_;
  }

 private:
  const char* at_;  // or null: a single tile fetches its own panel
  int64_t step_, share_;
};

template <class T>
void run_blocked(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const int64_t panel = plan.table.panel;
  const int64_t all_columns = (columns.size() + panel - 1) & -panel;
  const int64_t block_elements = b_block_bytes / static_cast<int64_t>(sizeof(T));
  const int64_t row_group = group_of_rows(plan, rows.size());
  int64_t column_block = all_columns;
  if (!plan.packed && rows.size() <= 2 * plan.table.tile_rows) {
    column_block = panel;    // used while it is in the first-level cache
  } else if (plan.packed) {  // parts of a are copied once for each block; c is read again, by the epilogue
    column_block = std::max(c_block_bytes / static_cast<int64_t>(sizeof(T)) / row_group & -panel, panel);
  } else if (all_columns * plan.k_block > block_elements) {
    column_block = std::max(block_elements / plan.k_block & -panel, panel);
  }
  cut_columns(column_block < all_columns);
  Scratch scratch;
  T* b_block = plan.packed ? nullptr : scratch.take<T>(plan.k_block * column_block);
  RowPointers<T> pointers(plan, operands.a, row_group, scratch);
  const int64_t row_block = plan.staged ? divide_up(staged_rows, row_group) * row_group : plan.m;
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
        const auto panel_at = [&](int64_t column) {
          return b_block ? b_block + (column - c0) * depth : plan.packed + column * plan.k + k0 * panel;
        };
        for (int64_t group = r0; group < block_rows.end; group += row_group) {
          look_at_clock();
          const Range group_rows{group, std::min(block_rows.end, group + row_group)};
          pointers.load(group_rows, k0, depth);
          const int64_t tiles = divide_up(group_rows.size(), plan.tile);
          for (int64_t column = c0; column < block_columns.end; column += panel) {
            const int width = static_cast<int>(std::min(panel, block_columns.end - column));
            const T* b = panel_at(column);
            const T* next = column + panel < block_columns.end            ? panel_at(column + panel)
                            : group_rows.end < block_rows.end             ? panel_at(c0)
                            : !b_block && !last                           ? panel_at(c0) + depth * panel
                            : !b_block && block_columns.end < columns.end ? plan.packed + block_columns.end * plan.k
                                                                          : nullptr;
            NextPanel<T> next_panel(next, depth * panel, depth, tiles);
            int count = 0;
            for (int64_t row = group; row < group_rows.end; row += count) {
              count = next_tile(plan, group_rows.end - row);
              pointers.fill(row, count, tile_rows);
              TileOutput<T> output = target.at(row, column, first, last);
              next_panel.fetched_by(output);
              tile_kernel(plan.table, count, width)(1, depth, tile_rows, b, panel, width, output);
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
  plan.path == Path::blocked ? run_blocked(plan, operands, rows, columns)
                             : plan.driver.run(plan, operands, rows, columns);
}

template <class T>
void run_unblocked(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  plan.path == Path::in_place ? run_in_place(plan, operands, rows, columns)
                              : run_by_lanes(plan, operands, rows, columns);
}

constexpr Driver<float> drivers_f32[] = {
    {run_unblocked<float>, &v2::lanes_f32},
#if SCONCE_CPU_LEVELS >= 2
    {run_unblocked<float>, &v3::lanes_f32},
#endif
#if SCONCE_CPU_LEVELS >= 3
    {run_unblocked<float>, &v4::lanes_f32},
#endif
};
constexpr Driver<double> drivers_f64[] = {
    {run_unblocked<double>, &v2::lanes_f64},
#if SCONCE_CPU_LEVELS >= 2
    {run_unblocked<double>, &v3::lanes_f64},
#endif
#if SCONCE_CPU_LEVELS >= 3
    {run_unblocked<double>, &v4::lanes_f64},
#endif
};
constexpr Driver<float> driver_along_k = {run_dots<float>, nullptr};

template <class T>
const Driver<T>& driver_of(const MatrixKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return drivers_f32[kernels.level - kLowestCpuLevel];
  } else {
    return drivers_f64[kernels.level - kLowestCpuLevel];
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
  // Rows that a thread has made are in its cache when the next operator reads them: where they are more than the
  // weights, shares of rows are worth a little more work.
  const bool keeps_rows = plan.m * (plan.k + plan.n) > plan.k * plan.n;
  std::pair<int64_t, int64_t> best{1, 1};
  double best_cost = -1;
  for (int64_t by_rows = 1; by_rows <= std::min(threads, tiles); by_rows++) {
    const int64_t by_columns = std::min(threads / by_rows, units);
    const auto own_tiles = static_cast<double>(divide_up(tiles, by_rows));
    const auto own_units = static_cast<double>(divide_up(units, by_columns));
    const double cost = own_tiles * own_units + pack * own_units + copy * own_tiles;
    if (best_cost < 0 || cost < best_cost || (keeps_rows && cost <= 1.05 * best_cost)) {
      best_cost = best_cost < 0 ? cost : std::min(cost, best_cost);
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
  shared_columns(by_columns > 1);
  if (!several_shares(by_rows * by_columns > 1)) return run_share(plan, operands, {0, plan.m}, {0, plan.n});
  parallel_for(by_rows * by_columns, 1, [&, by_rows = by_rows, by_columns = by_columns](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; cell++) {
      Range rows = part(tiles, by_rows, cell / by_columns), columns = part(units, by_columns, cell % by_columns);
      run_share(plan, operands, {rows.begin * plan.tile, std::min(plan.m, rows.end * plan.tile)},
                {columns.begin * plan.column_unit, std::min(plan.n, columns.end * plan.column_unit)});
    }
  });
}

GemmStorage storage_of(DType dtype) {
  return dtype == DType::bfloat16  ? GemmStorage::bfloat16
         : dtype == DType::float16 ? GemmStorage::float16
                                   : GemmStorage::native;
}

template <class T>
void note(const Plan<T>& plan) {
  by_dots(plan.path == Path::dot);
  by_swapped_dots(plan.path == Path::swapped_dot);
  by_stream(plan.path == Path::stream);
  by_fold(plan.path == Path::fold);
  b_in_place(plan.path == Path::in_place);
  by_blocks(plan.path == Path::blocked);
  with_packed(plan.packed != nullptr);
  copied_rows(plan.copy_a);
  staged_result(plan.staged);
  cut_depth(plan.k_block > 1 && plan.k_block < plan.k);
}

template <class T>
void run(const GemmTable<T>& table, const Driver<T>& driver, const Problem& problem, const Epilogue& epilogue) {
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
               epilogue,
               problem.order,
               driver};
  plan.decide();
  note(plan);
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
  if (few_items(problem.batch < num_threads())) {
    for (int64_t index = 0; index < problem.batch; index++) item(index);
    return;
  }
  parallel_for(problem.batch, divide_up(work_per_thread, work), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; index++) item(index);
  });
}

void generic_product(const Problem& problem, const Epilogue& epilogue) {
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
      gemm_generic(problem.dtype, {problem.n, problem.k, a, b, c, item_epilogue, first, last});
      if (epilogue.post) {
        epilogue.post(epilogue.post_context, static_cast<char*>(c.data) + first * c.row_stride * item_bytes,
                      c.row_stride, c.column_stride, epilogue.first_row + row, 0, last - first, problem.n);
      }
      row += last - first;
    }
  });
}

void complex_product(const Problem& p, const Epilogue& epilogue, const MatrixKernels& kernels) {
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
bool run_small(const GemmTable<T>& table, const LaneTable<T>& lanes, const Problem& p, const Epilogue& epilogue) {
  if (p.m > 16 || p.n > table.lanes || p.k > 64 || p.packed || !lanes.small) return false;
  if (p.b.column_stride != 1 || p.c.column_stride != 1 || p.order == SumOrder::by_lanes) return false;
  if (epilogue.accumulate || epilogue.bias || epilogue.row_bias || epilogue.scale || epilogue.residual || epilogue.post)
    return false;
  if (epilogue.lo != -infinity || epilogue.hi != infinity) return false;
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* b = static_cast<const T*>(p.b.data);
  auto* c = static_cast<T*>(p.c.data);
  auto run = [&](int64_t begin, int64_t end) {
    lanes.small({end - begin, p.m, p.n, p.k, a + begin * p.strides.a, p.a.row_stride, p.a.column_stride, p.strides.a,
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

// Few and small rows, whose columns lie side by side: too little for a second thread.
bool fits_one_tile(const Problem& p, const Epilogue& epilogue, int64_t rows) {
  return p.m <= rows && p.batch == 1 && p.m * p.n * p.k < 2 * work_per_thread && p.a.column_stride == 1 &&
         p.c.column_stride == 1 && !epilogue.post && (p.m <= 4 || p.k <= 512);
}

// A few rows times a b that is contiguous along k, without a plan. Whether this was one.
template <class T>
bool run_one_dot(const GemmTable<T>& table, const Problem& p, const Epilogue& epilogue) {
  if (p.order != SumOrder::by_lanes || p.packed || p.b.row_stride != 1 || !fits_one_tile(p, epilogue, few_rows))
    return false;
  const bool by_rows = epilogue.row_bias != nullptr;
  DotArgs<T> args{};
  args.few_count = p.m;
  args.many_count = p.n;
  args.k = p.k;
  args.few = static_cast<const T*>(p.a.data);
  args.few_stride = p.a.row_stride;
  args.many = p.b.data;
  args.many_stride = p.b.column_stride;
  args.c = static_cast<T*>(p.c.data);
  args.c_few = p.c.row_stride;
  args.c_many = 1;
  args.bias = static_cast<const T*>(by_rows ? epilogue.row_bias : epilogue.bias);
  args.bias_few = by_rows;
  args.bias_many = !by_rows;
  args.scale = static_cast<const T*>(epilogue.scale);
  args.shift = static_cast<const T*>(epilogue.shift);
  args.scale_many = 1;
  args.residual = static_cast<const T*>(epilogue.residual);
  args.residual_few = epilogue.residual_stride;
  args.residual_many = 1;
  args.lo = static_cast<T>(epilogue.lo);
  args.hi = static_cast<T>(epilogue.hi);
  args.clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
  args.accumulate = epilogue.accumulate;
  table.dot(args);
  return true;
}

// A tile of rows times a packed b, without a plan. Whether this was one.
template <class T>
bool run_one_tile(const GemmTable<T>& table, const LaneTable<T>& lanes, const Problem& p, const Epilogue& epilogue) {
  const bool by_lanes = p.order == SumOrder::by_lanes;
  if (!p.packed || !fits_one_tile(p, epilogue, by_lanes ? few_rows : table.tile_rows)) return false;
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* bias = static_cast<const T*>(epilogue.bias);
  const auto* residual = static_cast<const T*>(epilogue.residual);
  const auto *scale = static_cast<const T*>(epilogue.scale), *shift = static_cast<const T*>(epilogue.shift);
  const auto rows = static_cast<int>(p.m);
  const auto* b = static_cast<const T*>(p.packed);
  TileOutput<T> out{};
  out.c = static_cast<T*>(p.c.data);
  out.c_stride = p.c.row_stride;
  out.bias = bias;
  out.row_bias = static_cast<const T*>(epilogue.row_bias);
  out.scale = scale;
  out.shift = shift;
  out.residual = residual;
  out.residual_stride = epilogue.residual_stride;
  out.lo = static_cast<T>(epilogue.lo);
  out.hi = static_cast<T>(epilogue.hi);
  out.clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
  out.accumulate = epilogue.accumulate;
  if (by_lanes) {
    lanes.fold({rows, p.k, p.n, a, p.a.row_stride, b, table.panel, table.panel * p.k, out});
    return true;
  }
  const T* pointers[8];
  for (int i = 0; i < rows; i++) pointers[i] = a + i * p.a.row_stride;
  for (int64_t column = 0; column < p.n; column += table.panel) {
    const int width = static_cast<int>(std::min<int64_t>(table.panel, p.n - column));
    out.c = static_cast<T*>(p.c.data) + column;
    out.bias = bias ? bias + column : nullptr;
    out.scale = scale ? scale + column : nullptr;
    out.shift = shift ? shift + column : nullptr;
    out.residual = residual ? residual + column : nullptr;
    tile_kernel(table, rows, width)(1, p.k, pointers, b + column * p.k, table.panel, width, out);
  }
  return true;
}

template <class T>
bool run_at_once(const GemmTable<T>& table, const Driver<T>& driver, const Problem& problem, const Epilogue& epilogue,
                 bool elsewhere) {
  if (!elsewhere && (few_dots(run_one_dot(table, problem, epilogue)) ||
                     one_tile(run_one_tile(table, *driver.lanes, problem, epilogue))))
    return true;
  return small_product(run_small(table, *driver.lanes, problem, epilogue));
}

}  // namespace

// Not templates: a library without such dtypes has others in their place.
SCONCE_WEAK void gemm_parts::run_f64(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels) {
  run(*kernels.f64, driver_of<double>(kernels), problem, epilogue);
}
SCONCE_WEAK bool gemm_parts::run_at_once_f64(const Problem& problem, const Epilogue& epilogue,
                                             const MatrixKernels& kernels, bool elsewhere) {
  return run_at_once(*kernels.f64, driver_of<double>(kernels), problem, epilogue, elsewhere);
}
SCONCE_WEAK void gemm_parts::run_generic(const Problem& problem, const Epilogue& epilogue) {
  generic_product(problem, epilogue);
}
SCONCE_WEAK void gemm_parts::run_complex(const Problem& p, const Epilogue& epilogue, const MatrixKernels& kernels) {
  complex_product(p, epilogue, kernels);
}

namespace {

void run_floating(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels,
                  const Driver<float>& driver) {
  if (problem.dtype == DType::float64) return run_f64(problem, epilogue, kernels);
  if (pairs(problem.dtype == DType::bfloat16 && kernels.bf16 && problem.k > 0)) {
    return gemm_bf16(problem.batch, problem.m, problem.n, problem.k, problem.a, problem.b, problem.c, problem.packed,
                     problem.strides, epilogue, problem.order, kernels);
  }
  run(*kernels.f32, driver, problem, epilogue);
}

// Integers and complex numbers.
void run_others(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels) {
  if (of_complex(is_complex(problem.dtype) && complex_product_pays(problem.m, problem.n, problem.k)))
    return run_complex(problem, epilogue, kernels);
  run_generic(problem, epilogue);
}

void dispatch(const Problem& problem, const Epilogue& epilogue, const MatrixKernels& kernels) {
  const auto& [dtype, batch, m, n, k, a, b, c, packed, strides, order] = problem;
  SCONCE_CHECK(batch >= 0 && m >= 0 && n >= 0 && k >= 0,
               "matmul: sizes must not be negative, got batch {}, m {}, n {}, k {}", batch, m, n, k);
  SCONCE_CHECK(dtype != DType::bool_, "matmul: dtype bool has no matrix product");
  SCONCE_CHECK(!epilogue.row_bias || ((dtype == DType::float32 || dtype == DType::float64) && !epilogue.bias),
               "matmul: a bias of rows is for float32 and float64 products without a bias of columns, got {}",
               dtype_name(dtype));
  SCONCE_CHECK(
      !epilogue.scale == !epilogue.shift && (!epilogue.scale || dtype == DType::float32 || dtype == DType::float64),
      "matmul: a scale goes with a shift, for products of float32 and float64, got {}", dtype_name(dtype));
  if (batch == 0 || m == 0 || n == 0) return;
  if (!is_floating(dtype)) {
    SCONCE_CHECK(epilogue.lo == -infinity && epilogue.hi == infinity,
                 "matmul: only floating point results can be clamped, got {}", dtype_name(dtype));
    return run_others(problem, epilogue, kernels);
  }
  const bool elsewhere = uses_onednn() && batch == 1 && !packed;
  if (dtype == DType::float32 && run_at_once(*kernels.f32, driver_of<float>(kernels), problem, epilogue, elsewhere))
    return;
  if (dtype == DType::float64 && run_at_once_f64(problem, epilogue, kernels, elsewhere)) return;
  if (elsewhere && onednn_gemm(dtype, m, n, k, a, b, c, epilogue)) return;
  // A batch that shares b and lies row after row is one product, if its sums are formed in the same order.
  if (joined_batch(batch > 1 && !epilogue.row_bias && strides.b == 0 && strides.a == m * a.row_stride &&
                   strides.c == m * c.row_stride &&
                   (!epilogue.residual || strides.residual == m * epilogue.residual_stride) &&
                   (order == SumOrder::in_sequence || sum_order(batch * m, n, k) == order))) {
    return dispatch({dtype, 1, batch * m, n, k, a, b, c, packed, strides, order}, epilogue, kernels);
  }
  // c transposed is b transposed times a transposed. That makes c contiguous along columns, or a matrix times a few
  // columns a few rows times a matrix, when the matrix is contiguous that way.
  const bool c_by_columns = c.column_stride != 1 && n > 1 && (c.row_stride == 1 || m == 1);
  const bool a_by_columns =
      n <= few_rows && m > few_rows && order == SumOrder::by_lanes && a.row_stride == 1 && a.column_stride != 1;
  if (swapped_product((c_by_columns || a_by_columns) && !packed && !epilogue.bias && !epilogue.row_bias &&
                      !epilogue.scale && !epilogue.residual && !epilogue.post)) {
    const ConstMatrix new_a{b.data, b.column_stride, b.row_stride}, new_b{a.data, a.column_stride, a.row_stride};
    const Matrix new_c{c.data, c.column_stride, c.row_stride};
    return run_floating({dtype, batch, n, m, k, new_a, new_b, new_c, nullptr, {strides.b, strides.a, strides.c}, order},
                        epilogue, kernels, driver_of<float>(kernels));
  }
  run_floating(problem, epilogue, kernels, driver_of<float>(kernels));
}

}  // namespace

const MatrixKernels& matrix_kernels() { return matrix_kernels(cpu_level()); }

const MatrixKernels& matrix_kernels(int level) {
  SCONCE_CHECK(level >= kLowestCpuLevel && level <= kHighestCpuLevel,
               "matrix_kernels: expected a level from {} to {}, got {}", kLowestCpuLevel, kHighestCpuLevel, level);
#if SCONCE_CPU_LEVELS >= 2
  static const bool has_bf16 = cpu_multiplies_bf16();
  if (has_bf16 && level == with_bf16.level) return with_bf16;
#endif
  return all_kernels[level - kLowestCpuLevel];
}

SumOrder sum_order(int64_t m, int64_t n, int64_t k) {
  return std::min(m, n) <= few_rows && k >= 16 ? SumOrder::by_lanes : SumOrder::in_sequence;
}

namespace {

SumOrder decided(SumOrder order, int64_t m, int64_t n, int64_t k) {
  if (order == SumOrder::automatic) return sum_order(m, n, k);
  SCONCE_CHECK(order == SumOrder::in_sequence || sum_order(m, n, k) == order,
               "matmul: sums by lanes are for few rows or columns, got m {}, n {}, k {}", m, n, k);
  return order;
}

}  // namespace

void gemm(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
          const Epilogue& epilogue, const MatrixKernels& kernels, SumOrder order) {
  dispatch({dtype, 1, m, n, k, a, b, c, nullptr, no_strides, decided(order, m, n, k)}, epilogue, kernels);
}

void gemm_along_k(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  const Epilogue& epilogue) {
  const MatrixKernels& kernels = matrix_kernels();
  const Problem problem{dtype, 1, m, n, k, a, b, c, nullptr, no_strides, sum_order(m, n, k)};
  SCONCE_CHECK(dtype != DType::bool_, "matmul: dtype bool has no matrix product");
  if (m == 0 || n == 0) return;
  if (!is_floating(dtype)) return run_others(problem, epilogue, kernels);
  if (dtype != DType::float32 || !run_one_dot(*kernels.f32, problem, epilogue))
    run_floating(problem, epilogue, kernels, driver_along_k);
}

void gemm_batched(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  BatchStrides strides, const Epilogue& epilogue, const MatrixKernels& kernels, SumOrder order) {
  dispatch({dtype, batch, m, n, k, a, b, c, nullptr, strides, decided(order, m, n, k)}, epilogue, kernels);
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
                 const Epilogue& epilogue, const MatrixKernels& kernels, SumOrder order) {
  SCONCE_CHECK(is_floating(dtype), "gemm_packed: only floating point matrices are packed, got {}", dtype_name(dtype));
  SCONCE_CHECK(packed || k == 0 || n == 0, "gemm_packed: no packed matrix");
  dispatch({dtype, 1, m, n, k, a, ConstMatrix{packed, 0, 0}, c, packed, no_strides, decided(order, m, n, k)}, epilogue,
           kernels);
}

bool may_overwrite_residual(DType dtype, int64_t m, int64_t n, int64_t k) {
  return (dtype == DType::float32 || dtype == DType::float64) && k <= gemm_parts::one_block &&
         sum_order(m, n, k) == SumOrder::in_sequence;
}

}  // namespace sconce
