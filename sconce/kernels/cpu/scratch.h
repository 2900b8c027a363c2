// Working memory of kernels: a stack per thread that keeps its blocks, so that a kernel asks the system for memory once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sconce {

// Everything taken through a Scratch is given back when it is destroyed. Scratches of one thread nest.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Uninitialised memory for `count` objects of a plain type, aligned to 64 bytes. Throws std::bad_alloc.
  template <class T>
  T* take(int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  void* take_bytes(size_t bytes);

 private:
  size_t block_, used_;  // where the thread's stack stood
};

}  // namespace sconce
