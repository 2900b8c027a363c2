#include "sconce/kernels/cpu/scratch.h"

#include <algorithm>
#include <new>
#include <vector>

namespace sconce {
namespace {

constexpr size_t alignment = 64;
constexpr size_t smallest_block = size_t{1} << 20;
constexpr size_t most_kept = size_t{64} << 20;  // a thread gives back what it holds beyond this when it is done

struct Block {
  std::byte* data;
  size_t size;
};

struct Stack {
  std::vector<Block> blocks;
  size_t block = 0, used = 0;  // blocks before `block` are full, `used` bytes of that one are taken

  ~Stack() { shrink(0); }

  void shrink(size_t count) {
    for (; blocks.size() > count; blocks.pop_back()) operator delete(blocks.back().data, std::align_val_t{alignment});
  }

  void* take(size_t bytes) {
    bytes = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    while (block < blocks.size() && blocks[block].size - used < bytes) {
      block++;
      used = 0;
    }
    if (block == blocks.size()) {
      size_t size = std::max(bytes, smallest_block);
      blocks.reserve(blocks.size() + 1);
      blocks.push_back({static_cast<std::byte*>(operator new(size, std::align_val_t{alignment})), size});
    }
    void* result = blocks[block].data + used;
    used += bytes;
    return result;
  }

  void release(size_t to_block, size_t to_used) {
    block = to_block;
    used = to_used;
    if (block != 0 || used != 0) return;
    size_t held = 0, count = 0;
    while (count < blocks.size() && held + blocks[count].size <= most_kept) held += blocks[count++].size;
    shrink(count);
  }
};

thread_local Stack stack;

}  // namespace

Scratch::Scratch() : block_(stack.block), used_(stack.used) {}
Scratch::~Scratch() { stack.release(block_, used_); }
void* Scratch::take_bytes(size_t bytes) { return stack.take(bytes); }

}  // namespace sconce
