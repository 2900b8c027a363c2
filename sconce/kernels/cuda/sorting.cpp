#include "sconce/kernels/cuda/sorting.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/sorting_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/scans.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/sort_arguments.cuh"

constexpr int64_t kMostRows = 65535;

// Elements that a block sorts: as text/sort.cuh has them.
int64_t tile_of(int64_t item) { return item == 8 ? 2048 : 4096; }

struct Variant {
  DType dtype;
  bool descending, first, last;
};

std::string source_of(const Variant& v) {
  std::string out(text_file("prelude"));
  out += text_file("block");
  out += fmt::format("using In = {};\nusing K = {};\n#define DESCENDING {}\n{}{}", stored_type(v.dtype),
                     moved_type(static_cast<int64_t>(item_size(v.dtype))), v.descending ? 1 : 0,
                     v.first ? "#define FIRST 1\n" : "", v.last ? "#define LAST 1\n" : "");
  out += text_file("sort_arguments");
  out += text_file("sort");
  return out;
}

void run_pass(const Variant& v, const char* entry, const SortArguments& a, unsigned rows, const char* name,
              Device device) {
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "sort/{}/{}{}{}", static_cast<int>(v.dtype), v.descending ? "d" : "a",
                 v.first ? "f" : "", v.last ? "l" : "");
  const Kernel& kernel = find_kernel(device, {room.data(), room.size()}, [&v] { return source_of(v); }, entry);
  Shape shape;
  shape.grid_x = a.tiles;
  shape.grid_y = rows;
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, name);
}

// Sorted along the last dimension; the given tensor has `dim` there already.
std::tuple<Tensor, Tensor> sorted_last(const char* name, const Tensor& given, bool descending) {
  const Tensor in = dense(given);
  const Tensor values = empty_tensor(in.sizes(), in.dtype(), in.device());
  const Tensor indices = empty_tensor(in.sizes(), DType::int64, in.device());
  const int64_t count = in.dim() == 0 ? 1 : in.sizes()[static_cast<size_t>(in.dim() - 1)];
  if (in.numel() != 0) sort_rows(name, in, values, indices, in.numel() / count, count, descending);
  return {values, indices};
}

int64_t wrapped(int64_t dim, int64_t rank) { return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim; }

Tensor on_meta(const Tensor& t) {
  return empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device(DeviceType::meta));
}

std::tuple<Tensor, Tensor> sort_along(const Tensor& self, int64_t dim, bool descending) {
  const auto [values_spec, indices_spec] = sconce::sort(on_meta(self), dim, descending);
  const int64_t d = wrapped(dim, self.dim());
  const bool last = self.dim() == 0 || d == self.dim() - 1;
  const auto [v, i] = sorted_last("sort", last ? self : sconce::movedim(self, d, -1), descending);
  const auto placed = [&](const Tensor& made, const Tensor& spec) {
    const Tensor here = last ? made : sconce::movedim(made, -1, d);
    if (here.strides() == spec.strides()) return here;
    const Tensor out = empty_strided_tensor(spec.sizes(), spec.strides(), spec.dtype(), self.device());
    sconce::copy_(out, here);
    return out;
  };
  return {placed(v, values_spec), placed(i, indices_spec)};
}

}  // namespace

void sort_rows(const char* name, const Tensor& in, const Tensor& values, const Tensor& indices, int64_t rows,
               int64_t count, bool descending) {
  const Device device = in.device();
  SCONCE_CHECK_AS(not_implemented, !is_complex(in.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(in.dtype()));
  SCONCE_CHECK(count < (int64_t{1} << 31), "{}: lines of 2^31 elements and more are not sorted on CUDA, got {}", name,
               count);
  const auto item = static_cast<int64_t>(in.item_size());
  const int passes = static_cast<int>(item);
  const int64_t tiles = (count + tile_of(item) - 1) / tile_of(item);
  const int64_t together = std::min(kMostRows, rows);
  Tensor keys[2], places[2];
  for (int k = 0; k < 2 && passes > 1; ++k) {
    keys[k] = empty_tensor({together * count * item}, DType::uint8, device);
    places[k] = empty_tensor({together * count}, DType::int32, device);
  }
  const Tensor counts = empty_tensor({together, 256 * tiles}, DType::int32, device);
  const Tensor starts = empty_tensor({together, 256 * tiles}, DType::int32, device);
  for (int64_t first = 0; first < rows; first += kMostRows) {
    const int64_t some = std::min(kMostRows, rows - first);
    SortArguments a{};
    a.in = static_cast<const char*>(in.data()) + first * count * item;
    a.values = static_cast<char*>(values.data()) + first * count * item;
    a.indices = static_cast<i64*>(indices.data()) + first * count;
    a.counts = static_cast<u32*>(counts.data());
    a.starts = static_cast<const u32*>(starts.data());
    a.count = count;
    a.tiles = static_cast<u32>(tiles);
    for (int pass = 0; pass < passes; ++pass) {
      const Variant v{in.dtype(), descending, pass == 0, pass == passes - 1};
      a.shift = pass * 8;
      if (pass > 0) {
        a.keys = keys[(pass - 1) & 1].data();
        a.places = static_cast<const u32*>(places[(pass - 1) & 1].data());
      }
      if (pass + 1 < passes) {
        a.keys_out = keys[pass & 1].data();
        a.places_out = static_cast<u32*>(places[pass & 1].data());
      }
      run_pass(v, "histogram", a, static_cast<unsigned>(some), name, device);
      launch_scan(ScanKind::sum, name, counts, starts, nullptr, some, 256 * tiles);
      run_pass(v, "scatter", a, static_cast<unsigned>(some), name, device);
    }
  }
}

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return sort_along(self, dim, descending);
}
std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  return sort_along(self, dim, descending);
}

void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, const Tensor& values, const Tensor& indices) {
  const int64_t d = wrapped(dim, self.dim());
  if (k == 0) return;
  if (self.dim() == 0) {
    sconce::copy_(values, self);
    sconce::zero_(indices);
    return;
  }
  const bool last = d == self.dim() - 1;
  const auto [v, i] = sorted_last("topk", last ? self : sconce::movedim(self, d, -1), largest);
  const auto put = [&](const Tensor& to, const Tensor& from) {
    const Tensor part = sconce::narrow(from, -1, 0, k);
    sconce::copy_(to, last ? part : sconce::movedim(part, -1, d));
  };
  put(values, v);
  put(indices, i);
}

}  // namespace sconce::cuda
