#include "sconce/kernels/cuda/index_kernels.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/layout.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/indexed_arguments.cuh"

constexpr int kArgumentRank = 8;
constexpr size_t kMostIndices = 8;
constexpr int64_t kMostBlocks = 1 << 20;
constexpr const char* kJoins[] = {"", "", "Plus", "Times", "Larger", "Smaller"};

struct Variant {
  DType dtype;
  IndexMode mode;
  size_t indices;
  bool wraps;
};

std::string source_of(const Variant& v) {
  std::string out(text_file("prelude"));
  out += text_file("errors");
  const bool moves = v.mode == IndexMode::read || v.mode == IndexMode::assign;
  out += fmt::format("using T = {};\nusing I = i64;\n#define INDICES {}\n#define WRAPS {}\n",
                     moves ? moved_type(static_cast<int64_t>(item_size(v.dtype))) : stored_type(v.dtype), v.indices,
                     v.wraps ? "true" : "false");
  if (v.mode == IndexMode::read) out += "#define READ 1\n";
  if (v.mode == IndexMode::assign) out += "#define ASSIGN 1\n";
  if (!moves) {
    out += text_file("atomics");
    out += fmt::format("using Join = {};\n", kJoins[static_cast<int>(v.mode)]);
  }
  out += text_file("indexed_arguments");
  out += text_file("indexed");
  return out;
}

}  // namespace

void launch_indexed(const IndexedCall& call) {
  const Device device = call.self->device();
  SCONCE_CHECK(call.indices.size() <= kMostIndices, "{}: at most {} index tensors on CUDA, got {}", call.name,
               kMostIndices, call.indices.size());
  const DType dtype = call.self->dtype();
  SCONCE_CHECK_AS(not_implemented,
                  dtype != DType::complex128 || call.mode == IndexMode::read || call.mode == IndexMode::assign ||
                      call.mode == IndexMode::add,
                  "{}: not implemented for complex128 on CUDA", call.name);
  static constexpr int64_t kNone[kMaxRank] = {};
  Operand operands[kMostIndices + 2];
  const Operand* pointers[kMostIndices + 2];
  operands[0] = {nullptr, dtype, call.single ? kNone : call.value_strides};
  operands[1] = {nullptr, dtype, call.self_strides};
  for (size_t k = 0; k < call.indices.size(); ++k) operands[k + 2] = {nullptr, DType::int64, call.indices[k].strides};
  for (size_t k = 0; k < call.indices.size() + 2; ++k) pointers[k] = &operands[k];
  const Layout l =
      layout_of({call.sizes.data(), call.sizes.size()}, pointers, static_cast<int>(call.indices.size()) + 2);
  SCONCE_CHECK(l.rank <= kArgumentRank, "{}: tensors whose dimensions merge to more than {} are not indexed on CUDA",
               call.name, kArgumentRank);
  IndexedArguments a{};
  a.elements = l.elements();
  if (a.elements == 0) return;
  a.values = call.single ? nullptr : call.values->data();
  a.self = call.self->data();
  a.on_host = call.single != nullptr;
  if (call.single) std::memcpy(a.element, call.single, item_size(dtype));
  a.rank = l.rank;
  for (int d = 0; d < l.rank; ++d) {
    SCONCE_CHECK(l.size[d] < (int64_t{1} << 31), "{}: a dimension of {} elements is too large for CUDA", call.name,
                 l.size[d]);
    a.size[d] = static_cast<u32>(l.size[d]);
    const Division division = division_by(a.size[d]);
    a.magic[d] = division.magic;
    a.shift[d] = division.shift;
    a.value_stride[d] = l.stride[0][d];
    a.self_stride[d] = l.stride[1][d];
    for (size_t k = 0; k < call.indices.size(); ++k) a.index_stride[k][d] = l.stride[k + 2][d];
  }
  for (size_t k = 0; k < call.indices.size(); ++k) {
    a.index[k] = call.indices[k].index->data();
    a.extent[k] = call.indices[k].extent;
    a.extent_stride[k] = call.indices[k].extent_stride;
  }
  a.word = error_word(device);
  a.number = operator_number(call.name);
  const Variant v{dtype, call.mode, call.indices.size(), call.wraps};
  const bool moves = v.mode == IndexMode::read || v.mode == IndexMode::assign;
  fmt::memory_buffer room;
  fmt::format_to(std::back_inserter(room), "indexed/{}/{}{}/{}{}", static_cast<int>(v.mode), moves ? "b" : "",
                 moves ? static_cast<int>(item_size(dtype)) : static_cast<int>(dtype), v.indices, v.wraps ? "w" : "");
  const Kernel& kernel = find_kernel(device, {room.data(), room.size()}, [&v] { return source_of(v); }, "indexed");
  Shape shape;
  shape.grid_x = static_cast<unsigned>(std::min(kMostBlocks, (static_cast<int64_t>(a.elements) + 255) / 256));
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, call.name);
}

IndexMode mode_from_name(std::string_view name) {
  if (name == "sum" || name == "add") return IndexMode::add;
  if (name == "prod" || name == "multiply") return IndexMode::multiply;
  if (name == "amax") return IndexMode::larger;
  if (name == "amin") return IndexMode::smaller;
  fail("reduce argument must be either sum, prod, mean, amax or amin, got {}", name);
}

}  // namespace sconce::cuda
