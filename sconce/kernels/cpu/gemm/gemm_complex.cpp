// A row of complex numbers is a row of twice as many real ones, (re, im, re, im, ...). In that form
//   c = a w,   where each element x + iy of b has become the block   [  x  y ]
//                                                                    [ -y  x ]
// so a and c stay where they are, and the product is a real one with exactly the multiplications that it needs.
#include "sconce/kernels/cpu/gemm/gemm_complex.h"

#include <algorithm>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {
namespace {

SCONCE_VARIANT(copied_rows, "gemm.complex.copy_a", "rows of a without adjacent elements");
SCONCE_VARIANT(several_blocks, "gemm.complex.blocks", "more columns of b than a block of 512 K elements");

constexpr int64_t block_elements = 512 * 1024;    // of w at a time
constexpr int64_t copies_per_thread = 64 * 1024;  // elements

struct Post {
  const Epilogue& epilogue;
  int64_t first_column;  // of the block, in complex elements
  int64_t column_stride;

  // Blocks of the real product are told in real columns.
  static void call(void* context, void* block, int64_t row_stride, int64_t, int64_t row, int64_t column, int64_t rows,
                   int64_t columns) {
    const Post& self = *static_cast<const Post*>(context);
    self.epilogue.post(self.epilogue.post_context, block, row_stride / 2, self.column_stride, row,
                       self.first_column + column / 2, rows, columns / 2);
  }
};

template <class T>
void run(int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c, const Epilogue& epilogue,
         const MatrixKernels& kernels) {
  constexpr DType real = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;
  Scratch scratch;
  struct Pair {
    T re, im;
  };
  // Rows of pairs, `columns` of them: where they lie, or copied.
  const auto dense = [&](const void* data, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns) {
    const auto* from = static_cast<const Pair*>(data);
    auto* to = scratch.take<Pair>(rows * columns);
    parallel_for(rows, std::max<int64_t>(1, copies_per_thread / std::max<int64_t>(columns, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i++) {
                     for (int64_t j = 0; j < columns; j++)
                       to[i * columns + j] = from[i * row_stride + j * column_stride];
                   }
                 });
    return to;
  };
  const auto* rows = static_cast<const Pair*>(a.data);
  int64_t a_stride = a.row_stride;
  if (copied_rows(a.column_stride != 1 && k > 1)) {
    rows = dense(a.data, a.row_stride, a.column_stride, m, k);
    a_stride = k;
  }
  auto* out = static_cast<Pair*>(c.data);
  int64_t c_stride = c.row_stride;
  const bool staged = c.column_stride != 1 && n > 1;
  if (staged) {
    out = epilogue.accumulate ? dense(c.data, c.row_stride, c.column_stride, m, n) : scratch.take<Pair>(m * n);
    c_stride = n;
  }

  const auto* elements = static_cast<const Pair*>(b.data);
  const int64_t width = std::min(n, std::max<int64_t>(32, block_elements / (4 * std::max<int64_t>(k, 1))));
  T* w = scratch.take<T>(4 * k * width);
  several_blocks(width < n);
  for (int64_t j0 = 0; j0 < n; j0 += width) {
    const int64_t columns = std::min(width, n - j0);
    parallel_for(k, std::max<int64_t>(1, copies_per_thread / columns), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        T* even = w + 4 * p * columns;
        T* odd = even + 2 * columns;
        for (int64_t j = 0; j < columns; j++) {
          const Pair x = elements[p * b.row_stride + (j0 + j) * b.column_stride];
          even[2 * j] = x.re;
          even[2 * j + 1] = x.im;
          odd[2 * j] = -x.im;
          odd[2 * j + 1] = x.re;
        }
      }
    });
    Epilogue own = epilogue;
    Post post{epilogue, j0, 1};
    own.post = nullptr;
    if (epilogue.post && !staged) {
      own.post = Post::call;
      own.post_context = &post;
    }
    if (epilogue.bias) own.bias = static_cast<const Pair*>(epilogue.bias) + j0;
    if (epilogue.residual) own.residual = static_cast<const Pair*>(epilogue.residual) + j0;
    own.residual_stride = 2 * epilogue.residual_stride;
    gemm(real, m, 2 * columns, 2 * k, {rows, 2 * a_stride, 1}, {w, 2 * columns, 1}, {out + j0, 2 * c_stride, 1}, own,
         kernels);
  }
  if (!staged) return;
  auto* to = static_cast<Pair*>(c.data);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) to[i * c.row_stride + j * c.column_stride] = out[i * n + j];
  }
  if (epilogue.post) {
    epilogue.post(epilogue.post_context, c.data, c.row_stride, c.column_stride, epilogue.first_row, 0, m, n);
  }
}

}  // namespace

bool complex_product_pays(int64_t m, int64_t n, int64_t k) { return m >= 8 && k >= 4 && m * n * k >= 512; }

void gemm_complex(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  const Epilogue& epilogue, const MatrixKernels& kernels) {
  if (dtype == DType::complex64) return run<float>(m, n, k, a, b, c, epilogue, kernels);
  run<double>(m, n, k, a, b, c, epilogue, kernels);
}

}  // namespace sconce
