#include "sconce/kernels/cuda/reduction_engine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/counters.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/layout.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/reduce_arguments.cuh"

constexpr int kArgumentRank = 8;
// Of 256 threads: 1,000 on each of an H200's multiprocessors draw 64 M floats in 63.6 us, 2,000 in 65 to 69; more
// splits only cost merging.
constexpr int64_t kBlocks = 512;
constexpr int64_t kLeastChunk = 16384;    // elements of a split of rows
constexpr int64_t kLeastColumn = 64;      // rows of a split of columns
constexpr int64_t kColumnBlocks = 512;    // that fit on a device at once: a second wave of them would be short
constexpr int64_t kStateRoom = 40 << 10;  // bytes of shared memory for the states of a block of columns

struct Variant {
  bool rows;
  int width;
  int tx, ty;  // rows: threads of an output, outputs of a block; columns: ty threads share an output's rows
  bool wide;   // places need more than 32 bits
};

struct Work {
  const ReduceLoops* loops;
  const DeviceText* text;  // null: hand-written
  Compute compute;
  DType common, in, out[2];
};

int64_t size_of(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

Compute compute_for(const ReduceCall& call) {
  const auto has = [&](Compute c) { return call.loops.kernels[0][static_cast<int>(c)] != nullptr; };
  switch (category(call.common)) {
    case Category::boolean:
      return has(Compute::u8) ? Compute::u8 : Compute::i64;
    case Category::integral:
      return Compute::i64;
    case Category::complex:
      return call.common == DType::complex64 ? Compute::c64 : Compute::c128;
    default:
      break;
  }
  // What is counted in floats must stay whole.
  const bool counts = call.loops.indices == 0 && call.out[0].dtype == DType::int64;
  return call.common == DType::float64 || counts ? Compute::f64 : Compute::f32;
}

int64_t state_size(const Work& work) {
  constexpr int64_t kSizes[kComputeTypes] = {4, 8, 4, 8, 1, 8, 16};
  const int64_t v = kSizes[static_cast<int>(work.compute)];
  return work.text == nullptr ? 24 : std::max<int64_t>(8, (work.loops->states + 1) * v + v);
}

// The kept and the reduced dimensions, each sorted and merged.
struct Dimensions {
  Layout kept, reduced;  // operands of kept: in, out 0, out 1; of reduced: in
};

Dimensions dimensions_of(const ReduceCall& call) {
  int64_t kept_sizes[kMaxRank], reduced_sizes[kMaxRank], kept_strides[3][kMaxRank], reduced_strides[kMaxRank];
  size_t kept = 0, reduced = 0;
  for (size_t d = 0; d < call.sizes.size(); ++d) {
    if (call.reduced[d]) {
      reduced_sizes[reduced] = call.sizes[d];
      reduced_strides[reduced++] = call.in.strides[d];
      continue;
    }
    kept_sizes[kept] = call.sizes[d];
    kept_strides[0][kept] = call.in.strides[d];
    for (size_t r = 0; r < call.out.size(); ++r) kept_strides[r + 1][kept] = call.out[r].strides[d];
    ++kept;
  }
  Operand operands[3];
  const Operand* pointers[3];
  for (int k = 0; k < 3; ++k) {
    operands[k] = {nullptr, call.in.dtype, kept_strides[k]};
    pointers[k] = &operands[k];
  }
  const Operand in{nullptr, call.in.dtype, reduced_strides};
  const Operand* only[] = {&in};
  Dimensions d;
  d.kept = layout_of({kept_sizes, kept}, pointers, static_cast<int>(call.out.size()) + 1);
  // Places count in the order of the dimensions.
  d.reduced = call.loops.ordered ? layout_in_order({reduced_sizes, reduced}, only, 1)
                                 : layout_of({reduced_sizes, reduced}, only, 1);
  return d;
}

bool fits_width(const Layout& l, const Layout& other, const void* data, int64_t item, int width, bool any_tail) {
  if (l.stride[0][0] != 1 || reinterpret_cast<uintptr_t>(data) % (item * width) != 0) return false;
  if (l.size[0] % width != 0 && !(any_tail && l.rank == 1)) return false;
  for (int d = 1; d < l.rank; ++d) {
    if (l.stride[0][d] % width != 0) return false;
  }
  for (int d = 0; d < other.rank; ++d) {
    if (other.size[d] > 1 && other.stride[0][d] % width != 0) return false;
  }
  return true;
}

Variant choose(const Work& work, const Dimensions& d, const void* data) {
  const int64_t outputs = d.kept.elements(), count = d.reduced.elements();
  const bool by_rows = outputs == 1 || (d.reduced.size[0] > 1 &&
                                        (d.reduced.stride[0][0] < d.kept.stride[0][0] || d.kept.stride[0][0] == 0));
  const int64_t item = size_of(work.in);
  const int wide = static_cast<int>(std::min<int64_t>(8, 16 / item));
  Variant v{by_rows, 1, 0, 0, outputs > UINT32_MAX || count > UINT32_MAX};
  if (by_rows) {
    if (wide > 1 && fits_width(d.reduced, d.kept, data, item, wide, true)) v.width = wide;
    v.tx = count <= 1024 ? 32 : count <= 8192 ? 128 : 256;
    v.ty = 256 / v.tx;
  } else {
    const int narrow = static_cast<int>(std::min<int64_t>(4, wide));
    v.ty = 8;
    if (narrow > 1 && outputs >= 32 * narrow && fits_width(d.kept, d.reduced, data, item, narrow, false))
      v.width = narrow;
    while (v.ty > 1 && state_size(work) * 32 * v.width * v.ty > kStateRoom) v.ty /= 2;
  }
  return v;
}

std::string source_of(const Work& work, const Variant& v) {
  const bool complex = class_of(work.compute) == Class::complex;
  const char* text = work.text ? work.text->texts[static_cast<int>(class_of(work.compute))] : "";
  SCONCE_ASSERT(text != nullptr);
  std::string out = vocabulary(complex, 0, false) + compute_lines(work.compute);
  out += fmt::format("namespace word {{\n{}}}\nusing namespace word;\n", text);
  out += fmt::format("using In = {};\nusing Out0 = {};\nusing Out1 = {};\n#define RESULTS {}\n", stored_type(work.in),
                     stored_type(work.out[0]), stored_type(work.out[1]), work.loops->results);
  out += fmt::format("DEVICE V load(In x) {{ return as<V>(as<{}>(x)); }}\n", stored_type(work.common));
  out += text_file("reduce_arguments");
  out += text_file("block");
  if (work.text) {
    out += text_file("reduce_table");
  } else {
    const std::string_view name = work.loops->name;
    out += fmt::format("#define LARGEST {}\n#define RESULT_INDEX {}\n", name.find("max") != name.npos ? 1 : 0,
                       work.loops->results - 1);
    out += text_file("reduce_index");
  }
  out += fmt::format("#define WIDTH {}\n#define WIDE {}\n", v.width, v.wide ? 1 : 0);
  out += v.rows ? fmt::format("#define ROWS\n#define TX {}\n#define TY {}\n", v.tx, v.ty)
                : fmt::format("#define BY {}\n", v.ty);
  out += text_file("reduce");
  return out;
}

std::string_view key_of(const Work& work, const Variant& v, fmt::memory_buffer& room) {
  fmt::format_to(std::back_inserter(room), "reduce/{}/{}/{}.{}.{}.{}/{}{}.{}.{}{}",
                 work.text ? work.text->name : work.loops->name, static_cast<int>(work.compute),
                 static_cast<int>(work.common), static_cast<int>(work.in), static_cast<int>(work.out[0]),
                 static_cast<int>(work.out[1]), v.rows ? "rows" : "columns", v.width, v.tx, v.ty, v.wide ? "w" : "");
  if (work.text == nullptr) fmt::format_to(std::back_inserter(room), "/{}", work.loops->results);
  return {room.data(), room.size()};
}

const char* entry_of(const Variant& v) { return v.rows ? "rows" : "columns"; }

Work work_of(const ReduceCall& call) {
  Work work{&call.loops, text_of(call.loops), compute_for(call), call.common, call.in.dtype, {}};
  for (size_t r = 0; r < 2; ++r) work.out[r] = call.out[std::min(r, call.out.size() - 1)].dtype;
  if (work.text) {
    SCONCE_CHECK_AS(not_implemented, work.text->texts[static_cast<int>(class_of(work.compute))] != nullptr,
                    "\"{}\" not implemented for '{}'", call.loops.name, dtype_legacy_name(call.common));
  }
  return work;
}

struct TextRequest {
  const Work* work;
  const Variant* variant;
};

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

void reduce(const ReduceCall& call, Device device) {
  const Work work = work_of(call);
  const Dimensions d = dimensions_of(call);
  SCONCE_CHECK(d.kept.rank <= kArgumentRank && d.reduced.rank <= kArgumentRank,
               "{}: a tensor whose dimensions merge to more than {} cannot be reduced on CUDA", call.loops.name,
               kArgumentRank);
  const Variant v = choose(work, d, call.in.data);
  ReduceArguments a{};
  a.in = call.in.data;
  for (size_t r = 0; r < call.out.size(); ++r) a.out[r] = call.out[r].data;
  a.outputs = d.kept.elements();
  a.count = d.reduced.elements();
  for (const int64_t size : call.sizes) {
    if (size == 0) a.count = 0;
  }
  a.kept_rank = d.kept.rank;
  a.reduced_rank = d.reduced.rank;
  for (int k = 0; k < d.kept.rank; ++k) {
    a.kept_size[k] = d.kept.size[k];
    a.kept_in[k] = d.kept.stride[0][k];
    for (size_t r = 0; r < call.out.size(); ++r) a.kept_out[r][k] = d.kept.stride[r + 1][k];
  }
  for (int k = 0; k < d.reduced.rank; ++k) {
    a.reduced_size[k] = d.reduced.size[k];
    a.reduced_in[k] = d.reduced.stride[0][k];
  }
  for (int i = 0; i < call.loops.params; ++i) {
    a.numbers[i] = {call.params[i].real, call.params[i].imag, call.params[i].integer};
  }

  // Splits: by sizes alone, so that the order of a sum does not depend on the device.
  const int64_t blocks = v.rows ? (a.outputs + v.ty - 1) / v.ty : (a.outputs + 32 * v.width - 1) / (32 * v.width);
  const int64_t least = v.rows ? kLeastChunk : kLeastColumn;
  const int64_t unit = v.rows ? int64_t{v.tx} * v.width * 4 : int64_t{v.ty} * 4;
  int64_t splits =
      std::clamp<int64_t>(a.count / least, 1, std::max<int64_t>(1, (v.rows ? kBlocks : kColumnBlocks) / blocks));
  if (blocks > kCounters) splits = 1;
  a.chunk = std::max(rounded_up((a.count + splits - 1) / splits, unit), unit);
  splits = std::max<int64_t>(1, (a.count + a.chunk - 1) / a.chunk);
  a.splits = static_cast<u32>(splits);
  std::optional<Scratch> memory;
  if (splits > 1) {
    memory.emplace(scratch(device, static_cast<size_t>(splits * a.outputs * state_size(work))));
    a.partial = memory->data();
    a.counters = counters(device);
  }
  fmt::memory_buffer room;
  const TextRequest request{&work, &v};
  const Kernel& kernel = find_kernel(
      device, key_of(work, v, room), [&request] { return source_of(*request.work, *request.variant); }, entry_of(v));
  Shape shape;
  shape.grid_x = static_cast<unsigned>(blocks);
  shape.grid_y = a.splits;
  shape.block_x = v.rows ? static_cast<unsigned>(v.tx) : 32;
  shape.block_y = static_cast<unsigned>(v.ty);
  launch(device, kernel, shape, &a, sizeof a, call.loops.name);
}

ReductionText reduction_text(const ReduceCall& call) {
  const Work work = work_of(call);
  const Variant v = choose(work, dimensions_of(call), call.in.data);
  fmt::memory_buffer room;
  return {std::string(key_of(work, v, room)), source_of(work, v), entry_of(v)};
}

}  // namespace sconce::cuda
