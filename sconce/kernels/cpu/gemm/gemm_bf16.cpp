#include "sconce/kernels/cpu/gemm/gemm_bf16.h"

#include <algorithm>

#include "sconce/base/budget.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce {
namespace {

SCONCE_VARIANT(few_rows_of, "gemm.bf16.few_rows", "sums by lanes: few rows", "bf16");
SCONCE_VARIANT(few_columns_of, "gemm.bf16.few_columns", "sums by lanes: few columns", "bf16");
SCONCE_VARIANT(by_dots, "gemm.bf16.dot", "few rows, b contiguous along k", "bf16");
SCONCE_VARIANT(copied_rows, "gemm.bf16.copy_a", "rows of a that are copied: transposed, or that collide in the cache",
               "bf16");
SCONCE_VARIANT(cut_depth, "gemm.bf16.k_blocks", "a k of more than 1,536, rounded at the end", "bf16");
SCONCE_VARIANT(scattered_result, "gemm.bf16.scatter", "a result without adjacent columns", "bf16");

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t work_per_thread = 512 * 1024;          // multiplications
constexpr int64_t most_depth = 1536, depth_block = 768;  // of k, unless all of it fits
constexpr int64_t b_block_elements = 256 * 1024;         // of packed b, in the second-level cache
constexpr int64_t sum_rows = 512;                        // whose sums are kept while k is cut
constexpr int64_t row_group = 64;                        // of products with few columns
constexpr int panel = Bf16Table::panel;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

using Item = uint16_t;
const Item* item(const void* data) { return static_cast<const Item*>(data); }

class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c, const Item* packed,
          const Epilogue& epilogue, const void* residual, int64_t first_row, SumOrder order,
          const MatrixKernels& kernels)
      : m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        c_(c),
        packed_(packed),
        epilogue_(epilogue),
        residual_(item(residual)),
        first_row_(first_row),
        by_lanes_(order == SumOrder::by_lanes),
        table_(*kernels.bf16),
        wide_(*kernels.f32) {
    if (k == 1) a_.column_stride = 1;
    tile_ = divide_up(m, divide_up(m, Bf16Table::tile_rows));
    k_block_ = k <= most_depth ? k : divide_up(divide_up(k, divide_up(k, depth_block)), 8) * 8;
    const int64_t row_bytes = a_.row_stride * 2;
    const bool collide = row_bytes >= 2048 && row_bytes % 1024 == 0 && tile_ > 6 && n >= 4 * panel;
    copy_a_ = a_.column_stride != 1 || collide;
  }

  // The result goes to floats instead: sums as they are, without an epilogue.
  void to_floats(float* c, int64_t row_stride, bool accumulate) {
    floats_ = c;
    floats_stride_ = row_stride;
    adds_ = accumulate;
  }

  void run() const {
    const bool few_columns = few_columns_of(by_lanes_ && m_ > few_rows);
    few_rows_of(by_lanes_ && !few_columns);
    const int64_t tile = few_columns ? row_group : by_lanes_ ? m_ : tile_;
    const int64_t tiles = divide_up(m_, tile), units = few_columns ? 1 : divide_up(n_, panel);
    int64_t threads = std::min<int64_t>(num_threads(), m_ * n_ * k_ / work_per_thread), by_rows = 1, by_columns = 1;
    if (in_parallel_region()) threads = 1;
    int64_t best = tiles * units;
    for (int64_t r = 1; r <= std::min(threads, tiles); r++) {
      const int64_t c = std::min(threads / r, units), cost = divide_up(tiles, r) * divide_up(units, c);
      if (cost < best) {
        best = cost;
        by_rows = r;
        by_columns = c;
      }
    }
    parallel_for(by_rows * by_columns, 1, [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; cell++) {
        const int64_t r = cell / by_columns, u = cell % by_columns;
        const Range rows{tiles * r / by_rows * tile, std::min(m_, tiles * (r + 1) / by_rows * tile)};
        const Range columns{units * u / by_columns * panel, std::min(n_, units * (u + 1) / by_columns * panel)};
        if (few_columns) {
          run_few_columns(rows);
        } else if (by_lanes_) {
          run_few_rows(columns);
        } else {
          run_tiles(rows, columns);
        }
      }
    });
  }

 private:
  const float* widened_bias(Range columns, Scratch& scratch) const {
    if (!epilogue_.bias) return nullptr;
    auto* out = scratch.take<float>(columns.size());
    wide_.copy_rows(GemmStorage::bfloat16, item(epilogue_.bias) + columns.begin, 0, 1, 1, columns.size(), out, 0);
    return out;
  }

  void post(Range rows, Range columns) const {
    if (!epilogue_.post) return;
    epilogue_.post(epilogue_.post_context, c_at(rows.begin, columns.begin), c_.row_stride, c_.column_stride,
                   first_row_ + rows.begin, columns.begin, rows.size(), columns.size());
  }
  Item* c_at(int64_t row, int64_t column) const { return static_cast<Item*>(c_.data) + row * c_.row_stride + column; }

  // `rows` x k numbers contiguous along k: where they lie, or a copy.
  const Item* contiguous_rows(const Item* data, int64_t row_stride, int64_t column_stride, int64_t rows,
                              int64_t& stride, Scratch& scratch) const {
    stride = row_stride;
    if (column_stride == 1) return data;
    auto* copy = scratch.take<Item>(rows * k_);
    table_.copy_rows(data, row_stride, column_stride, rows, k_, copy, k_);
    stride = k_;
    return copy;
  }

  // All rows of some columns.
  void run_few_rows(Range columns) const {
    Scratch scratch;
    int64_t a_stride = 0;
    const Item* a = contiguous_rows(item(a_.data), a_.row_stride, a_.column_stride, m_, a_stride, scratch);
    const int64_t width = columns.size(), padded = divide_up(width, panel) * panel;
    auto* sums = scratch.take<float>(m_ * padded);
    if (by_dots(!packed_ && b_.row_stride == 1)) {
      table_.dot(m_, width, k_, a, a_stride, item(b_.data) + columns.begin * b_.column_stride, b_.column_stride, sums,
                 padded);
    } else {
      auto* own = packed_ ? nullptr : scratch.take<Item>(bf16_padded(k_) * panel);
      for (int64_t column = columns.begin; column < columns.end; column += panel) {
        const Item* b = packed_ ? packed_ + column * bf16_padded(k_) : own;
        if (own) {
          table_.pack_panel(item(b_.data) + column * b_.column_stride, b_.row_stride, b_.column_stride, k_,
                            static_cast<int>(std::min<int64_t>(panel, columns.end - column)), own);
        }
        for (int64_t i = 0; i < m_; i++) {
          for (int64_t j = 0; j < panel; j += 16) {
            table_.fold(k_, a + i * a_stride, b + Bf16Table::group * j, sums + i * padded + column - columns.begin + j);
          }
        }
      }
    }
    finish({0, m_}, columns, sums, padded);
  }

  // Some rows of all columns, which are few.
  void run_few_columns(Range rows) const {
    Scratch scratch;
    int64_t b_stride = k_;
    const Item* b = nullptr;
    if (packed_) {  // in the first panel, as groups
      constexpr int group = Bf16Table::group;
      auto* columns = scratch.take<Item>(n_ * k_);
      for (int64_t j = 0; j < n_; j++) {
        for (int64_t p = 0; p < k_; p++)
          columns[j * k_ + p] = packed_[p / group * group * panel + group * j + p % group];
      }
      b = columns;
    } else {
      b = contiguous_rows(item(b_.data), b_.column_stride, b_.row_stride, n_, b_stride, scratch);
    }
    auto* sums = scratch.take<float>(row_group * n_);
    auto* by_columns = scratch.take<float>(row_group * n_);
    for (int64_t row = rows.begin; row < rows.end; row += row_group) {
      Scratch own;
      const int64_t count = std::min(row_group, rows.end - row);
      int64_t a_stride = 0;
      const Item* a =
          contiguous_rows(item(a_.data) + row * a_.row_stride, a_.row_stride, a_.column_stride, count, a_stride, own);
      table_.dot(n_, count, k_, b, b_stride, a, a_stride, by_columns, row_group);
      for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < n_; j++) sums[i * n_ + j] = by_columns[j * row_group + i];
      }
      finish({row, row + count}, {0, n_}, sums, n_);
    }
  }

  // The epilogue of a rectangle whose sums are known.
  void finish(Range rows, Range columns, float* sums, int64_t stride) const {
    Scratch scratch;
    const float* bias = widened_bias(columns, scratch);
    const int64_t width = columns.size();
    auto* other = epilogue_.accumulate || residual_ ? scratch.take<float>(width) : nullptr;
    const auto lo = static_cast<float>(epilogue_.lo), hi = static_cast<float>(epilogue_.hi);
    for (int64_t i = rows.begin; i < rows.end; i++, sums += stride) {
      Item* c = c_at(i, columns.begin);
      const auto add = [&](const Item* from) {
        wide_.copy_rows(GemmStorage::bfloat16, from, 0, 1, 1, width, other, 0);
        for (int64_t j = 0; j < width; j++) sums[j] += other[j];
      };
      if (epilogue_.accumulate) add(c);
      for (int64_t j = 0; bias && j < width; j++) sums[j] += bias[j];
      if (residual_) add(residual_ + i * epilogue_.residual_stride + columns.begin);
      for (int64_t j = 0; clamped() && j < width; j++) sums[j] = sums[j] < lo ? lo : sums[j] > hi ? hi : sums[j];
      wide_.store_rows(GemmStorage::bfloat16, sums, width, 1, width, c, width);
    }
    post(rows, columns);
  }

  bool clamped() const { return epilogue_.lo > -infinity || epilogue_.hi < infinity; }

  void run_tiles(Range rows, Range columns) const {
    const int64_t padded_block = bf16_padded(k_block_);
    const int64_t column_block =
        std::min(divide_up(columns.size(), panel) * panel,
                 std::max<int64_t>(panel, b_block_elements / std::max<int64_t>(padded_block, 1) / panel * panel));
    const bool cut = cut_depth(k_block_ < k_ && !floats_);
    copied_rows(copy_a_);
    const int64_t row_block = cut ? divide_up(sum_rows, tile_) * tile_ : rows.size();
    const int64_t group = copy_a_ ? std::max<int64_t>(1, 32 / tile_) * tile_ : tile_;
    const int64_t copy_stride = k_block_ + 32;
    Scratch scratch;
    const float* bias = widened_bias(columns, scratch);
    auto* b_block = packed_ ? nullptr : scratch.take<Item>(padded_block * column_block);
    auto* a_block = copy_a_ ? scratch.take<Item>(group * copy_stride) : nullptr;
    auto* sums = cut ? scratch.take<float>(row_block * column_block) : nullptr;
    const Item* pointers[Bf16Table::tile_rows];

    for (int64_t r0 = rows.begin; r0 < rows.end; r0 += row_block) {
      const int64_t r1 = std::min(rows.end, r0 + row_block);
      for (int64_t c0 = columns.begin; c0 < columns.end; c0 += column_block) {
        Budget::poll_active();
        const int64_t c1 = std::min(columns.end, c0 + column_block);
        int64_t k0 = 0;
        do {
          const int64_t depth = std::min(k_block_, k_ - k0);
          const bool last = k0 + depth >= k_;
          for (int64_t column = c0; b_block && column < c1; column += panel) {
            table_.pack_panel(item(b_.data) + k0 * b_.row_stride + column * b_.column_stride, b_.row_stride,
                              b_.column_stride, depth, static_cast<int>(std::min<int64_t>(panel, c1 - column)),
                              b_block + (column - c0) * bf16_padded(depth));
          }
          for (int64_t g = r0; g < r1; g += group) {
            const int64_t g1 = std::min(r1, g + group);
            const Item* a = item(a_.data) + g * a_.row_stride + k0 * a_.column_stride;
            int64_t a_stride = a_.row_stride;
            if (copy_a_) {
              table_.copy_rows(a, a_.row_stride, a_.column_stride, g1 - g, depth, a_block, copy_stride);
              a = a_block;
              a_stride = copy_stride;
            }
            for (int64_t row = g; row < g1; row += tile_) {
              const int count = static_cast<int>(std::min(tile_, g1 - row));
              for (int i = 0; i < count; i++) pointers[i] = a + (row - g + i) * a_stride;
              for (int64_t column = c0; column < c1; column += panel) {
                const int width = static_cast<int>(std::min<int64_t>(panel, c1 - column));
                const Item* b = b_block ? b_block + (column - c0) * bf16_padded(depth)
                                        : packed_ + column * bf16_padded(k_) + k0 * panel;
                Bf16Output out;
                if (floats_) {
                  float* at = floats_ + row * floats_stride_ + column;
                  out.sums_stride = floats_stride_;
                  if (k0 > 0 || adds_) out.sums_in = at;
                  out.sums_out = at;
                } else {
                  if (cut) {
                    float* at = sums + (row - r0) * column_block + column - c0;
                    out.sums_stride = column_block;
                    if (k0 > 0) out.sums_in = at;
                    if (!last) out.sums_out = at;
                  }
                  out.c = c_at(row, column);
                  out.c_stride = c_.row_stride;
                }
                if (bias) out.bias = bias + column - columns.begin;
                if (residual_) out.residual = residual_ + row * epilogue_.residual_stride + column;
                out.residual_stride = epilogue_.residual_stride;
                out.lo = static_cast<float>(epilogue_.lo);
                out.hi = static_cast<float>(epilogue_.hi);
                out.clamp = clamped();
                out.accumulate = epilogue_.accumulate;
                table_.tiles[width > 16][count](1, depth, pointers, b, width, out);
              }
            }
            if (last) post({g, g1}, {c0, c1});
          }
          k0 += depth;
        } while (k0 < k_);
      }
    }
  }

  const int64_t m_, n_, k_;
  ConstMatrix a_, b_;
  const Matrix c_;
  const Item* packed_;
  const Epilogue& epilogue_;
  const Item* residual_;
  const int64_t first_row_;
  const bool by_lanes_;
  const Bf16Table& table_;
  const GemmTable<float>& wide_;
  int64_t tile_, k_block_;
  bool copy_a_;
  float* floats_ = nullptr;
  int64_t floats_stride_ = 0;
  bool adds_ = false;
};

// A product into a c whose columns are apart: into dense rows first.
void through_rows(int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  const void* packed, const BatchStrides& strides, const Epilogue& epilogue, SumOrder order,
                  const MatrixKernels& kernels) {
  Scratch scratch;
  auto* rows = scratch.take<Item>(m * n);
  Epilogue own = epilogue;
  own.post = nullptr;
  for (int64_t i = 0; i < batch; i++) {
    auto* out = static_cast<Item*>(c.data) + i * strides.c;
    if (epilogue.accumulate) kernels.bf16->copy_rows(out, c.row_stride, c.column_stride, m, n, rows, n);
    if (epilogue.residual) own.residual = item(epilogue.residual) + i * strides.residual;
    gemm_bf16(1, m, n, k, {item(a.data) + i * strides.a, a.row_stride, a.column_stride},
              {packed ? nullptr : item(b.data) + i * strides.b, b.row_stride, b.column_stride}, {rows, n, 1}, packed,
              {0, 0, 0}, own, order, kernels);
    for (int64_t r = 0; r < m; r++) {
      for (int64_t j = 0; j < n; j++) out[r * c.row_stride + j * c.column_stride] = rows[r * n + j];
    }
    if (epilogue.post) {
      epilogue.post(epilogue.post_context, out, c.row_stride, c.column_stride, epilogue.first_row + i * m, 0, m, n);
    }
  }
}

}  // namespace

SCONCE_WEAK void gemm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                           const void* packed, const BatchStrides& strides, const Epilogue& epilogue, SumOrder order,
                           const MatrixKernels& kernels) {
  if (scattered_result(c.column_stride != 1 && n > 1))
    return through_rows(batch, m, n, k, a, b, c, packed, strides, epilogue, order, kernels);
  auto run = [&](int64_t i) {
    const Item* residual = epilogue.residual ? item(epilogue.residual) + i * strides.residual : nullptr;
    Product(m, n, k, {item(a.data) + i * strides.a, a.row_stride, a.column_stride},
            {packed ? nullptr : item(b.data) + i * strides.b, b.row_stride, b.column_stride},
            {static_cast<Item*>(c.data) + i * strides.c, c.row_stride, c.column_stride}, item(packed), epilogue,
            residual, epilogue.first_row + i * m, order, kernels)
        .run();
  };
  if (batch < num_threads()) {
    for (int64_t i = 0; i < batch; i++) run(i);
    return;
  }
  parallel_for(batch, divide_up(work_per_thread, std::max<int64_t>(1, m * n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) run(i);
  });
}

SCONCE_WEAK void gemm_bf16_to_f32(int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, float* c,
                                  int64_t c_row, bool accumulate, const MatrixKernels& kernels) {
  const Epilogue none;
  Product product(m, n, k, a, b, {nullptr, 0, 1}, nullptr, none, nullptr, 0, SumOrder::in_sequence, kernels);
  product.to_floats(c, c_row, accumulate);
  product.run();
}

SCONCE_WEAK size_t bf16_packed_bytes(int64_t k, int64_t n) {
  return static_cast<size_t>(divide_up(n, panel) * panel * bf16_padded(k)) * sizeof(Item);
}

SCONCE_WEAK void bf16_pack_b(int64_t k, int64_t n, ConstMatrix b, void* packed, const MatrixKernels& kernels) {
  parallel_for(divide_up(n, panel), divide_up(work_per_thread / 4, panel * std::max<int64_t>(k, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t column = begin * panel; column < std::min(n, end * panel); column += panel) {
                   kernels.bf16->pack_panel(item(b.data) + column * b.column_stride, b.row_stride, b.column_stride, k,
                                            static_cast<int>(std::min<int64_t>(panel, n - column)),
                                            static_cast<Item*>(packed) + column * bf16_padded(k));
                 }
               });
}

}  // namespace sconce
