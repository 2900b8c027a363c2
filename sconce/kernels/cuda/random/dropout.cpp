// Dropout on CUDA devices: result and mask in one kernel (text/random/dropout.cuh), with PyTorch's draws.
#include <algorithm>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/random_cuda_kernels.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/random/random_engine.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/random/dropout_arguments.cuh"

constexpr int64_t kThreads = 256, kThreadsOfProcessor = 2048, kUnroll = 4;  // PyTorch's: the draws depend on them

std::tuple<Tensor, Tensor> with_mask(const Tensor& given, double p) {
  SCONCE_CHECK(is_floating(given.dtype()), "dropout: expected a floating point tensor, got {}",
               dtype_legacy_name(given.dtype()));
  const Tensor in = given.is_dense() ? given : sconce::contiguous(given);
  const Device device = in.device();
  const Tensor out = empty_strided_tensor(in.sizes(), in.strides(), in.dtype(), device);
  const Tensor mask = empty_strided_tensor(in.sizes(), in.strides(), DType::bool_, device);
  const int64_t count = in.numel();
  if (count == 0) return {out, mask};
  DropoutArguments a{};
  a.in = in.data();
  a.out = out.data();
  a.mask = mask.data();
  a.count = count;
  a.keeps = 1 - p;
  // So many neighbours as memory allows, and no rest.
  const auto item = static_cast<int64_t>(in.item_size());
  int64_t width = item == 2 ? 8 : std::min<int64_t>(4, 16 / item);
  const auto fits = [&] { return count % width == 0 && reinterpret_cast<uintptr_t>(a.in) % (width * item) == 0; };
  while (width > 1 && !fits()) width /= 2;
  const int64_t most = properties(device).multiprocessors * (kThreadsOfProcessor / kThreads);
  Shape shape;
  shape.block_x = kThreads;
  shape.grid_x = static_cast<unsigned>(std::min(most, (count + kThreads - 1) / kThreads));
  const auto counters = static_cast<uint64_t>((count - 1) / (kThreads * shape.grid_x * kUnroll) + 1);
  const PhiloxDraw philox = take_counters(device, counters);
  a.seed = philox.seed;
  a.counter = philox.counter;
  const DType dtype = in.dtype();
  const Kernel& kernel = find_kernel(
      device, fmt::format("dropout/{}.{}", static_cast<int>(dtype), width),
      [&] {
        std::string text(text_file("prelude"));
        text += text_file("random_arguments");
        text += "#define PHILOX_ONLY 1\nusing REAL = float;\n";
        text += text_file("random");
        text += fmt::format("using T = {};\n#define WIDTH {}\n", stored_type(dtype), width);
        text += text_file("dropout_arguments");
        text += text_file("dropout");
        return text;
      },
      "dropout");
  launch(device, kernel, shape, &a, sizeof a, "dropout");
  return {out, mask};
}

}  // namespace

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  SCONCE_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got {}", p);
  if (!train.value_or(true)) return {sconce::clone(input), sconce::ones_like(input, DType::bool_)};
  if (p == 1) return {sconce::zeros_like(input), sconce::zeros_like(input, DType::bool_)};
  return with_mask(input, p);
}

std::tuple<Tensor, Tensor> sconce_dropout_with_mask(const Tensor& input, double p) { return with_mask(input, p); }

}  // namespace sconce::cuda
