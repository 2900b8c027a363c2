// Distances between all pairs of rows, and their gradients.
#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/cpu_level.h"
#include "sconce/kernels/cpu/distance_kernels.h"
#include "sconce/tensor/tensor.h"

namespace sconce {
namespace {

constexpr int64_t kGrain = 16384;  // elements

const DistanceKernels& distance_kernels() {
  switch (cpu_level()) {
    case 2:
      return v2::distance_kernels;
    case 3:
      return v3::distance_kernels;
    default:
      return v4::distance_kernels;
  }
}

// 0 for float, 1 for double: the index of a kernel.
int checked_type(const Tensor& t, const char* name) {
  SCONCE_CHECK_AS(not_implemented, t.dtype() == DType::float32 || t.dtype() == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t.dtype()));
  return t.dtype() == DType::float64;
}

char* bytes_of(const Tensor& t) { return static_cast<char*>(t.data()); }

int64_t grain_for(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)); }

}  // namespace

namespace cpu {

void sconce_cdist_direct(const Tensor& x1, const Tensor& x2, double p, const Tensor& out) {
  const int type = checked_type(x1, "cdist");
  const Tensor a = contiguous_tensor(x1), b = contiguous_tensor(x2);
  const int64_t rows = a.size(1), others = b.size(1), n = a.size(2), item = type ? 8 : 4;
  if (out.numel() == 0) return;
  parallel_for(a.size(0) * rows, grain_for(others * n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().forward[type](bytes_of(out) + i * others * item, bytes_of(a) + i * n * item,
                                       bytes_of(b) + i / rows * others * n * item, others, n, p);
    }
  });
}

void sconce_cdist_direct_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist,
                                  const Tensor& out) {
  const int type = checked_type(x1, "cdist_backward");
  const Tensor g = contiguous_tensor(grad), a = contiguous_tensor(x1), b = contiguous_tensor(x2),
               d = contiguous_tensor(cdist);
  const int64_t rows = a.size(1), others = b.size(1), n = a.size(2), item = type ? 8 : 4;
  if (out.numel() == 0) return;
  std::memset(out.data(), 0, static_cast<size_t>(out.numel() * item));
  parallel_for(a.size(0) * rows, grain_for(others * n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().backward[type](bytes_of(out) + i * n * item, nullptr, bytes_of(g) + i * others * item,
                                        bytes_of(a) + i * n * item, bytes_of(b) + i / rows * others * n * item,
                                        bytes_of(d) + i * others * item, others, n, p);
    }
  });
}

namespace {

// Where the distances of row i to the later ones begin.
int64_t pairs_before(int64_t i, int64_t rows) { return i * rows - i * (i + 1) / 2; }

}  // namespace

void _pdist_forward(const Tensor& self, double p, const Tensor& out) {
  const int type = checked_type(self, "pdist");
  const Tensor x = contiguous_tensor(self);
  const int64_t rows = x.size(0), n = x.numel() / std::max<int64_t>(rows, 1), item = type ? 8 : 4;
  if (out.numel() == 0) return;
  parallel_for(rows - 1, grain_for(rows * n / 2), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      distance_kernels().forward[type](bytes_of(out) + pairs_before(i, rows) * item, bytes_of(x) + i * n * item,
                                       bytes_of(x) + (i + 1) * n * item, rows - 1 - i, n, p);
    }
  });
}

void _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist, const Tensor& out) {
  const int type = checked_type(self, "pdist_backward");
  const Tensor g = contiguous_tensor(grad), x = contiguous_tensor(self), d = contiguous_tensor(pdist);
  const int64_t rows = x.size(0), n = x.numel() / std::max<int64_t>(rows, 1), item = type ? 8 : 4;
  if (out.numel() == 0) return;
  std::memset(out.data(), 0, static_cast<size_t>(out.numel() * item));
  for (int64_t i = 0; i + 1 < rows; ++i) {  // rows write to each other: one thread
    const int64_t first = pairs_before(i, rows) * item;
    distance_kernels().backward[type](bytes_of(out) + i * n * item, bytes_of(out) + (i + 1) * n * item,
                                      bytes_of(g) + first, bytes_of(x) + i * n * item, bytes_of(x) + (i + 1) * n * item,
                                      bytes_of(d) + first, rows - 1 - i, n, p);
  }
}

}  // namespace cpu
}  // namespace sconce
