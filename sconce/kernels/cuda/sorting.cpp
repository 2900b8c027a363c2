#include "sconce/kernels/cuda/sorting.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/sorting_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/sort/sort_arguments.cuh"

constexpr int64_t kMostRows = 65535;
constexpr unsigned kSortThreads = 384;  // as text/sort/sort.cuh has them
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
constexpr int64_t kHistogramBlocks = 1056;  // that fit on a device at once

// Elements that a block sorts: as text/sort.cuh has them.
int64_t tile_of(int64_t item) { return item == 8 ? 3840 : 6144; }

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
  for (const char* file : {"sort_arguments", "sort_keys", "sum_before", "sort"}) out += text_file(file);
  return out;
}

constexpr int64_t kMostSelected = 1024;  // elements of a row that one block sorts

// The first `wanted` of each row, in order. A row of at most kMostSelected elements is sorted whole.
void select_rows(const char* name, const Tensor& in, void* values, void* indices, int64_t rows, int64_t count,
                 int64_t wanted, bool descending) {
  const Device device = in.device();
  const DType dtype = in.dtype();
  const bool small = count <= kMostSelected;
  const auto size =
      static_cast<int>(std::max<uint64_t>(64, std::bit_ceil(static_cast<uint64_t>(small ? count : wanted))));
  const int threads = small ? std::min(512, size / 2) : 1024;
  const Kernel& kernel = find_kernel(
      device, fmt::format("select/{}/{}.{}{}", static_cast<int>(dtype), size, threads, descending ? "d" : "a"),
      [&] {
        std::string out(text_file("prelude"));
        out += text_file("block");
        out += fmt::format(
            "using In = {};\nusing K = {};\n#define DESCENDING {}\n#define SIZE {}\n#define THREADS {}\n",
            stored_type(dtype), moved_type(static_cast<int64_t>(item_size(dtype))), descending ? 1 : 0, size, threads);
        for (const char* file : {"sort_arguments", "sort_keys", "sum_before", "select"}) out += text_file(file);
        return out;
      },
      small ? "small" : "select");
  SortArguments a{};
  a.in = in.data();
  a.values = values;
  a.indices = static_cast<i64*>(indices);
  a.count = count;
  a.tiles = static_cast<u32>(wanted);
  Shape shape;
  shape.grid_x = static_cast<unsigned>(rows);
  shape.block_x = static_cast<unsigned>(threads);
  launch(device, kernel, shape, &a, sizeof a, name);
}

void run(const Variant& v, const char* entry, const SortArguments& a, unsigned blocks, unsigned rows, const char* name,
         Device device) {
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "sort/{}/{}{}{}", static_cast<int>(v.dtype), v.descending ? "d" : "a",
                 v.first ? "f" : "", v.last ? "l" : "");
  const Kernel& kernel = find_kernel(device, {room.data(), room.size()}, [&v] { return source_of(v); }, entry);
  Shape shape;
  shape.grid_x = blocks;
  shape.grid_y = rows;
  shape.block_x = kSortThreads;
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
  SCONCE_CHECK(count < (int64_t{1} << 30), "{}: lines of 2^30 elements and more are not sorted on CUDA, got {}", name,
               count);
  if (count <= kMostSelected && rows < kMostBlocks)
    return select_rows(name, in, values.data(), indices.data(), rows, count, count, descending);
  const auto item = static_cast<int64_t>(in.item_size());
  const int passes = static_cast<int>(item);
  const int64_t tiles = (count + tile_of(item) - 1) / tile_of(item);
  const int64_t together = std::min(kMostRows, rows);
  Tensor keys[2], places[2];
  for (int k = 0; k < 2 && passes > 1; ++k) {
    keys[k] = empty_tensor({together * count * item}, DType::uint8, device);
    places[k] = empty_tensor({together * count}, DType::int32, device);
  }
  // Digits' counts, then for each pass claims and states: one piece of memory, 0 at first.
  const int64_t of_pass = together * (1 + tiles * 256);
  const Tensor words = empty_tensor({together * passes * 256 + passes * of_pass}, DType::int32, device);
  for (int64_t first = 0; first < rows; first += kMostRows) {
    const int64_t some = std::min(kMostRows, rows - first);
    sconce::zero_(words);
    SortArguments a{};
    a.in = static_cast<const char*>(in.data()) + first * count * item;
    a.values = static_cast<char*>(values.data()) + first * count * item;
    a.indices = static_cast<i64*>(indices.data()) + first * count;
    a.counts = static_cast<u32*>(words.data());
    a.count = count;
    a.tiles = static_cast<u32>(tiles);
    const auto grid_rows = static_cast<unsigned>(some);
    const int64_t blocks = std::min(tiles, std::max<int64_t>(1, kHistogramBlocks / some));
    run({in.dtype(), descending, true, passes == 1}, "histogram", a, static_cast<unsigned>(blocks), grid_rows, name,
        device);
    for (int pass = 0; pass < passes; ++pass) {
      a.shift = pass * 8;
      a.claims = a.counts + together * passes * 256 + pass * of_pass;
      a.states = a.claims + together;
      if (pass > 0) {
        a.keys = keys[(pass - 1) & 1].data();
        a.places = static_cast<const u32*>(places[(pass - 1) & 1].data());
      }
      if (pass + 1 < passes) {
        a.keys_out = keys[pass & 1].data();
        a.places_out = static_cast<u32*>(places[pass & 1].data());
      }
      run({in.dtype(), descending, pass == 0, pass == passes - 1}, "sweep", a, a.tiles, grid_rows, name, device);
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
  const Tensor moved = last ? self : sconce::movedim(self, d, -1);
  const int64_t count = moved.size(-1), rows = count == 0 ? 0 : moved.numel() / count;
  Tensor v, i;
  if (k <= kMostSelected && !is_complex(self.dtype()) && count < (int64_t{1} << 31) && rows < kMostBlocks) {
    const Tensor in = dense(moved);
    Dims sizes(in.sizes());
    sizes[sizes.size() - 1] = k;
    const bool direct = last && values.is_contiguous() && indices.is_contiguous();
    v = direct ? values : empty_tensor(sizes, in.dtype(), in.device());
    i = direct ? indices : empty_tensor(sizes, DType::int64, in.device());
    if (rows > 0) select_rows("topk", in, v.data(), i.data(), rows, count, k, largest);
  } else {
    std::tie(v, i) = sorted_last("topk", moved, largest);
  }
  const auto put = [&](const Tensor& to, const Tensor& from) {
    if (from.is_same(to)) return;
    const Tensor part = sconce::narrow(from, -1, 0, k);
    sconce::copy_(to, last ? part : sconce::movedim(part, -1, d));
  };
  put(values, v);
  put(indices, i);
}

}  // namespace sconce::cuda
