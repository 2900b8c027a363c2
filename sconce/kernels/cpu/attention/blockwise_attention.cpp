// The matrix of scores exists one block at a time: some queries by kKeys keys. Softmax is online: each block rescales
// the sums of the blocks before it.
#include "sconce/kernels/cpu/attention/blockwise_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/attention/attention_kernels.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/tensor/element.h"

namespace sconce {

const AttentionKernels& attention_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(attention_kernels)); }

namespace {

SCONCE_VARIANT(in_pairs, "attention.bf16_pairs", "bfloat16, and products of pairs", "level 4");
SCONCE_VARIANT(rows_in_place, "attention.rows.in_place", "float32 or float64, adjacent elements: rows where they lie");
SCONCE_VARIANT(result_in_place, "attention.result.in_place",
               "float32 or float64, adjacent elements: results where they lie");
SCONCE_VARIANT(several_blocks, "attention.key_blocks", "more keys than one block");
SCONCE_VARIANT(several_queries, "attention.query_blocks", "more than 64 queries in a task");
SCONCE_VARIANT(skipped_block, "attention.causal.skipped", "causal, a block of keys that no query of the rows sees");

// A block of scores (64 x 256 floats) and the packed keys and values it meets stay in the second-level cache.
constexpr int64_t kQueries = 64, kKeys = 256;
constexpr int64_t kMostQueries = 1024;  // of one task

// Causal attention skips blocks that no query sees: small blocks skip more.
int64_t keys_per_block(bool causal, int64_t keys) { return !causal ? kKeys : keys <= 512 ? 64 : 128; }

// Without products of pairs, bfloat16 keys and values are packed as float32, to meet float32 queries and weights.
const MatrixKernels& float_kernels() {
  static const MatrixKernels kernels = [] {
    MatrixKernels k = matrix_kernels();
    k.bf16 = nullptr;
    return k;
  }();
  return kernels;
}

DType compute_dtype(DType t) { return t == DType::float64 ? DType::float64 : DType::float32; }

// A [length, width] matrix of one head.
struct Head {
  const char* data;
  int64_t row, column;  // strides in elements
};
Head head_of(const Tensor& t, int64_t b, int64_t h) {
  const IntList s = t.strides();
  return {t.data<char>() + (b * s[0] + h * s[1]) * static_cast<int64_t>(t.item_size()), s[2], s[3]};
}

// `rows` rows of `width` elements to a dense block of T.
template <class T>
void load_rows(T* to, const Head& from, DType dtype, int64_t first, int64_t rows, int64_t width) {
  const int64_t sizes[] = {rows, width}, dense[] = {width, 1}, strides[] = {from.row, from.column};
  const auto item = static_cast<int64_t>(item_size(dtype));
  run_copy(sizes, {to, sizeof(T) == 8 ? DType::float64 : DType::float32, dense},
           {const_cast<char*>(from.data) + first * from.row * item, dtype, strides});
}
template <class T>
void store_rows(const T* from, const Head& to, DType dtype, int64_t first, int64_t rows, int64_t width) {
  const int64_t sizes[] = {rows, width}, dense[] = {width, 1}, strides[] = {to.row, to.column};
  const auto item = static_cast<int64_t>(item_size(dtype));
  run_copy(sizes, {const_cast<char*>(to.data) + first * to.row * item, dtype, strides},
           {const_cast<T*>(from), sizeof(T) == 8 ? DType::float64 : DType::float32, dense});
}

// Rows of a head as T: where they lie, or a copy.
template <class T>
struct Rows {
  const T* data;
  int64_t pitch;
  const T* at(int64_t row) const { return data + row * pitch; }
};
template <class T>
Rows<T> rows_of(const Head& from, DType dtype, int64_t first, int64_t rows, int64_t width, Scratch& scratch) {
  if (rows_in_place(dtype == (sizeof(T) == 8 ? DType::float64 : DType::float32) && from.column == 1)) {
    return {reinterpret_cast<const T*>(from.data) + first * from.row, from.row};
  }
  T* copy = scratch.take<T>(rows * width);
  load_rows<T>(copy, from, dtype, first, rows, width);
  return {copy, width};
}

// Rows of a head to be written: where they lie, or a buffer that finish() stores.
template <class T>
class Result {
 public:
  Result(const Tensor& t, int64_t b, int64_t h, int64_t first, int64_t rows, Scratch& scratch)
      : head_(head_of(t, b, h)), dtype_(t.dtype()), first_(first), rows_(rows), width_(t.sizes()[3]) {
    in_place_ = result_in_place(dtype_ == (sizeof(T) == 8 ? DType::float64 : DType::float32) && head_.column == 1);
    data_ = in_place_ ? reinterpret_cast<T*>(const_cast<char*>(head_.data)) + first * head_.row
                      : scratch.take<T>(rows * width_);
  }
  int64_t pitch() const { return in_place_ ? head_.row : width_; }
  T* at(int64_t row) const { return data_ + row * pitch(); }
  Matrix matrix(int64_t row) const { return {at(row), pitch(), 1}; }
  void zero(int64_t row, int64_t count) const {
    for (; count > 0; --count, ++row) std::fill_n(at(row), width_, T(0));
  }
  void finish() const {
    if (!in_place_) store_rows<T>(data_, head_, dtype_, first_, rows_, width_);
  }

 private:
  Head head_;
  DType dtype_;
  int64_t first_, rows_, width_;
  bool in_place_;
  T* data_;
};

const uint8_t* kept_row(const AttentionArgs& args, int64_t b, int64_t h, int64_t query, int64_t key) {
  const IntList s = args.kept.sizes();
  return args.kept.data<uint8_t>() + ((b * s[1] + h) * s[2] + query) * s[3] + key;
}

template <class T>
const T* mask_row(const Tensor& mask, int64_t b, int64_t h, int64_t query, int64_t key) {
  if (!mask.defined()) return nullptr;
  const IntList s = mask.strides();
  return mask.data<T>() + b * s[0] + h * s[1] + query * s[2] + key;
}
int64_t mask_pitch(const Tensor& mask) { return mask.defined() ? mask.strides()[2] : 0; }

// Products of bfloat16 numbers in pairs, where the processor has them. Sums stay float32.
struct Pairs {
  const Bf16Table& table;

  // b [k, n] in panels
  static int64_t packed_elements(int64_t k, int64_t n) {
    return (n + Bf16Table::panel - 1) / Bf16Table::panel * Bf16Table::panel * bf16_padded(k);
  }
  void pack(const void* b, int64_t row_stride, int64_t column_stride, int64_t k, int64_t n, uint16_t* packed) const {
    for (int64_t c = 0; c < n; c += Bf16Table::panel) {
      table.pack_panel(static_cast<const uint16_t*>(b) + c * column_stride, row_stride, column_stride, k,
                       static_cast<int>(std::min<int64_t>(Bf16Table::panel, n - c)), packed + c * bf16_padded(k));
    }
  }
  // c = a b, or c += a b
  void multiply(int64_t m, int64_t n, int64_t k, const uint16_t* a, int64_t a_pitch, const uint16_t* packed, float* c,
                int64_t c_pitch, bool add) const {
    const uint16_t* rows[Bf16Table::tile_rows];
    for (int64_t column = 0; column < n; column += Bf16Table::panel) {
      const int columns = static_cast<int>(std::min<int64_t>(Bf16Table::panel, n - column));
      for (int64_t row = 0; row < m; row += Bf16Table::tile_rows) {
        const int64_t count = std::min<int64_t>(Bf16Table::tile_rows, m - row);
        for (int64_t i = 0; i < count; ++i) rows[i] = a + (row + i) * a_pitch;
        Bf16Output output;
        output.sums_out = c + row * c_pitch + column;
        output.sums_in = add ? output.sums_out : nullptr;
        output.sums_stride = c_pitch;
        table.tiles[columns > 16][count](1, k, rows, packed + column * bf16_padded(k), columns, output);
      }
    }
  }
};

template <class T>
struct Forward {
  const AttentionArgs& args;
  const Tensor &out, &logsumexp;
  static constexpr DType compute = sizeof(T) == 8 ? DType::float64 : DType::float32;

  // Queries [first, first + count) of one head.
  void run(int64_t b, int64_t h, int64_t first, int64_t count) const {
    const int64_t width = args.query.sizes()[3], keys = args.key.sizes()[2], value_width = args.value.sizes()[3];
    const int64_t key_head = h / (args.query.sizes()[1] / args.key.sizes()[1]);
    const int64_t value_head = h / (args.query.sizes()[1] / args.value.sizes()[1]);
    const Head q = head_of(args.query, b, h), k = head_of(args.key, b, key_head),
               v = head_of(args.value, b, value_head);
    const DType dtype = args.query.dtype();
    const auto item = static_cast<int64_t>(item_size(dtype));
    Scratch scratch;
    T* values = scratch.take<T>(count * value_width);
    T *largest = scratch.take<T>(count), *sums = scratch.take<T>(count);
    T* scores = scratch.take<T>(std::min(kQueries, count) * kKeys);
    std::fill(values, values + count * value_width, T(0));
    std::fill(largest, largest + count, -std::numeric_limits<T>::infinity());
    std::fill(sums, sums + count, T(0));
    const auto kernel = attention_kernels().rows[sizeof(T) == 8];
    const int64_t key_end = args.causal ? std::min(keys, first + count) : keys;
    const int64_t block = keys_per_block(args.causal, keys);
    several_blocks(key_end > block);
    several_queries(count > kQueries);
    // scores(row, rows, n) multiplies queries by a block of keys, add_values(...) the weights by its values.
    const auto each_block = [&](auto pack, auto scores_of, auto add_values) {
      for (int64_t key = 0; key < key_end; key += block) {
        const int64_t n = std::min(block, key_end - key);
        pack(k.data + key * k.row * item, v.data + key * v.row * item, n);
        for (int64_t row = 0; row < count; row += kQueries) {
          const int64_t rows = std::min(kQueries, count - row), query = first + row;
          if (skipped_block(args.causal && query + rows <= key)) continue;
          scores_of(row, rows, n);
          kernel(scores, rows, n, kKeys, args.scale, args.causal, query + 1 - key,
                 mask_row<T>(args.mask, b, h, query, key), mask_pitch(args.mask), largest + row, sums + row,
                 values + row * value_width, value_width);
          if (args.kept.defined()) {
            attention_kernels().keep[sizeof(T) == 8](scores, rows, n, kKeys, kept_row(args, b, h, query, key), keys,
                                                     args.kept_scale);
          }
          add_values(row, rows, n);
        }
      }
    };
    if (const Bf16Table* table = dtype == DType::bfloat16 ? matrix_kernels().bf16 : nullptr;
        in_pairs(table && sizeof(T) == 4)) {
      const Pairs pairs{*table};
      auto* queries = scratch.take<uint16_t>(count * width);
      auto* weights = scratch.take<uint16_t>(std::min(kQueries, count) * kKeys);
      auto* packed_keys = scratch.take<uint16_t>(Pairs::packed_elements(width, kKeys));
      auto* packed_values = scratch.take<uint16_t>(Pairs::packed_elements(kKeys, value_width));
      const int64_t sizes[] = {count, width}, dense[] = {width, 1}, strides[] = {q.row, q.column};
      run_copy(sizes, {queries, dtype, dense}, {const_cast<char*>(q.data) + first * q.row * item, dtype, strides});
      each_block(
          [&](const char* key_block, const char* value_block, int64_t n) {
            pairs.pack(key_block, k.column, k.row, width, n, packed_keys);
            pairs.pack(value_block, v.row, v.column, n, value_width, packed_values);
          },
          [&](int64_t row, int64_t rows, int64_t n) {
            pairs.multiply(rows, n, width, queries + row * width, width, packed_keys, reinterpret_cast<float*>(scores),
                           kKeys, false);
          },
          [&](int64_t row, int64_t rows, int64_t n) {
            for (int64_t r = 0; r < rows; ++r)
              convert(weights + r * kKeys, dtype, scores + r * kKeys, DType::float32, n);
            pairs.multiply(rows, value_width, n, weights, kKeys, packed_values,
                           reinterpret_cast<float*>(values + row * value_width), value_width, true);
          });
    } else {
      const Rows<T> queries = rows_of<T>(q, dtype, first, count, width, scratch);
      void* packed_keys = scratch.take_bytes(packed_b_bytes(dtype, width, kKeys, float_kernels()));
      void* packed_values = scratch.take_bytes(packed_b_bytes(dtype, kKeys, value_width, float_kernels()));
      Epilogue add;
      add.accumulate = true;
      each_block(
          [&](const char* key_block, const char* value_block, int64_t n) {
            pack_b(dtype, width, n, {key_block, k.column, k.row}, packed_keys, float_kernels());
            pack_b(dtype, n, value_width, {value_block, v.row, v.column}, packed_values, float_kernels());
          },
          [&](int64_t row, int64_t rows, int64_t n) {
            gemm_packed(compute, rows, n, width, {queries.at(row), queries.pitch, 1}, packed_keys, {scores, kKeys, 1});
          },
          [&](int64_t row, int64_t rows, int64_t n) {
            gemm_packed(compute, rows, value_width, n, {scores, kKeys, 1}, packed_values,
                        {values + row * value_width, value_width, 1}, add);
          });
    }
    const IntList lse = logsumexp.strides();
    T* level = logsumexp.data<T>() + b * lse[0] + h * lse[1];
    for (int64_t i = 0; i < count; ++i) {
      const T sum = sums[i];
      level[(first + i) * lse[2]] = sum == 0 ? T(0) : largest[i] + std::log(sum);
      sums[i] = sum == 0 ? T(0) : 1 / sum;
    }
    const Result<T> result(out, b, h, first, count, scratch);
    attention_kernels().scale[sizeof(T) == 8](result.at(0), result.pitch(), values, count, value_width, sums);
    result.finish();
  }
};

template <class T>
void forward(const AttentionArgs& args, const Tensor& out, const Tensor& logsumexp) {
  const int64_t batch = args.query.sizes()[0], heads = args.query.sizes()[1], length = args.query.sizes()[2];
  if (batch * heads * length == 0) return;
  // Few heads: several tasks share one, each packs its keys and values.
  const int64_t wanted = std::max<int64_t>(1, 2 * num_threads() / std::max<int64_t>(1, batch * heads));
  int64_t chunk = std::min(kMostQueries, (length + wanted - 1) / wanted);
  chunk = std::min(length, (chunk + kQueries - 1) / kQueries * kQueries);
  const int64_t chunks = (length + chunk - 1) / chunk;
  const Forward<T> task{args, out, logsumexp};
  const int64_t work = chunk * args.key.sizes()[2] * args.query.sizes()[3];
  parallel_for(batch * heads * chunks, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t head = i / chunks, first = i % chunks * chunk;
                   task.run(head / heads, head % heads, first, std::min(chunk, length - first));
                 }
               });
}

// With P the weights and D = sum(grad * out) of every row: dV = P' g, dP = g V', dS = P (dP - D) * scale, dQ = dS K,
// dK = dS' Q.
template <class T>
void backward_head(const AttentionArgs& args, const Tensor& grad_out, const Tensor& out, const Tensor& logsumexp,
                   int64_t b, int64_t key_head, const Tensor& grad_query, const Tensor& grad_key,
                   const Tensor& grad_value) {
  constexpr DType compute = sizeof(T) == 8 ? DType::float64 : DType::float32;
  const int64_t length = args.query.sizes()[2], width = args.query.sizes()[3], keys = args.key.sizes()[2];
  const int64_t share = args.query.sizes()[1] / args.key.sizes()[1];
  const DType dtype = args.query.dtype();
  const bool wide = sizeof(T) == 8;
  Scratch scratch;
  const Rows<T> k = rows_of<T>(head_of(args.key, b, key_head), dtype, 0, keys, width, scratch);
  const Rows<T> v = rows_of<T>(head_of(args.value, b, key_head), dtype, 0, keys, width, scratch);
  const Result<T> dk(grad_key, b, key_head, 0, keys, scratch), dv(grad_value, b, key_head, 0, keys, scratch);
  T *level = scratch.take<T>(length), *shift = scratch.take<T>(length);
  const int64_t block = keys_per_block(args.causal, keys);
  const int64_t pitch = (std::min(block, keys) + kScoreLanes - 1) / kScoreLanes * kScoreLanes;
  T *weights = scratch.take<T>(kQueries * pitch), *slopes = scratch.take<T>(kQueries * pitch);
  T* dropped = args.kept.defined() ? scratch.take<T>(kQueries * pitch) : nullptr;
  void* packed_keys = scratch.take_bytes(packed_b_bytes(compute, width, pitch));
  void* packed_values = scratch.take_bytes(packed_b_bytes(compute, width, pitch));
  const auto& kernels = attention_kernels();
  for (int64_t h = key_head * share; h < (key_head + 1) * share; ++h) {
    Scratch of_head;
    const Rows<T> q = rows_of<T>(head_of(args.query, b, h), dtype, 0, length, width, of_head);
    const Rows<T> g = rows_of<T>(head_of(grad_out, b, h), grad_out.dtype(), 0, length, width, of_head);
    const Rows<T> o = rows_of<T>(head_of(out, b, h), out.dtype(), 0, length, width, of_head);
    const Result<T> dq(grad_query, b, h, 0, length, of_head);
    const IntList lse = logsumexp.strides();
    const T* levels = logsumexp.data<T>() + b * lse[0] + h * lse[1];
    for (int64_t r = 0; r < length; ++r) level[r] = levels[r * lse[2]];
    kernels.dots[wide](shift, g.data, g.pitch, o.data, o.pitch, length, width);
    if (keys == 0) dq.zero(0, length);  // no block of keys writes it
    for (int64_t key = 0; key < keys; key += block) {
      const int64_t n = std::min(block, keys - key);
      pack_b(compute, width, n, {k.at(key), 1, k.pitch}, packed_keys);
      pack_b(compute, width, n, {v.at(key), 1, v.pitch}, packed_values);
      Epilogue add_query, add_key;  // the state that earlier blocks left
      add_query.accumulate = key > 0;
      add_key.accumulate = h > key_head * share;
      for (int64_t first = 0; first < length; first += kQueries) {
        const int64_t rows = std::min(kQueries, length - first);
        if (args.causal && first + rows <= key) continue;
        const ConstMatrix q_block{q.at(first), q.pitch, 1}, g_block{g.at(first), g.pitch, 1};
        gemm_packed(compute, rows, n, width, q_block, packed_keys, {weights, pitch, 1});
        kernels.weights[wide](weights, rows, n, pitch, args.scale, args.causal, first + 1 - key,
                              mask_row<T>(args.mask, b, h, first, key), mask_pitch(args.mask), level + first);
        gemm_packed(compute, rows, n, width, g_block, packed_values, {slopes, pitch, 1});
        const T* taken = weights;
        if (dropped) {
          const uint8_t* kept = kept_row(args, b, h, first, key);
          std::copy_n(weights, rows * pitch, dropped);
          kernels.keep[wide](dropped, rows, n, pitch, kept, keys, args.kept_scale);
          kernels.keep[wide](slopes, rows, n, pitch, kept, keys, args.kept_scale);
          taken = dropped;
        }
        gemm(compute, n, width, rows, {taken, 1, pitch}, g_block, dv.matrix(key), add_key);
        kernels.slopes[wide](slopes, weights, rows, n, pitch, shift + first, args.scale);
        gemm(compute, rows, width, n, {slopes, pitch, 1}, {k.at(key), k.pitch, 1}, dq.matrix(first), add_query);
        gemm(compute, n, width, rows, {slopes, 1, pitch}, q_block, dk.matrix(key), add_key);
        add_key.accumulate = true;
      }
      if (!add_key.accumulate) {  // causality hides these keys from all queries
        dk.zero(key, n);
        dv.zero(key, n);
      }
    }
    dq.finish();
  }
  dk.finish();
  dv.finish();
}

}  // namespace

void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& logsumexp) {
  for_float(compute_dtype(args.query.dtype()), [&]<class T>() { forward<T>(args, out, logsumexp); });
}

void attention_backward(const AttentionArgs& args, const Tensor& grad_out, const Tensor& out, const Tensor& logsumexp,
                        const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value) {
  const int64_t batch = args.key.sizes()[0], heads = args.key.sizes()[1];
  for_float(compute_dtype(args.query.dtype()), [&]<class T>() {
    parallel_for(batch * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        backward_head<T>(args, grad_out, out, logsumexp, i / heads, i % heads, grad_query, grad_key, grad_value);
    });
  });
}

}  // namespace sconce
