#include "sconce/kernels/cuda/row_kernels.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/rows_arguments.cuh"

constexpr int64_t kLongest = 16384;  // elements of a row that is held in registers

struct Variant {
  DType in[3], out, saved;
  RowKernel kernel;
  int threads, ty, packs, width;
  bool is_long, is_full, weight, bias, plain;
};

struct Names {
  const char* define;
  const char* entry;
  int log, rms;
};
constexpr Names kNames[] = {{"SOFTMAX", "softmax", 0, 0},
                            {"SOFTMAX", "softmax", 1, 0},
                            {"SOFTMAX_BACKWARD", "softmax_backward", 0, 0},
                            {"SOFTMAX_BACKWARD", "softmax_backward", 1, 0},
                            {"NORM", "row_norm", 0, 0},
                            {"NORM", "row_norm", 0, 1},
                            {"NORM_BACKWARD", "norm_backward", 0, 0},
                            {"NORM_BACKWARD", "norm_backward", 0, 1}};

bool is_there(const Tensor* t) { return t != nullptr && t->defined(); }

std::string source_of(const Variant& v) {
  const Names& names = kNames[static_cast<int>(v.kernel)];
  std::string out = vocabulary(false, 0, false);
  out += compute_lines(v.out == DType::float64 || v.in[0] == DType::float64 ? Compute::f64 : Compute::f32);
  for (int k = 0; k < 3; ++k) out += fmt::format("using In{} = {};\n", k, stored_type(v.in[k]));
  out += fmt::format("using Out = {};\nusing Saved = {};\n", stored_type(v.out), stored_type(v.saved));
  out += fmt::format("#define {} 1\n#define LOG {}\n#define RMS {}\n", names.define, names.log, names.rms);
  out += fmt::format("#define THREADS {}\n#define TY {}\n#define PACKS {}\n#define WIDTH {}\n#define FULL {}\n{}",
                     v.threads, v.ty, v.packs, v.width, v.is_full ? 1 : 0, v.is_long ? "#define LONG 1\n" : "");
  out += fmt::format("#define WEIGHT {}\n#define BIAS {}\n#define PLAIN {}\n", v.weight ? 1 : 0, v.bias ? 1 : 0,
                     v.plain ? 1 : 0);
  out += text_file("rows_arguments");
  out += text_file("block");
  out += text_file("rows");
  return out;
}

Variant choose(const RowCall& call) {
  Variant v{};
  v.kernel = call.kernel;
  v.out = call.out->dtype();
  int64_t widest = static_cast<int64_t>(item_size(v.out));
  bool aligned = true;
  const auto note = [&](const Tensor& t) {
    widest = std::max(widest, static_cast<int64_t>(t.item_size()));
    aligned &= reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
  };
  note(*call.out);
  for (int k = 0; k < 3; ++k) {
    v.in[k] = is_there(call.in[k]) ? call.in[k]->dtype() : v.out;
    if (is_there(call.in[k])) note(*call.in[k]);
  }
  v.saved = is_there(call.saved[1]) ? call.saved[1]->dtype() : DType::float32;
  v.width = static_cast<int>(16 / widest);
  if (!aligned || call.columns % v.width != 0) v.width = 1;
  const bool norm = call.kernel == RowKernel::norm || call.kernel == RowKernel::rms_norm;
  v.weight = norm && is_there(call.in[1]);
  v.bias = norm && is_there(call.in[2]);
  v.plain = norm && call.groups == 1 && call.spread == 1;
  const int64_t n = call.columns;
  v.threads = n <= 1024 ? 32 : n <= 4096 ? 128 : n <= 8192 ? 256 : 512;
  v.ty = v.threads == 32 ? 8 : v.threads == 128 ? 2 : 1;
  if (v.threads == 128) v.ty = 1;
  const bool looped = call.kernel == RowKernel::norm_backward || call.kernel == RowKernel::rms_norm_backward;
  v.is_long = n > kLongest || looped;
  if (!v.is_long) {
    const int64_t per_pack = int64_t{v.threads} * v.width;
    v.packs = static_cast<int>(std::bit_ceil(static_cast<uint64_t>((n + per_pack - 1) / per_pack)));
    v.is_full = n == v.packs * per_pack;
  }
  if (v.is_long) v.packs = 1;
  return v;
}

}  // namespace

void launch_rows(const RowCall& call) {
  if (call.rows == 0 || call.columns == 0) return;
  const Device device = call.out->device();
  const Variant v = choose(call);
  RowArguments a{};
  for (int k = 0; k < 3; ++k) a.in[k] = is_there(call.in[k]) ? call.in[k]->data() : nullptr;
  a.out[0] = call.out->data();
  for (int k = 0; k < 2; ++k) a.out[k + 1] = is_there(call.saved[k]) ? call.saved[k]->data() : nullptr;
  a.rows = call.rows;
  a.columns = call.columns;
  a.groups = call.groups;
  a.spread = call.spread;
  a.eps = call.eps;
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "rows/{}/{}.{}.{}.{}.{}/{}.{}.{}.{}{}{}", static_cast<int>(v.kernel),
                 static_cast<int>(v.in[0]), static_cast<int>(v.in[1]), static_cast<int>(v.in[2]),
                 static_cast<int>(v.out), static_cast<int>(v.saved), v.threads, v.ty, v.packs, v.width,
                 v.is_long   ? "l"
                 : v.is_full ? "f"
                             : "",
                 (v.weight ? 1 : 0) + (v.bias ? 2 : 0) + (v.plain ? 4 : 0));
  const Kernel& kernel = find_kernel(
      device, {room.data(), room.size()}, [&v] { return source_of(v); }, kNames[static_cast<int>(v.kernel)].entry);
  Shape shape;
  shape.grid_x = static_cast<unsigned>((call.rows + v.ty - 1) / v.ty);
  shape.block_x = static_cast<unsigned>(v.threads);
  shape.block_y = static_cast<unsigned>(v.ty);
  launch(device, kernel, shape, &a, sizeof a, call.name);
}

Tensor dense(const Tensor& t) { return t.defined() && !t.is_contiguous() ? sconce::contiguous(t) : t; }

}  // namespace sconce::cuda
