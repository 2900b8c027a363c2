#include "sconce/kernels/cuda/scans.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/reduction_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/scan_arguments.cuh"

constexpr int64_t kChunk = 8192;
constexpr int64_t kMostRows = 65535;
constexpr int64_t kLargestState = 48;
constexpr const char* kDefines[] = {"SUM", "PRODUCT", "LOGSUM", "LARGEST", "SMALLEST"};

struct Variant {
  ScanKind kind;
  DType in, out;
  int width;
};

Compute compute_of(DType dtype) {
  switch (category(dtype)) {
    case Category::complex:
      return dtype == DType::complex64 ? Compute::c64 : Compute::c128;
    case Category::floating:
      return dtype == DType::float64 ? Compute::f64 : Compute::f32;
    default:
      return Compute::i64;
  }
}

// Logarithms of sums are carried in double: their errors do not cancel.
Compute compute_of(const Variant& v) {
  const Compute compute = compute_of(v.out);
  if (v.kind != ScanKind::logsum) return compute;
  return class_of(compute) == Class::complex ? Compute::c128 : Compute::f64;
}

std::string source_of(const Variant& v) {
  const Compute compute = compute_of(v);
  std::string out = vocabulary(class_of(compute) == Class::complex, 0, false) + compute_lines(compute);
  out += fmt::format("using namespace word;\nusing In = {};\nusing Common = {};\nusing Out = {};\n", stored_type(v.in),
                     stored_type(v.out), stored_type(v.out));
  out += fmt::format("#define {} 1\n#define WIDTH {}\n#define P_INF P(INFINITY_64)\n#define COMPLEX {}\n",
                     kDefines[static_cast<int>(v.kind)], v.width, class_of(compute) == Class::complex ? 1 : 0);
  out += text_file("scan_arguments");
  out += text_file("block");
  out += text_file("scan");
  return out;
}

// Brings dimension `dim` behind the others, and the results back.
void along(ScanKind kind, const char* name, const Tensor& self, int64_t dim, const Tensor& out, const Tensor* index) {
  const int64_t rank = self.dim();
  const int64_t d = dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
  const int64_t count = rank == 0 ? 1 : self.sizes()[static_cast<size_t>(d)];
  if (self.numel() == 0) return;
  const bool last = rank == 0 || d == rank - 1;
  const Tensor in = dense(last ? self : sconce::movedim(self, d, -1));
  const auto room = [&](const Tensor& t) {
    return last && t.is_contiguous() ? t : empty_tensor(in.sizes(), t.dtype(), t.device());
  };
  const Tensor made = room(out), places = index ? room(*index) : Tensor();
  launch_scan(kind, name, in, made, index ? &places : nullptr, self.numel() / count, count);
  const auto back = [&](const Tensor& to, const Tensor& from) {
    if (!from.is_same(to)) sconce::copy_(to, last ? from : sconce::movedim(from, -1, d));
  };
  back(out, made);
  if (index) back(*index, places);
}

void check_real(const Tensor& self, const char* name) {
  SCONCE_CHECK_AS(not_implemented, !is_complex(self.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(self.dtype()));
}

}  // namespace

void launch_scan(ScanKind kind, const char* name, const Tensor& in, const Tensor& out, const Tensor* index,
                 int64_t rows, int64_t count) {
  const Device device = out.device();
  const auto widest = static_cast<int64_t>(std::max(in.item_size(), out.item_size()));
  Variant v{kind, in.dtype(), out.dtype(), static_cast<int>(std::min<int64_t>(8, 16 / widest))};
  const auto aligned = [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; };
  if (!aligned(in) || !aligned(out) || (rows > 1 && count % v.width != 0)) v.width = 1;
  const int64_t chunks = (count + kChunk - 1) / kChunk;
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "scan/{}/{}.{}/{}", static_cast<int>(kind), static_cast<int>(v.in),
                 static_cast<int>(v.out), v.width);
  const std::string_view key{room.data(), room.size()};
  const auto source = [&v] { return source_of(v); };
  std::optional<Scratch> memory;
  for (int64_t first = 0; first < rows; first += kMostRows) {
    const int64_t some = std::min(kMostRows, rows - first);
    ScanArguments a{};
    a.in = static_cast<const char*>(in.data()) + first * count * static_cast<int64_t>(in.item_size());
    a.out = static_cast<char*>(out.data()) + first * count * static_cast<int64_t>(out.item_size());
    a.index = index ? static_cast<char*>(index->data()) + first * count * 8 : nullptr;
    a.count = count;
    a.chunk = kChunk;
    a.chunks = static_cast<u32>(chunks);
    Shape shape;
    shape.grid_x = a.chunks;
    shape.grid_y = static_cast<unsigned>(some);
    shape.block_x = 256;
    if (chunks > 1) {
      if (!memory) memory.emplace(scratch(device, static_cast<size_t>(some * chunks * kLargestState)));
      a.partial = memory->data();
      launch(device, find_kernel(device, key, source, "totals"), shape, &a, sizeof a, name);
    }
    shape.is_dependent = chunks > 1;
    launch(device, find_kernel(device, key, source, "apply"), shape, &a, sizeof a, name);
  }
}

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  along(ScanKind::sum, "cumsum", self, dim, out, nullptr);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  along(ScanKind::product, "cumprod", self, dim, out, nullptr);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()) || is_complex(self.dtype()),
                  "\"logcumsumexp\" not implemented for '{}' on CUDA", dtype_legacy_name(self.dtype()));
  along(ScanKind::logsum, "logcumsumexp", self, dim, out, nullptr);
}
void cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  check_real(self, "cummax");
  along(ScanKind::largest, "cummax", self, dim, values, &indices);
}
void cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  check_real(self, "cummin");
  along(ScanKind::smallest, "cummin", self, dim, values, &indices);
}

void _cummax_helper(const Tensor& self, const Tensor& values, const Tensor& indices, int64_t dim) {
  cuda::cummax(self, dim, values, indices);
}
void _cummin_helper(const Tensor& self, const Tensor& values, const Tensor& indices, int64_t dim) {
  cuda::cummin(self, dim, values, indices);
}

}  // namespace sconce::cuda
