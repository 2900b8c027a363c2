#include "sconce/kernels/cuda/layers/batch_norm_kernels.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "sconce/kernels/any/layers/channel_factors.h"
#include "sconce/kernels/cuda/counters.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/channels/batch_norm_arguments.cuh"

constexpr int64_t kThreads = 256, kBatch = 4, kMostSplits = 256, kHuge = int64_t{1} << 31;
// Blocks that read at once; for channels last the last of them joins as many partial sums.
constexpr int64_t kBlocksFirst = 528, kBlocksLast = 264;

struct Variant {
  DType dtype, parameters, kept, running;
  int64_t width, x;  // x: threads beside each other, channels last; 0: channels first
};

bool is_aligned(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; }

// Puts what follows from sizes; false: of another layout.
bool describe(const Tensor& input, BatchNormArguments& a, Variant& v) {
  if (input.dim() < 2 || !is_floating(input.dtype()) || input.item_size() < 2 || input.numel() == 0 ||
      input.numel() >= kHuge || input.size(1) > kCounters)
    return false;
  const int64_t channels = input.size(1), places = input.numel() / (input.size(0) * channels);
  const bool is_last = (places == 1 && input.is_contiguous()) ||
                       (input.dim() == 4 && input.is_contiguous(MemoryFormat::channels_last) && !input.is_contiguous());
  if (!is_last && !input.is_contiguous()) return false;
  const int64_t pack = 16 / static_cast<int64_t>(input.item_size());
  v.dtype = input.dtype();
  v.width = is_aligned(input) && (is_last ? channels : places) % pack == 0 ? pack : 1;
  a.input = input.data();
  a.channels = static_cast<u32>(channels);
  a.count = static_cast<double>(input.size(0) * places);
  if (is_last) {
    const int64_t packs = channels / v.width;
    // 128 bytes of a row, or what there is.
    v.x = std::min<int64_t>(v.width == 1 ? 32 : 8, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs))));
    const int64_t groups = (packs + v.x - 1) / v.x, together = kThreads / v.x * kBatch;
    a.rows = input.size(0) * places;
    a.places = 1;
    a.splits = static_cast<u32>(std::clamp<int64_t>(kBlocksLast / groups, 1, std::max<int64_t>(1, a.rows / together)));
    a.chunk = (a.rows + a.splits - 1) / a.splits;
    a.splits = static_cast<u32>((a.rows + a.chunk - 1) / a.chunk);
  } else {
    v.x = 0;
    a.rows = input.size(0);
    a.places = places;
    const int64_t packs = a.rows * (places / v.width);
    a.splits = static_cast<u32>(std::clamp<int64_t>(kBlocksFirst / channels, 1,
                                                    std::clamp<int64_t>(packs / (kThreads * kBatch), 1, kMostSplits)));
    a.chunk = (packs + a.splits - 1) / a.splits;
    a.splits = static_cast<u32>((packs + a.chunk - 1) / a.chunk);
  }
  return true;
}

const Kernel& kernel_of(Device device, const Variant& v, bool statistics, const char* entry) {
  return find_kernel(
      device,
      fmt::format("batch_norm/{}.{}.{}.{}/{}.{}{}", static_cast<int>(v.dtype), static_cast<int>(v.parameters),
                  static_cast<int>(v.kept), static_cast<int>(v.running), v.width, v.x, statistics ? "s" : "g"),
      [&] {
        std::string out(text_file("prelude"));
        out += compute_lines(v.dtype == DType::float64 ? Compute::f64 : Compute::f32);
        out += fmt::format(
            "using T = {};\nusing W = {};\nusing S = {};\nusing R = {};\n#define WIDTH {}\n#define STATISTICS "
            "{}\n#define LAST "
            "{}\nconstexpr int X = {};\n",
            stored_type(v.dtype), stored_type(v.parameters), stored_type(v.kept), stored_type(v.running), v.width,
            statistics ? 1 : 0, v.x != 0 ? 1 : 0, v.x);
        for (const char* file : {"block", "batch_norm_arguments", "batch_norm"}) out += text_file(file);
        return out;
      },
      entry);
}

void launch_sums(Device device, const Variant& v, BatchNormArguments& a, bool statistics, const char* name) {
  std::optional<Scratch> memory;
  if (a.splits > 1) {
    const size_t item = v.dtype == DType::float64 ? 8 : 4;
    memory.emplace(scratch(device, size_t{2} * a.splits * a.channels * item));
    a.partial = memory->data();
    a.counters = counters(device);
  }
  Shape shape;
  shape.grid_x = v.x == 0 ? a.channels : static_cast<unsigned>((a.channels + v.x * v.width - 1) / (v.x * v.width));
  shape.grid_y = a.splits;
  shape.block_x = kThreads;
  launch(device, kernel_of(device, v, statistics, "norm_sums"), shape, &a, sizeof a, name);
}

void launch_apply(Device device, const Variant& v, const BatchNormArguments& a, bool statistics, const char* name) {
  Shape shape;
  shape.block_x = kThreads;
  if (v.x == 0) {
    const int64_t packs = a.rows * a.channels * (a.places / v.width), of_block = kThreads * kBatch;
    shape.grid_x = static_cast<unsigned>((packs + of_block - 1) / of_block);
  } else {
    const int64_t of_block = kThreads / v.x * kBatch, beside = v.x * v.width;
    shape.grid_x = static_cast<unsigned>((a.rows + of_block - 1) / of_block);
    shape.grid_y = static_cast<unsigned>((a.channels + beside - 1) / beside);
  }
  launch(device, kernel_of(device, v, statistics, "norm_apply"), shape, &a, sizeof a, name);
}

// Dense numbers of channels, of one floating dtype.
bool are_parameters(std::initializer_list<const Tensor*> all, DType& dtype) {
  bool first = true;
  for (const Tensor* t : all) {
    if (!t->defined()) continue;
    if (!is_floating(t->dtype()) || t->item_size() < 2 || !t->is_contiguous()) return false;
    if (!first && t->dtype() != dtype) return false;
    dtype = t->dtype();
    first = false;
  }
  return true;
}
void* data_of(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

}  // namespace

bool batch_statistics(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, double momentum,
                      double eps, const Tensor& mean, const Tensor& invstd) {
  BatchNormArguments a{};
  Variant v{};
  v.parameters = v.running = v.kept = mean.dtype();
  if (!are_parameters({&mean, &invstd}, v.kept) || !are_parameters({&running_mean, &running_var}, v.running) ||
      !describe(input, a, v))
    return false;
  a.running_mean = data_of(running_mean);
  a.running_var = data_of(running_var);
  a.mean = mean.data();
  a.invstd = invstd.data();
  a.momentum = momentum;
  a.eps = eps;
  launch_sums(input.device(), v, a, true, "batch_norm");
  return true;
}

bool apply_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                      const Tensor& invstd, const Tensor& out) {
  BatchNormArguments a{};
  Variant v{};
  v.parameters = v.running = v.kept = mean.dtype();
  if (out.dtype() != input.dtype() || !(out.strides() == input.strides()) ||
      !are_parameters({&mean, &invstd}, v.kept) || !are_parameters({&weight, &bias}, v.parameters) ||
      !describe(input, a, v))
    return false;
  a.weight = data_of(weight);
  a.bias = data_of(bias);
  a.mean = mean.data();
  a.invstd = invstd.data();
  a.out = out.data();
  launch_apply(input.device(), v, a, true, "batch_norm");
  return true;
}

bool batch_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& mean,
                     const Tensor& invstd, const bool (&wants)[3], BatchGradients& made) {
  BatchNormArguments a{};
  Variant v{};
  v.parameters = input.dtype();
  v.running = v.kept = mean.dtype();
  if (grad.dtype() != input.dtype() || !are_parameters({&weight}, v.parameters) ||
      !are_parameters({&mean, &invstd}, v.kept) || !describe(input, a, v))
    return false;
  const Tensor g =
      v.x != 0 && input.dim() == 4 ? sconce::contiguous(grad, MemoryFormat::channels_last) : sconce::contiguous(grad);
  if (!is_aligned(g) && v.width > 1) return false;
  const Tensor factors = empty_tensor({3, input.size(1)}, norm_dtype(input.dtype()), input.device());
  const auto of_channels = [&] { return empty_tensor({input.size(1)}, v.parameters, input.device()); };
  if (wants[1]) made.weight = of_channels();
  if (wants[2]) made.bias = of_channels();
  a.grad = g.data();
  a.weight = data_of(weight);
  a.mean = mean.data();
  a.invstd = invstd.data();
  a.of_weight = data_of(made.weight);
  a.of_bias = data_of(made.bias);
  a.factors = factors.data();
  launch_sums(input.device(), v, a, false, "batch_norm_backward");
  if (!wants[0]) return true;
  made.input = sconce::empty_like(input);
  a.out = made.input.data();
  launch_apply(input.device(), v, a, false, "batch_norm_backward");
  return true;
}

}  // namespace sconce::cuda
