#include "sconce/kernels/cuda/pointwise_engine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cuda/device/kernel_table.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/layout.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/pointwise_arguments.cuh"

constexpr int kArgumentRank = 8;
constexpr int kThreads = 256;
constexpr int kMostAcross = 2;  // inputs that go through tiles of shared memory
constexpr int64_t kHuge = int64_t{1} << 31;
constexpr int64_t kBytesAtOnce = 32;  // of a thread

// What is to be computed. A copy has no loops: elements are converted, or moved as bits.
struct Work {
  const PointwiseLoops* loops = nullptr;
  DType common = DType::float32;
  Compute compute = Compute::f32;
  DType out = DType::float32;
  int inputs = 1;
  DType in[kMaxOperands - 1];
};

// Which kernel text serves a layout.
struct Variant {
  int width = 1, unroll = 1;
  bool wide_index = false;
  bool dense = false;   // all operands are: the kernel `dense`
  bool whole = false;   // lines are multiples of a pack
  uint32_t across = 0;  // inputs that run across the result's lines; not 0: the kernel `across`
  int tile = 0;
};

int64_t size_of(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

DType operand_dtype(const Work& work, int k) { return k == 0 ? work.out : work.in[k - 1]; }

bool is_aligned(const void* data, int64_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

// Whether operands that run along dimension 0 can be read `width` elements at a time.
bool fits_width(const Work& work, const Layout& l, void* const* data, uint32_t on_host, int width) {
  if (l.rank > 1 && l.size[0] % width != 0) return false;
  for (int k = 0; k < l.operands; ++k) {
    if (l.stride[k][0] != 1 || (k > 0 && on_host >> (k - 1) & 1)) continue;
    if (!is_aligned(data[k], std::min<int64_t>(16, size_of(operand_dtype(work, k)) * width))) return false;
    for (int d = 1; d < l.rank; ++d) {
      if (l.stride[k][d] % width != 0) return false;
    }
  }
  return true;
}

// Puts the dimension along which some inputs run, where the result does not, behind the first; 0 inputs: there is none.
uint32_t find_across(Layout& l, uint32_t on_host) {
  if (l.rank < 2 || l.stride[0][0] != 1 || l.size[0] < 16) return 0;
  for (int d = 1; d < l.rank; ++d) {
    uint32_t across = 0;
    int count = 0;
    for (int k = 1; k < l.operands; ++k) {
      if (on_host >> (k - 1) & 1) continue;
      if (l.stride[k][d] == 1 && l.stride[k][0] > 1) across |= 1u << (k - 1), ++count;
    }
    if (across == 0 || l.size[d] < 16) continue;
    if (count > kMostAcross) return 0;
    std::swap(l.size[1], l.size[d]);
    for (int k = 0; k < l.operands; ++k) std::swap(l.stride[k][1], l.stride[k][d]);
    return across;
  }
  return 0;
}

Variant choose(const Work& work, Layout& l, void* const* data, uint32_t on_host) {
  int64_t widest = 1, streamed = 1, read = 0;
  for (int k = 0; k < l.operands; ++k) {
    const int64_t item = size_of(operand_dtype(work, k));
    widest = std::max(widest, item);
    if (!is_streamed(l, k) || (k > 0 && on_host >> (k - 1) & 1)) continue;
    streamed = std::max(streamed, item);
    if (k > 0) read += item;
  }
  Variant v;
  const int64_t elements = l.elements();
  if (elements < kHuge) {
    v.across = find_across(l, on_host);
    if (v.across != 0) {
      v.tile = widest <= 4 ? 64 : 32;
      v.width = 4;
      return v;
    }
  }
  v.width = static_cast<int>(16 / streamed);
  if (!fits_width(work, l, data, on_host, v.width)) v.width = 1;
  v.unroll = v.width == 1 ? 4 : packs_at_once(read * v.width, kBytesAtOnce);
  v.whole = v.width > 1 && l.rank > 1;
  v.wide_index = elements / v.width >= kHuge;
  v.dense = v.width > 1 && l.rank == 1 && on_host == 0;
  for (int k = 0; k < l.operands; ++k) v.dense &= l.stride[k][0] == 1;
  if (v.dense) v.wide_index = false;
  return v;
}

// Conversions: of an input to what the expression computes in, and of its result to what is stored.
std::string element_function(const Work& work) {
  std::string parameters, arguments;
  for (int k = 0; k < work.inputs; ++k) parameters += fmt::format("In{} x{}, ", k, k);
  if (work.loops == nullptr) {
    return fmt::format("HOT Out element({}const Arguments&) {{ return as<Out>(x0); }}\n", parameters);
  }
  const PointwiseLoops& loops = *work.loops;
  const char* common = stored_type(work.common);
  for (int k = 0; k < work.inputs; ++k) {
    arguments += loops.mask_inputs >> k & 1 ? fmt::format("as<b8>(x{}).byte != 0, ", k)
                                            : fmt::format("as<V>(as<{}>(x{})), ", common, k);
  }
  for (int i = 0; i < loops.params; ++i) arguments += fmt::format("number<V>(a.numbers[{}]), ", i);
  const bool boolean = loops.result == LoopResult::boolean || work.compute == Compute::u8;
  const std::string call = fmt::format("word::op({}a.narrow_mode)", arguments);
  const std::string result = loops.result == LoopResult::boolean ? fmt::format("b8{{u8({})}}", call)
                             : boolean                           ? fmt::format("as<{}>(b8{{u8({})}})", common, call)
                             : loops.result == LoopResult::real
                                 ? fmt::format("as<{}>({})", stored_type(real_dtype(work.common)), call)
                                 : fmt::format("as<{}>({})", common, call);
  return fmt::format("HOT Out element({}const Arguments& a) {{ return as<Out>({}); }}\n", parameters, result);
}

std::string listed(const char* name, uint32_t inputs) {
  std::string out = fmt::format("#define {}(X)", name);
  for (int k = 0; k < kMaxOperands; ++k) {
    if (inputs >> k & 1) out += fmt::format(" X({})", k);
  }
  return out + "\n";
}

std::string source_of(const Work& work, const Variant& v) {
  const bool bits = work.loops == nullptr && work.out == work.in[0];
  std::string out;
  if (work.loops != nullptr) {
    const DeviceText& text = text_of(*work.loops);
    const char* expression = text.texts[static_cast<int>(class_of(work.compute))];
    SCONCE_ASSERT(expression != nullptr);
    out = vocabulary(class_of(work.compute) == Class::complex, text.specials, uses_special_vectors(expression));
    out += compute_lines(work.compute);
    out += fmt::format("namespace word {{\n{}}}\n", expression);
  } else {
    out = text_file("prelude");
  }
  const uint32_t all = (1u << work.inputs) - 1;
  for (int k = 0; k < work.inputs; ++k) {
    out += fmt::format("using In{} = {};\n", k, bits ? moved_type(size_of(work.in[k])) : stored_type(work.in[k]));
  }
  out += fmt::format("using Out = {};\n", bits ? moved_type(size_of(work.out)) : stored_type(work.out));
  out += fmt::format("#define WIDTH {}\n#define UNROLL {}\n#define WHOLE {}\nusing Index = {};\n", v.width, v.unroll,
                     v.whole ? 1 : 0, v.wide_index ? "u64" : "u32");
  out += listed("INPUTS", all);
  if (v.across != 0) {
    out += fmt::format("#define TILE {}\n", v.tile) + listed("ACROSS", v.across) + listed("ALONG", all & ~v.across);
  }
  out += text_file("pointwise_arguments");
  out += v.dense ? "#define DENSE 1\nusing Arguments = DenseArguments;\n" : "using Arguments = PointwiseArguments;\n";
  out += element_function(work);
  out += text_file("pointwise");
  return out;
}

// Short, and different for every text. Written into `room`: nothing is allocated.
std::string_view key_of(const Work& work, const Variant& v, fmt::memory_buffer& room) {
  auto to = std::back_inserter(room);
  const bool bits = work.loops == nullptr && work.out == work.in[0];
  if (bits) {
    fmt::format_to(to, "move/{}", size_of(work.out));
  } else {
    fmt::format_to(to, "{}/{}/{}", work.loops ? text_of(*work.loops).name : "copy", static_cast<int>(work.compute),
                   static_cast<int>(work.out));
    for (int k = 0; k < work.inputs; ++k) fmt::format_to(to, ",{}", static_cast<int>(work.in[k]));
    if (work.loops) fmt::format_to(to, "/{}", static_cast<int>(work.common));
  }
  fmt::format_to(to, "/{}.{}.{}{}.{}.{}", v.width, v.unroll,
                 v.dense        ? 1
                 : v.wide_index ? 64
                                : 32,
                 v.whole ? "w" : "", v.across, v.tile);
  return {room.data(), room.size()};
}

const char* entry_of(const Variant& v) { return v.across != 0 ? "across" : v.dense ? "dense" : "pointwise"; }

struct TextRequest {
  const Work* work;
  const Variant* variant;
};

// Kernels that this thread asked for last, by what decides about their text: spares small calls the writing and hashing
// of a key, half a microsecond.
struct Remembered {
  const void* mark = nullptr;
  const void* loops = nullptr;
  uint64_t dtypes = 0, variant = 0;
  const Kernel* kernel = nullptr;
};
constexpr size_t kRemembered = 64;

const Kernel& find_by_text(const Work& work, const Variant& v, Device device);

const Kernel& kernel_of(const Work& work, const Variant& v, Device device) {
  // On the heap: a library that is opened late has little room for variables of threads.
  thread_local std::unique_ptr<Remembered[]> remembered;
  if (!remembered) remembered = std::make_unique<Remembered[]>(kRemembered);
  Remembered now;
  now.mark = kernels_mark();
  now.loops = work.loops;
  now.dtypes = static_cast<uint8_t>(work.out);
  for (int k = 0; k < work.inputs; ++k) now.dtypes = now.dtypes << 8 | static_cast<uint8_t>(work.in[k]);
  now.variant = static_cast<uint64_t>(work.common) << 48 | static_cast<uint64_t>(device.index & 0xff) << 40 |
                static_cast<uint64_t>(work.compute) << 32 | v.across << 16 | static_cast<uint64_t>(v.tile == 64) << 15 |
                static_cast<uint64_t>(v.width) << 8 | static_cast<uint64_t>(v.unroll) << 4 | (v.whole ? 4 : 0) |
                (v.wide_index ? 2 : 0) | (v.dense ? 1 : 0);
  const uint64_t mixed = (reinterpret_cast<uintptr_t>(now.loops) >> 4) * 31 + now.dtypes * 7 + now.variant * 13;
  Remembered& last = remembered[(mixed ^ mixed >> 17) % kRemembered];
  if (last.kernel != nullptr && last.mark == now.mark && last.loops == now.loops && last.dtypes == now.dtypes &&
      last.variant == now.variant)
    return *last.kernel;
  now.kernel = &find_by_text(work, v, device);
  now.mark = kernels_mark();
  last = now;
  return *now.kernel;
}

const Kernel& find_by_text(const Work& work, const Variant& v, Device device) {
  fmt::memory_buffer room;
  const TextRequest request{&work, &v};
  return find_kernel(
      device, key_of(work, v, room), [&request] { return source_of(*request.work, *request.variant); }, entry_of(v));
}

constexpr int64_t kLongEnough = 1 << 20;  // elements

void launch_dense(const Work& work, const Variant& v, const PointwiseArguments& a, int64_t elements, const char* name,
                  Device device) {
  DenseArguments d;
  for (int k = 0; k <= work.inputs; ++k) d.data[k] = a.data[k];
  d.elements = elements;
  d.narrow_mode = a.narrow_mode;
  for (int i = 0; work.loops != nullptr && i < work.loops->params; ++i) d.numbers[i] = a.numbers[i];
  const int64_t tile = int64_t{kThreads} * v.unroll * v.width;
  Shape shape;
  shape.grid_x = static_cast<unsigned>((elements + tile - 1) / tile);
  shape.block_x = kThreads;
  // The way of a large kernel's first blocks to the GPU is hidden behind the last of the kernel before it; the host
  // needs longer to ask for that, which small ones would feel.
  shape.is_dependent = elements >= kLongEnough;
  launch(device, kernel_of(work, v, device), shape, &d, sizeof d, name);
}

void launch_layout(const Work& work, const Layout& l, const Variant& v, PointwiseArguments& a, const char* name,
                   Device device) {
  if (v.dense) return launch_dense(work, v, a, l.elements(), name, device);
  a.rank = l.rank;
  a.elements = l.elements();
  a.packs = l.rank == 1 ? (a.elements + v.width - 1) / v.width : a.elements / v.width;
  for (int d = 0; d < l.rank; ++d) {
    const int64_t size = d == 0 && v.across == 0 ? (l.size[0] + v.width - 1) / v.width : l.size[d];
    a.size[d] = static_cast<u32>(size);
    if (size < kHuge) {
      const Division division = division_by(a.size[d]);
      a.magic[d] = division.magic;
      a.shift[d] = division.shift;
    }
    for (int k = 0; k < l.operands; ++k) a.stride[k][d] = l.stride[k][d];
  }
  const Kernel& kernel = kernel_of(work, v, device);
  Shape shape{.block_x = kThreads};
  if (v.across == 0) {
    shape.grid_x = static_cast<unsigned>((a.packs + kThreads * v.unroll - 1) / (kThreads * v.unroll));
  } else {
    a.columns = a.size[0];
    a.rows = a.size[1];
    a.column_tiles = (a.columns + v.tile - 1) / v.tile;
    a.row_tiles = (a.rows + v.tile - 1) / v.tile;
    shape.grid_x = a.column_tiles * a.row_tiles;
    for (int d = 2; d < l.rank; ++d) shape.grid_x *= a.size[d];
  }
  launch(device, kernel, shape, &a, sizeof a, name);
}

// More dimensions than an argument has room for: one launch for each element of the outermost.
void launch_outer(const Work& work, Layout& l, PointwiseArguments& a, const char* name, Device device) {
  if (l.rank > kArgumentRank) {
    const int outer = --l.rank;
    const PointwiseArguments start = a;
    for (int64_t i = 0; i < l.size[outer]; ++i) {
      PointwiseArguments part = start;
      for (int k = 0; k < l.operands; ++k) {
        if (k > 0 && a.on_host >> (k - 1) & 1) continue;
        part.data[k] = static_cast<char*>(start.data[k]) + i * l.stride[k][outer] * size_of(operand_dtype(work, k));
      }
      Layout inner = l;
      launch_outer(work, inner, part, name, device);
    }
    return;
  }
  const Variant v = choose(work, l, a.data, a.on_host);
  if (v.across != 0) {
    a.packed = is_aligned(a.data[0], size_of(work.out) * 4);
    for (int d = 1; d < l.rank; ++d) a.packed &= l.stride[0][d] % 4 == 0;
    for (int k = 1; k < l.operands; ++k) {
      if (a.on_host >> (k - 1) & 1) continue;
      const bool is_across = v.across >> (k - 1) & 1;
      a.packed &= is_aligned(a.data[k], size_of(work.in[k - 1]) * 4);
      for (int d = 0; d < l.rank; ++d) {
        if (d == (is_across ? 1 : 0)) continue;
        a.packed &= l.stride[k][d] % 4 == 0;
      }
      if (!is_across && l.stride[k][0] != 1 && l.stride[k][0] != 0) a.packed = 0;
    }
  }
  launch_layout(work, l, v, a, name, device);
}

Work work_of(const PointwiseCall& call) {
  Work work;
  work.loops = &call.loops;
  work.common = call.common;
  work.compute = compute_type(call.common);
  const auto has = [&](Compute c) { return call.loops.loops[0][static_cast<int>(c)] != nullptr; };
  if (!has(work.compute) && call.common == DType::bool_) work.compute = Compute::i32;  // as on the CPU
  SCONCE_CHECK_AS(not_implemented, has(work.compute), "{}: not implemented for {}", call.loops.name,
                  dtype_name(call.common));
  work.out = call.out.dtype;
  work.inputs = call.loops.inputs;
  for (int k = 0; k < work.inputs; ++k) work.in[k] = call.in[k].dtype;
  return work;
}

Layout layout_of_call(std::span<const int64_t> sizes, const Operand& out, std::span<const Operand> in) {
  const Operand* operands[kMaxOperands] = {&out};
  for (size_t k = 0; k < in.size(); ++k) operands[k + 1] = &in[k];
  return layout_of(sizes, operands, static_cast<int>(in.size()) + 1);
}

void put_operands(PointwiseArguments& a, const Operand& out, std::span<const Operand> in, uint32_t on_host) {
  a.data[0] = out.data;
  a.on_host = on_host;
  for (size_t k = 0; k < in.size(); ++k) {
    a.data[k + 1] = in[k].data;
    if (on_host >> k & 1) std::memcpy(a.element[k], in[k].data, item_size(in[k].dtype));
  }
}

Work copy_work(const Operand& out, const Operand& in) {
  Work work;
  work.out = out.dtype;
  work.in[0] = in.dtype;
  return work;
}

PointwiseText text_for(const Work& work, Layout l, const Operand& out, std::span<const Operand> in, uint32_t on_host) {
  void* data[kMaxOperands] = {out.data};
  for (size_t k = 0; k < in.size(); ++k) data[k + 1] = in[k].data;
  const Variant v = choose(work, l, data, on_host);
  fmt::memory_buffer room;
  return {std::string(key_of(work, v, room)), source_of(work, v), entry_of(v)};
}

}  // namespace

void pointwise(const PointwiseCall& call, Device device) {
  const Work work = work_of(call);
  PointwiseArguments a;
  put_operands(a, call.out, call.in, call.on_host);
  a.narrow_mode = call.common == DType::float16 ? 1 : call.common == DType::bfloat16 ? 2 : 0;
  for (int i = 0; i < call.loops.params; ++i) {
    a.numbers[i] = {call.params[i].real, call.params[i].imag, call.params[i].integer};
  }
  Layout l = layout_of_call(call.sizes, call.out, call.in);
  launch_outer(work, l, a, call.loops.name, device);
}

void copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in, Device device) {
  PointwiseArguments a;
  put_operands(a, out, {&in, 1}, 0);
  Layout l = layout_of_call(sizes, out, {&in, 1});
  launch_outer(copy_work(out, in), l, a, "copy", device);
}

void fill(std::span<const int64_t> sizes, const Operand& out, const void* element, Device device) {
  static constexpr int64_t kNone[kMaxRank] = {};
  const Operand in{const_cast<void*>(element), out.dtype, kNone};
  PointwiseArguments a;
  put_operands(a, out, {&in, 1}, 1);
  Layout l = layout_of_call(sizes, out, {&in, 1});
  launch_outer(copy_work(out, in), l, a, "fill", device);
}

PointwiseText pointwise_text(const PointwiseCall& call) {
  return text_for(work_of(call), layout_of_call(call.sizes, call.out, call.in), call.out, call.in, call.on_host);
}

PointwiseText copy_text(std::span<const int64_t> sizes, const Operand& out, const Operand& in) {
  return text_for(copy_work(out, in), layout_of_call(sizes, out, {&in, 1}), out, {&in, 1}, 0);
}

}  // namespace sconce::cuda
