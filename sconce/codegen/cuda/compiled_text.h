// Compiled texts: a kernel that a thread of the background pool compiles, or whoever needs it first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "sconce/kernels/cuda/device/launch.h"

namespace sconce::cuda {

class CompiledText : public std::enable_shared_from_this<CompiledText> {
 public:
  CompiledText(Device device, std::string source, const char* entry);

  // In the background.
  void begin();
  // Null: not yet, or never.
  const Kernel* find() const { return kernel_.load(std::memory_order_acquire); }
  // Compiles it here unless somebody does already, then waits for them. Throws Error where it cannot be compiled.
  const Kernel& wait();
  const std::string& source() const { return source_; }

 private:
  void make();

  const Device device_;
  const std::string source_;
  const char* const entry_;
  const std::string key_;
  std::mutex mutex_;
  std::string why_;  // it failed
  std::atomic<const Kernel*> kernel_ = nullptr;
};

}  // namespace sconce::cuda
