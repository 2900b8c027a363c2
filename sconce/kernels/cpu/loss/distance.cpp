// Distances between all pairs of rows, and their gradients.
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/distance_kernels.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/loss/distance_kernels.h"
#include "sconce/tensor/tensor.h"

namespace sconce {
namespace {

const DistanceKernels& distance_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(distance_kernels)); }

// 0 for float, 1 for double: the index of a kernel.
int checked_type(const Tensor& t, const char* name) {
  SCONCE_CHECK_AS(not_implemented, t.dtype() == DType::float32 || t.dtype() == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t.dtype()));
  return t.dtype() == DType::float64;
}

char* bytes_of(const Tensor& t) { return static_cast<char*>(t.data()); }

// [batch, rows, columns] as [batch, columns, rows and some more].
Tensor transposed(const Tensor& t, int type) {
  const int64_t ld = t.size(1) + distance_kernels().lanes[type];
  const Tensor out = empty_tensor(Dims({t.size(0), t.size(2), ld}), t.dtype());
  std::memset(out.data(), 0, static_cast<size_t>(out.numel()) * out.item_size());
  copy_tensor(make_view(out, Dims({t.size(0), t.size(2), t.size(1)}), out.strides(), out.storage_offset()),
              make_view(t, Dims({t.size(0), t.size(2), t.size(1)}), Dims({t.stride(0), t.stride(2), t.stride(1)}),
                        t.storage_offset()));
  return out;
}

// One batch of rows.
Tensor with_batch(const Tensor& rows, int64_t n) {
  const Tensor dense = contiguous_tensor(rows);
  return make_view(dense, Dims({1, dense.size(0), n}), Dims({dense.numel(), n, 1}), dense.storage_offset());
}

// Where the distances of row i to the later ones begin.
int64_t pairs_before(int64_t i, int64_t rows) { return i * rows - i * (i + 1) / 2; }

}  // namespace

namespace cpu {

void sconce_cdist_direct(const Tensor& x1, const Tensor& x2, double p, const Tensor& out) {
  const int type = checked_type(x1, "cdist");
  if (out.numel() == 0) return;
  const Tensor a = contiguous_tensor(x1), b = transposed(x2, type);
  const int64_t rows = a.size(1), others = x2.size(1), n = a.size(2), ld = b.size(2), item = type ? 8 : 4;
  parallel_for(a.size(0) * rows, grain_for(2 * others * n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().forward[type](bytes_of(out) + i * others * item, bytes_of(a) + i * n * item, 1,
                                       bytes_of(b) + i / rows * ld * n * item, ld, others, n, p);
    }
  });
}

void sconce_cdist_direct_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist,
                                  const Tensor& out) {
  const int type = checked_type(x1, "cdist_backward");
  if (out.numel() == 0) return;
  const Tensor g = contiguous_tensor(grad), a = contiguous_tensor(x1), b = transposed(x2, type),
               d = contiguous_tensor(cdist);
  const int64_t rows = a.size(1), others = x2.size(1), n = a.size(2), ld = b.size(2), item = type ? 8 : 4;
  std::memset(out.data(), 0, static_cast<size_t>(out.numel() * item));
  parallel_for(a.size(0) * rows, grain_for(2 * others * n), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    void* space = scratch.take_bytes(static_cast<size_t>(2 * ld * item));
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().backward[type](bytes_of(out) + i * n * item, nullptr, bytes_of(g) + i * others * item,
                                        bytes_of(a) + i * n * item, 1, bytes_of(b) + i / rows * ld * n * item, ld,
                                        bytes_of(d) + i * others * item, others, n, p, space);
    }
  });
}

void _pdist_forward(const Tensor& self, double p, const Tensor& out) {
  const int type = checked_type(self, "pdist");
  if (out.numel() == 0) return;
  const int64_t rows = self.size(0), n = self.numel() / rows, item = type ? 8 : 4;
  const Tensor x = transposed(with_batch(self, n), type);
  const int64_t ld = x.size(2);
  parallel_for(rows - 1, grain_for(rows * n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().forward[type](bytes_of(out) + pairs_before(i, rows) * item, bytes_of(x) + i * item, ld,
                                       bytes_of(x) + (i + 1) * item, ld, rows - 1 - i, n, p);
    }
  });
}

void _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist, const Tensor& out) {
  const int type = checked_type(self, "pdist_backward");
  if (out.numel() == 0) return;
  const int64_t rows = self.size(0), n = self.numel() / rows, item = type ? 8 : 4;
  const Tensor g = contiguous_tensor(grad), d = contiguous_tensor(pdist), x = transposed(with_batch(self, n), type);
  const int64_t ld = x.size(2);
  const Tensor sums = empty_tensor(x.sizes(), x.dtype());
  std::memset(sums.data(), 0, static_cast<size_t>(sums.numel() * item));
  Scratch scratch;
  void* space = scratch.take_bytes(static_cast<size_t>(2 * ld * item));
  for (int64_t i = 0; i + 1 < rows; ++i) {  // rows write to each other: one thread
    const int64_t first = pairs_before(i, rows) * item;
    distance_kernels().backward[type](bytes_of(sums) + i * item, bytes_of(sums) + (i + 1) * item, bytes_of(g) + first,
                                      bytes_of(x) + i * item, ld, bytes_of(x) + (i + 1) * item, ld, bytes_of(d) + first,
                                      rows - 1 - i, n, p, space);
  }
  copy_tensor(make_view(out, Dims({rows, n}), Dims({n, 1}), out.storage_offset()),
              make_view(sums, Dims({rows, n}), Dims({1, ld}), sums.storage_offset()));
}

}  // namespace cpu
}  // namespace sconce
