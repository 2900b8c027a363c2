// Scratch memory: a stack allocator per thread that keeps its blocks, so that a kernel asks the
// system for memory once. Where blocks are exact (memory_source.h), each request has one of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sconce {

// Everything taken through a Scratch is given back when it is destroyed. Scratches of one thread nest.
class Scratch {
 public:
  Scratch() : block_(top.block), used_(top.used) {}
  ~Scratch() {
    if (top.block != block_ || top.used != used_) release();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Uninitialised memory for `count` objects of a plain type, aligned to 64 bytes. Throws std::bad_alloc, also
  // for a count that is negative or too large.
  template <class T>
  T* take(int64_t count) {
    if (static_cast<uint64_t>(count) > kMostBytes / sizeof(T)) [[unlikely]]
      refuse();
    return static_cast<T*>(take_bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  void* take_bytes(size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > top.size - top.used) return take_from_next_block(bytes);
    void* result = top.data + top.used;
    top.used += bytes;
    return result;
  }

 private:
  // Blocks before `block` are full; `used` bytes of that one are taken.
  struct Top {
    std::byte* data;
    size_t size, block, used;
  };
  static thread_local constinit Top top __attribute__((tls_model("initial-exec")));

  static constexpr uint64_t kMostBytes = SIZE_MAX / 4;
  [[noreturn]] static void refuse();
  void* take_from_next_block(size_t bytes);
  void release();

  size_t block_, used_;  // where the thread's stack stood
};

}  // namespace sconce
