#include "sconce/kernels/cuda/windows.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/windows_arguments.cuh"

constexpr const char* kDefines[] = {"TO_COLUMNS",   "FROM_COLUMNS",          "MAX_POOL",      "MAX_POOL_BACKWARD",
                                    "AVERAGE_POOL", "AVERAGE_POOL_BACKWARD", "ADAPTIVE_POOL", "ADAPTIVE_POOL_BACKWARD"};

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

struct Variant {
  WindowKernel kernel;
  DType dtype;
  bool is_small;  // places fit in 32 bits
};

bool fits_in_32_bits(const WindowArguments& a, const Tensor& in, const Tensor& out) {
  constexpr int64_t kLargest = int64_t{1} << 28;  // sums of some of them are made
  bool fits = in.numel() < kLargest * 8 && out.numel() < kLargest * 8;
  for (int d = 0; d < 3; ++d) {
    for (const i64 n : {a.size[d], a.out_size[d], a.kernel[d], a.stride[d], a.pad[d], a.dilation[d]})
      fits &= n < kLargest;
    fits &= a.kernel[d] * a.dilation[d] < kLargest && a.out_size[d] * a.stride[d] < kLargest;
  }
  return fits;
}

std::string source_of(const Variant& v) {
  const Compute compute = compute_of(v.dtype);
  std::string out = vocabulary(class_of(compute) == Class::complex, 0, false) + compute_lines(compute);
  out += fmt::format("using namespace word;\nusing T = {};\nusing I = {};\n#define {} 1\n", stored_type(v.dtype),
                     v.is_small ? "i32" : "i64", kDefines[static_cast<int>(v.kernel)]);
  out += text_file("windows_arguments");
  out += text_file("windows");
  return out;
}

}  // namespace

void put_last(int64_t (&to)[3], IntList list, size_t rank) {
  if (list.empty()) return;
  for (size_t d = 0; d < rank; ++d) to[3 - rank + d] = list[list.size() == 1 ? 0 : d];
}

void launch_windows(WindowKernel kernel, const char* name, const WindowShape& shape, int64_t channels, const Tensor& in,
                    const Tensor& out, const Tensor* index) {
  if (out.numel() == 0) return;
  const Device device = out.device();
  WindowArguments a{};
  a.in = in.data();
  a.out = out.data();
  a.index = index ? index->data() : nullptr;
  a.elements = out.numel();
  a.channels = channels;
  for (int d = 0; d < 3; ++d) {
    a.size[d] = shape.size[d];
    a.out_size[d] = shape.out_size[d];
    a.kernel[d] = shape.kernel[d];
    a.stride[d] = shape.stride[d];
    a.pad[d] = shape.pad[d];
    a.dilation[d] = shape.dilation[d];
  }
  a.divisor = shape.divisor;
  a.count_padding = shape.count_padding;
  const Variant v{kernel, out.dtype(), fits_in_32_bits(a, in, out)};
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "windows/{}/{}{}", static_cast<int>(kernel), static_cast<int>(v.dtype),
                 v.is_small ? "" : "w");
  const Kernel& found = find_kernel(device, {room.data(), room.size()}, [&v] { return source_of(v); }, "windows");
  Shape launched;
  launched.grid_x = static_cast<unsigned>((out.numel() + 255) / 256);
  launched.block_x = 256;
  launch(device, found, launched, &a, sizeof a, name);
}

}  // namespace sconce::cuda
