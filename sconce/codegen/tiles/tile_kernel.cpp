#include "sconce/codegen/tiles/tile_kernel.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/codegen/blocks.h"

namespace sconce::codegen {
namespace {

SCONCE_VARIANT(streamed, "nest.stream", "results of 16 MB or more that no input overlaps, of cheap loops");
SCONCE_VARIANT(in_one_run, "nest.linear", "all buffers dense, or one element each");
SCONCE_VARIANT(own_block, "nest.block.own", "blocks of rows in which another operand is one element than in the whole");

using loops::Nest;

constexpr int64_t kStreamBytes = int64_t{16} << 20;  // as eager's engine: larger results bypass the caches

// The elements that are worth a thread: fewer where a nest does more for each.
int64_t grain_of(const Nest& nest) {
  int64_t work = 0;
  for (const loops::LoopCall& call : nest.calls) work += call.loops && call.loops->math ? 6 : 1;
  return std::max<int64_t>(kTileElements, kParallelGrain / std::max<int64_t>(1, work) / kTileElements * kTileElements);
}

class TileKernel final : public Kernel {
 public:
  TileKernel(const Nest& nest, Scheduler scheduler)
      : Kernel(nest_has_blocks(nest)),
        nest_(nest),
        walk_(nest),
        program_(make_program(nest, scheduler, walk_.uniform)),
        grain_(grain_of(nest)) {
    int64_t written = 0;
    for (const loops::Store& s : nest.stores)
      written += nest.numel() * static_cast<int64_t>(item_size(nest.buffers[s.buffer].dtype));
    streams_ = written >= kStreamBytes && !program_.is_heavy();
    if (!has_blocks()) return;
    // In a block of several rows, what is one element of a row is not one element.
    uint32_t uniform = 0;
    for (size_t k = 0; k < nest.buffers.size(); ++k) {
      block_access_[k] = block_access(nest, k);
      if (block_access_[k].row_stride == 0 && block_access_[k].column_stride == 0) uniform |= 1u << k;
    }
    if (own_block(uniform != walk_.uniform))
      block_ = std::make_unique<TileProgram>(make_program(nest, scheduler, uniform));
  }

  void run(void* const* buffers) const override {
    if (walk_.empty) return;
    bool stream = streams_;
    if (stream) {  // lines that are read anyway cost nothing to write
      for (const loops::Store& s : nest_.stores) {
        for (size_t k = 0; k < nest_.buffers.size(); ++k)
          stream &= k == s.buffer ? !reads(k) : buffers[k] != buffers[s.buffer];
      }
    }
    streamed(stream);
    if (in_one_run(walk_.linear)) {
      const int64_t n = walk_.columns(), pieces = (n + kTileElements - 1) / kTileElements;
      parallel_for(pieces, grain_ / kTileElements, [&](int64_t begin, int64_t end) {
        program_.run_linear(walk_, buffers, begin * kTileElements, std::min(n, end * kTileElements), stream);
      });
      return;
    }
    const int64_t tile = walk_.tile_rows * walk_.tile_columns;
    parallel_for(walk_.tiles(), std::max<int64_t>(1, grain_ / tile),
                 [&](int64_t begin, int64_t end) { program_.run_tiles(walk_, buffers, begin, end, stream); });
  }

  void run_block(void* const* buffers, int64_t row, int64_t column, int64_t rows, int64_t columns) const override {
    check_block(nest_, has_blocks(), row, column, rows, columns);
    char* data[loops::kMaxBuffers];
    for (size_t k = 0; k < nest_.buffers.size(); ++k) {
      data[k] =
          static_cast<char*>(buffers[k]) + row * block_access_[k].row_stride + column * block_access_[k].column_stride;
    }
    (block_ ? *block_ : program_).run_block(block_access_, data, rows, columns);
  }

  std::string to_string() const override { return program_.to_string(nest_); }
  size_t code_bytes() const override { return program_.code_bytes() + (block_ ? block_->code_bytes() : 0); }

 private:
  static TileProgram make_program(const Nest& nest, Scheduler scheduler, uint32_t uniform) {
    TileGraph graph = lower(nest, uniform);
    TileSchedule schedule = scheduler(nest, graph);
    return TileProgram(nest, std::move(graph), std::move(schedule));
  }

  bool reads(size_t buffer) const {
    for (const loops::LoopCall& call : nest_.calls) {
      for (const loops::Source& s : call.inputs) {
        if (s == loops::from_buffer(buffer)) return true;
      }
    }
    return false;
  }

  Nest nest_;
  TileWalk walk_;
  TileProgram program_;
  std::unique_ptr<TileProgram> block_;  // null: program_ serves blocks, too
  TileAccess block_access_[loops::kMaxBuffers] = {};
  int64_t grain_;
  bool streams_;
};

}  // namespace

std::shared_ptr<const Kernel> make_tile_kernel(const Nest& nest, Scheduler scheduler) {
  return std::make_shared<TileKernel>(nest, scheduler);
}

}  // namespace sconce::codegen
