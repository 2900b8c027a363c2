#include "sconce/kernels/cuda/layers/channels_last.h"

#include <fmt/format.h>

#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/channels/channels_last_arguments.cuh"

constexpr int64_t kMostThreads = int64_t{1} << 31, kLargestKernel = 3;
constexpr unsigned kThreads = 256;

int64_t pack_of(const Tensor& t) { return 16 / static_cast<int64_t>(t.item_size()); }
bool is_aligned(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; }
Shape shape_of(int64_t threads) {
  Shape shape;
  shape.grid_x = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  shape.block_x = kThreads;
  return shape;
}
std::string lines_of(DType dtype, int64_t width, const std::string& more) {
  const Compute compute = dtype == DType::float64 ? Compute::f64 : Compute::f32;
  std::string out(text_file("prelude"));
  out += compute_lines(compute);
  out += fmt::format("using T = {};\n#define WIDTH {}\n{}", stored_type(dtype), width, more);
  out += text_file("channels_last_arguments");
  out += text_file("channels_last");
  return out;
}

}  // namespace

bool max_pool_last(const WindowShape& shape, const Tensor& in, const Tensor& out, const Tensor& indices) {
  const int64_t width = pack_of(in), kernel[] = {shape.kernel[1], shape.kernel[2]};
  for (const Tensor* t : {&in, &out, &indices}) {
    if (t->dim() != 4 || !t->is_contiguous(MemoryFormat::channels_last) || !is_aligned(*t)) return false;
  }
  if (!is_floating(in.dtype()) || in.item_size() < 2 || in.size(1) % width != 0 || out.numel() == 0 ||
      out.numel() / width >= kMostThreads || in.size(2) * in.size(3) >= kMostThreads || kernel[0] > kLargestKernel ||
      kernel[1] > kLargestKernel)
    return false;
  PoolLastArguments a{};
  a.in = in.data();
  a.out = out.data();
  a.index = static_cast<i64*>(indices.data());
  a.packs = static_cast<u32>(out.numel() / width);
  a.channel_packs = static_cast<u32>(in.size(1) / width);
  for (int d = 0; d < 2; ++d) {
    a.size[d] = static_cast<int>(shape.size[d + 1]);
    a.out_size[d] = static_cast<int>(shape.out_size[d + 1]);
    a.stride[d] = static_cast<int>(shape.stride[d + 1]);
    a.pad[d] = static_cast<int>(shape.pad[d + 1]);
    a.dilation[d] = static_cast<int>(shape.dilation[d + 1]);
  }
  const DType dtype = in.dtype();
  const Kernel& found = find_kernel(
      in.device(), fmt::format("max_pool_last/{}/{}.{}", static_cast<int>(dtype), kernel[0], kernel[1]),
      [&] {
        return lines_of(dtype, width,
                        fmt::format("#define MAX_POOL 1\n#define KERNEL_HEIGHT {}\n#define KERNEL_WIDTH {}\n",
                                    kernel[0], kernel[1]));
      },
      "max_pool_last");
  launch(in.device(), found, shape_of(a.packs), &a, sizeof a, "max_pool2d");
  return true;
}

bool has_few_channels(const Tensor& t) {
  return t.dim() == 4 && t.size(1) < pack_of(t) && t.numel() / t.size(1) < kMostThreads;
}

Tensor with_whole_pack(const Tensor& t) {
  const int64_t width = pack_of(t), channels = t.size(1), height = t.size(2), columns = t.size(3);
  const Tensor out = empty_strided_tensor({t.size(0), width, height, columns},
                                          {height * columns * width, 1, columns * width, width}, t.dtype(), t.device());
  PadChannelsArguments a{};
  a.in = t.data();
  a.out = out.data();
  a.pixels = static_cast<u32>(t.size(0) * height * columns);
  a.size[0] = static_cast<int>(height);
  a.size[1] = static_cast<int>(columns);
  for (int d = 0; d < 4; ++d) a.stride[d] = t.stride(d);
  const DType dtype = t.dtype();
  const Kernel& found = find_kernel(
      t.device(), fmt::format("pad_channels/{}/{}", static_cast<int>(dtype), channels),
      [&] { return lines_of(dtype, width, fmt::format("#define PAD_CHANNELS 1\n#define CHANNELS {}\n", channels)); },
      "pad_channels");
  launch(t.device(), found, shape_of(a.pixels), &a, sizeof a, "convolution");
  return out;
}

}  // namespace sconce::cuda
