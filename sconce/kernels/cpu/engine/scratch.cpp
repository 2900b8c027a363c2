#include "sconce/kernels/cpu/engine/scratch.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/base/thread_exit.h"
#include "sconce/kernels/cpu/engine/scratch_memory.h"
#include "sconce/tensor/memory/memory_source.h"

namespace sconce {
namespace {

constexpr std::align_val_t alignment{64};
constexpr size_t smallest_block = size_t{1} << 20;  // so that small requests share one block
constexpr size_t most_kept = size_t{64} << 20;      // a thread gives back memory beyond this when it is done

struct Block {
  std::byte* data;
  size_t size;
};

// Who pays for a block: the budget of the call, if the block goes when the call is done. A thread's own are not the
// program's affair.
Budget* payer_of(size_t size) { return size > most_kept ? Budget::active() : nullptr; }

struct Blocks : std::vector<Block> {
  ~Blocks() { shrink(0); }
  void shrink(size_t count) {
    for (; size() > count; pop_back()) {
      operator delete(back().data, alignment);
      if (Budget* budget = payer_of(back().size)) budget->give_tensor_memory(back().size);
    }
  }
};

thread_local constinit Blocks* thread_blocks = nullptr;  // made when the first is taken
thread_local constinit ThreadExit free_blocks{[]() noexcept {
  delete thread_blocks;
  thread_blocks = nullptr;
}};

// How often give_back_scratch was called, and how often when this thread last did what it asks for.
constinit std::atomic<unsigned> wanted_back{0};
thread_local constinit unsigned given_back = 0;

}  // namespace

void give_back_scratch() noexcept { wanted_back.fetch_add(1, std::memory_order_relaxed); }

thread_local constinit Scratch::Top Scratch::top{};

void Scratch::refuse() { throw std::bad_alloc(); }

void* Scratch::take_from_next_block(size_t bytes) {
  if (!thread_blocks) {
    at_thread_exit(free_blocks);
    thread_blocks = new Blocks;
  }
  Blocks& blocks = *thread_blocks;
  size_t next = blocks.empty() ? 0 : top.block + 1;
  while (next < blocks.size() && blocks[next].size < bytes) next++;
  if (next == blocks.size()) {
    const size_t size = takes_exact_blocks() ? bytes : std::max(bytes, smallest_block);
    if (Budget* budget = payer_of(size)) budget->take_tensor_memory(size);
    blocks.reserve(next + 1);
    blocks.push_back({static_cast<std::byte*>(operator new(size, alignment)), size});
  }
  top = {blocks[next].data, blocks[next].size, next, bytes};
  return top.data;
}

void Scratch::release() {
  Blocks& blocks = *thread_blocks;
  top = {blocks[block_].data, blocks[block_].size, block_, used_};
  if (takes_exact_blocks()) {
    blocks.shrink(block_ + (used_ != 0 ? 1 : 0));
    if (used_ == 0) top = {};
    return;
  }
  if (block_ != 0 || used_ != 0) return;
  size_t held = 0, count = 0;
  const unsigned wanted = wanted_back.load(std::memory_order_relaxed);
  const bool keeps = std::exchange(given_back, wanted) == wanted;
  while (keeps && count < blocks.size() && held + blocks[count].size <= most_kept) held += blocks[count++].size;
  blocks.shrink(count);
  if (count == 0) top = {};
}

}  // namespace sconce
