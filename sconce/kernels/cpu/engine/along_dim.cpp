#include "sconce/kernels/cpu/engine/along_dim.h"

#include <algorithm>
#include <cstring>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/engine/tile.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(streamed_rows, "along_dim.stream", "a result of 16 MB or more, whose rows are whole cache lines");
SCONCE_VARIANT(direct_rows, "along_dim.rows.direct", "rows that the kernel reads and writes where they lie");
SCONCE_VARIANT(direct_columns, "along_dim.columns.direct", "columns in whole vectors, used where they lie");
SCONCE_VARIANT(last_dim, "along_dim.rows", "the last dim");

constexpr int64_t kStreamBytes = int64_t{16} << 20;  // outputs from here on bypass the caches
constexpr int64_t kBlock = 65536;                    // elements of a block of columns
constexpr int kMaxInputs = 3;

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

struct Job {
  const AlongDim& kernel;
  DType compute;
  int inputs;
  const char* in[kMaxInputs];
  DType in_dtype[kMaxInputs];
  char* out;
  DType out_dtype;
  int64_t outer, n, inner;

  int64_t item() const { return static_cast<int64_t>(item_size(compute)); }
  int64_t in_item(int i) const { return static_cast<int64_t>(item_size(in_dtype[i])); }
  int64_t out_item() const { return static_cast<int64_t>(item_size(out_dtype)); }
  bool direct_in() const {
    for (int i = 0; i < inputs; ++i) {
      if (in_dtype[i] != compute) return false;
    }
    return true;
  }

  void rows(int64_t begin, int64_t end) const {
    const bool direct = direct_in(), direct_out = out_dtype == compute;
    const bool stream = direct_out && outer * n * out_item() >= kStreamBytes && n * out_item() % 64 == 0 &&
                        reinterpret_cast<uintptr_t>(out) % 64 == 0 && n <= kBlock;
    streamed_rows(stream);
    const void* from[kMaxInputs];
    if (direct_rows(direct && direct_out && !stream)) {
      for (int i = 0; i < inputs; ++i) from[i] = in[i] + begin * n * item();
      kernel.rows(out + begin * n * item(), from, end - begin, n);
      return;
    }
    Scratch scratch;
    char* row[kMaxInputs] = {};
    for (int i = 0; i < inputs; ++i) {
      if (in_dtype[i] != compute) row[i] = scratch.take<char>(n * item());
    }
    char* result = scratch.take<char>(n * item());
    const TileKernels& tiles = tile_kernels();
    for (int64_t r = begin; r < end; ++r) {
      for (int i = 0; i < inputs; ++i) {
        const char* at = in[i] + r * n * in_item(i);
        if (row[i]) convert(row[i], compute, at, in_dtype[i], n);
        from[i] = row[i] ? row[i] : at;
      }
      kernel.rows(result, from, 1, n);
      char* to = out + r * n * out_item();
      if (stream) {
        tiles.stream(to, result, n * item());
      } else {
        convert(to, out_dtype, result, compute, n);
      }
    }
    if (stream) tiles.stream_fence();
  }

  // Columns [first, first + width) of one outer index.
  void columns(int64_t o, int64_t first, int64_t width) const {
    const int64_t per_group = 64 / item();
    if (direct_columns(direct_in() && out_dtype == compute && width % per_group == 0)) {
      const void* from[kMaxInputs];
      for (int i = 0; i < inputs; ++i) from[i] = in[i] + (o * n * inner + first) * item();
      kernel.columns(out + (o * n * inner + first) * item(), from, n, width, inner, inner);
      return;
    }
    Scratch scratch;
    const int64_t pitch = rounded_up(width, per_group);
    const void* from[kMaxInputs];
    char* block[kMaxInputs];
    for (int i = 0; i < inputs; ++i) {
      block[i] = scratch.take<char>(n * pitch * item());
      from[i] = block[i];
      for (int64_t k = 0; k < n; ++k) {
        char* to = block[i] + k * pitch * item();
        convert(to, compute, in[i] + ((o * n + k) * inner + first) * in_item(i), in_dtype[i], width);
        std::memset(to + width * item(), 0, static_cast<size_t>((pitch - width) * item()));
      }
    }
    kernel.columns(block[0], from, n, pitch, pitch, pitch);
    for (int64_t k = 0; k < n; ++k)
      convert(out + ((o * n + k) * inner + first) * out_item(), out_dtype, block[0] + k * pitch * item(), compute,
              width);
  }
};

}  // namespace

void along_dim(const AlongDim& kernel, DType compute, std::span<const Tensor* const> in, int64_t dim,
               const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t rank = out.dim();
  dim = wrap_dim(dim, rank);
  Tensor dense[kMaxInputs];
  Job job{kernel, compute, static_cast<int>(in.size()), {}, {}, static_cast<char*>(out.data()), out.dtype(), 1, 1, 1};
  for (size_t i = 0; i < in.size(); ++i) {
    dense[i] = contiguous_tensor(*in[i]);
    job.in[i] = static_cast<const char*>(dense[i].data());
    job.in_dtype[i] = dense[i].dtype();
  }
  for (int64_t d = 0; d < rank; ++d) (d < dim ? job.outer : d == dim ? job.n : job.inner) *= out.sizes()[d];
  if (last_dim(job.inner == 1)) {
    parallel_for(job.outer, grain_for(2 * job.n), [&](int64_t begin, int64_t end) { job.rows(begin, end); });
    return;
  }
  const int64_t width = std::clamp<int64_t>(rounded_up(kBlock / job.n, 64), 64, 256);
  const int64_t per_group = 64 / static_cast<int64_t>(item_size(compute));
  const int64_t whole = job.inner / per_group * per_group;  // the rest goes through a block of its own
  const int64_t chunks = (whole + width - 1) / width + (whole < job.inner);
  parallel_for(job.outer * chunks, grain_for(2 * job.n * std::min(width, job.inner)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = std::min(t % chunks * width, whole);
      const int64_t last = first == whole ? job.inner : std::min(first + width, whole);
      job.columns(t / chunks, first, last - first);
    }
  });
}

}  // namespace sconce::cpu
