// Small products, and the tables of GEMM micro-kernels.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_lane_sums.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_outer.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// Rows [row, row + Rows) of one product. Whole: n is a whole vector.
template <class T, int Rows, bool Whole>
GEMM_INLINE void small_rows_of(const SmallArgs<T>& args, const T* a, const T* b, T* c) {
  const int n = static_cast<int>(args.n);
  Vec<T> acc[Rows];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i] = Vec<T>{};
  for (int64_t p = 0; p < args.k; p++, a += args.a_column, b += args.b_row) {
    Vec<T> row = load_part<T, 1, Whole>(b, 0, n);
    pin(row);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i] = multiply_add(broadcast(a[i * args.a_row]), row, acc[i]);
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) store_part<T, 1, Whole>(c + i * args.c_row, 0, n, acc[i]);
}

template <class T, bool Whole>
GEMM_INLINE void small_product(const SmallArgs<T>& args, const T* a, const T* b, T* c) {
  int64_t m = args.m;
  for (; m >= 8; m -= 8, a += 8 * args.a_row, c += 8 * args.c_row) small_rows_of<T, 8, Whole>(args, a, b, c);
  for (; m >= 4; m -= 4, a += 4 * args.a_row, c += 4 * args.c_row) small_rows_of<T, 4, Whole>(args, a, b, c);
  for (; m >= 1; m--, a += args.a_row, c += args.c_row) small_rows_of<T, 1, Whole>(args, a, b, c);
}

template <class T>
void small(const SmallArgs<T>& args) {
  const T* a = args.a;
  const T* b = args.b;
  T* c = args.c;
  for (int64_t i = 0; i < args.count; i++, a += args.a_item, b += args.b_item, c += args.c_item) {
    if (args.n == lanes<T>) {
      small_product<T, true>(args, a, b, c);
    } else {
      small_product<T, false>(args, a, b, c);
    }
  }
}

template <class T>
constexpr GemmTable<T> make_gemm_table(const StorageTable<T>* native, const StorageTable<T>* bf16,
                                       const StorageTable<T>* f16) {
  GemmTable<T> table{};
  table.lanes = lanes<T>;
  table.panel = panel<T>;
  table.tile_rows = tile_rows;
  auto fill = [&]<int Rows>(auto& self) {
    table.tiles[0][Rows] = tile<T, Rows, 1>;
    table.tiles[1][Rows] = tile<T, Rows, 2>;
    if constexpr (Rows > 1) self.template operator()<Rows - 1>(self);
  };
  fill.template operator()<tile_rows>(fill);
  table.add_parts = add_parts<T>;
  table.stored[0] = native;
  table.stored[1] = bf16;
  table.stored[2] = f16;
  return table;
}

template <class T, class Stored>
constexpr StorageTable<T> make_storage_table() {
  return {pack_panel<T, Stored>, copy_rows<T, Stored>, store_rows<T, Stored>, dot<T, Stored>};
}

template <class T>
constexpr StreamTable<T> native_stream = {stream<T, T>};

template <class T>
constexpr LaneTable<T> make_lane_table(const StreamTable<T>* bf16, const StreamTable<T>* f16) {
  LaneTable<T> table{fold<T>, nullptr, {&native_stream<T>, bf16, f16}};
  if constexpr (masks) table.small = small<T>;
  return table;
}

template <class T>
constexpr OuterTable<T> make_outer_table() {
  OuterTable<T> table{};
  auto fill = [&]<int Rows>(auto& self) {
    table.tiles[0][Rows] = outer<T, Rows, 1>;
    table.tiles[1][Rows] = outer<T, Rows, 2>;
    if constexpr (Rows > 1) self.template operator()<Rows - 1>(self);
  };
  fill.template operator()<tile_rows>(fill);
  return table;
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
