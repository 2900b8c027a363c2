#include "sconce/kernels/cpu/gemm/gemm_by_lanes.h"

#include <utility>

#include "sconce/base/budget.h"
#include "sconce/base/variants/variants.h"

namespace sconce::gemm_parts {
namespace {

SCONCE_VARIANT(small_b, "gemm.stream.in_place", "a b of at most 32 KB: whole panels are read where they lie");
SCONCE_VARIANT(copied_rows, "gemm.swapped_dot.copied", "rows of a that are not contiguous along k");

constexpr int64_t in_place_bytes = 32 * 1024;  // of b, in the first-level cache

// `rows` x k numbers as T, contiguous along k: where they lie, or a copy.
template <class T>
const T* contiguous_rows(const Plan<T>& plan, GemmStorage storage, const void* data, int64_t row_stride,
                         int64_t column_stride, int64_t rows, int64_t& stride, Scratch& scratch) {
  if (storage == GemmStorage::native && (column_stride == 1 || plan.k == 1)) {
    stride = row_stride;
    return static_cast<const T*>(data);
  }
  stride = plan.k;
  T* copy = scratch.take<T>(rows * plan.k);
  plan.table.copy_rows(storage, data, row_stride, column_stride, rows, plan.k, copy, plan.k);
  return copy;
}

// b lies along columns. If it is small, its panels are read where they are; a last one that is not whole is streamed.
template <class T>
void run_stream(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  const int count = static_cast<int>(rows.size());
  const int64_t panel = plan.table.panel;
  int64_t a_stride = 0;
  const T* a = contiguous_rows(plan, plan.storage, plan.offset(operands.a, rows.begin * plan.a_row), plan.a_row,
                               plan.a_column, count, a_stride, scratch);
  int64_t begin = columns.begin;
  if (small_b(plan.storage == GemmStorage::native &&
              plan.k * plan.b_row <= in_place_bytes / static_cast<int64_t>(sizeof(T)) && plan.b_row >= 0)) {
    begin += columns.size() / panel * panel;
    const T* b = static_cast<const T*>(operands.b) + columns.begin;
    if (begin > columns.begin) {
      plan.driver.lanes->fold({count, plan.k, begin - columns.begin, a, a_stride, b, plan.b_row, panel,
                               target.at(rows.begin, columns.begin, true, true)});
    }
  }
  if (begin < columns.end) {
    plan.driver.lanes->stream({count, plan.k, columns.end - begin, a, a_stride, plan.offset(operands.b, begin),
                               plan.b_row, plan.storage, target.at(rows.begin, begin, true, true)});
  }
  target.finish(rows);
}

template <class T>
void run_fold(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const int64_t panel = plan.table.panel;
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  FoldArgs<T> args{};
  args.rows = static_cast<int>(rows.size());
  args.k = plan.k;
  args.a = contiguous_rows(plan, plan.storage, plan.offset(operands.a, rows.begin * plan.a_row), plan.a_row,
                           plan.a_column, rows.size(), args.a_stride, scratch);
  args.b_stride = panel;
  args.panel_step = plan.k * panel;
  if (plan.packed) {
    args.b = plan.packed + columns.begin * plan.k;
    args.columns = columns.size();
    args.output = target.all();
    plan.driver.lanes->fold(args);
  } else {
    T* own = scratch.take<T>(plan.k * panel);
    args.b = own;
    for (int64_t column = columns.begin; column < columns.end; column += panel) {
      args.columns = std::min(panel, columns.end - column);
      plan.table.pack_panel(plan.storage, plan.offset(operands.b, column * plan.b_column), plan.b_row, plan.b_column,
                            plan.k, static_cast<int>(args.columns), own);
      args.output = target.at(rows.begin, column, true, true);
      plan.driver.lanes->fold(args);
    }
  }
  target.finish(rows);
}

}  // namespace

// Few rows of a times the columns of b, or, swapped, the few columns of b times the rows of a. Rows of a that are not
// contiguous along k are copied, some at a time.
template <class T>
void run_dots(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  const bool swapped = plan.path == Path::swapped_dot;
  Scratch scratch;
  Target<T> target(plan, operands, rows, columns, scratch);
  const TileOutput<T>& out = target.all();
  const void* a = plan.offset(operands.a, rows.begin * plan.a_row);
  const void* b = plan.packed ? nullptr : plan.offset(operands.b, columns.begin * plan.b_column);
  DotArgs<T> args{};
  args.k = plan.k;
  args.many_storage = plan.storage;
  args.scale = out.scale;
  args.shift = out.shift;
  args.lo = out.lo;
  args.hi = out.hi;
  args.clamp = out.clamp;
  args.accumulate = out.accumulate;
  if (swapped) {
    args.few_count = columns.size();
    if (plan.packed) {  // all columns are in the first panel
      args.few = contiguous_rows(plan, GemmStorage::native, plan.packed, 1, plan.table.panel, columns.size(),
                                 args.few_stride, scratch);
    } else {
      args.few =
          contiguous_rows(plan, plan.storage, b, plan.b_column, plan.b_row, columns.size(), args.few_stride, scratch);
    }
    args.c_few = args.bias_few = args.scale_few = args.residual_few = 1;
    args.c_many = out.c_stride;
    args.residual_many = out.residual_stride;
  } else {
    args.few_count = rows.size();
    args.few = contiguous_rows(plan, plan.storage, a, plan.a_row, plan.a_column, rows.size(), args.few_stride, scratch);
    args.c_many = args.bias_many = args.scale_many = args.residual_many = 1;
    args.c_few = out.c_stride;
    args.residual_few = out.residual_stride;
  }
  const T* bias = out.bias;
  if (out.row_bias) {
    bias = out.row_bias;
    std::swap(args.bias_few, args.bias_many);
  }
  const void* many = swapped ? a : b;
  const int64_t count = swapped ? rows.size() : columns.size(), stride = swapped ? plan.a_row : plan.b_column;
  const bool copied = copied_rows(swapped && plan.a_column != 1);
  const int64_t group = copied ? std::clamp<int64_t>(16 * 1024 / plan.k, 8, 64) : count;
  T* copy = copied ? scratch.take<T>(group * plan.k) : nullptr;
  for (int64_t i = 0; i < count; i += group) {
    Budget::poll_active();
    args.many_count = std::min(group, count - i);
    args.many = plan.offset(many, i * stride);
    args.many_stride = stride;
    if (copied) {
      plan.table.copy_rows(plan.storage, args.many, stride, plan.a_column, args.many_count, plan.k, copy, plan.k);
      args.many = copy;
      args.many_stride = plan.k;
      args.many_storage = GemmStorage::native;
    }
    args.c = out.c + i * args.c_many;
    args.bias = bias ? bias + i * args.bias_many : nullptr;
    args.residual = out.residual ? out.residual + i * args.residual_many : nullptr;
    plan.table.dot(args);
  }
  target.finish(rows);
}

template <class T>
void run_by_lanes(const Plan<T>& plan, const Operands& operands, Range rows, Range columns) {
  switch (plan.path) {
    case Path::stream:
      return run_stream(plan, operands, rows, columns);
    case Path::fold:
      return run_fold(plan, operands, rows, columns);
    default:
      return run_dots(plan, operands, rows, columns);
  }
}

template void run_dots(const Plan<float>&, const Operands&, Range, Range);
template void run_by_lanes(const Plan<float>&, const Operands&, Range, Range);
template void run_by_lanes(const Plan<double>&, const Operands&, Range, Range);

}  // namespace sconce::gemm_parts
