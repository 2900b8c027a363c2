// The host of a lite library: memory and threads that the program brings, in place of the system's.
#pragma once

#include <cstddef>

#include "sconce/lite/sconce_lite.h"

namespace sconce::lite {

// Replaces the system; false when memory was taken already.
bool set_host(const sconce_lite_host& host) noexcept;
const sconce_lite_host& host() noexcept;
// Memory of the host, at a multiple of 64; throws Error when there is none.
void* take_memory(size_t bytes);
void* try_memory(size_t bytes) noexcept;  // null when there is none
void give_memory(void* memory) noexcept;
// What is no tensor comes from the host, too, if that has memory, and from lists in a run: Note [Small blocks] in
// lite_new.cpp. From now on, and while a RunBlocks lives.
void take_small_blocks() noexcept;
class RunBlocks {
 public:
  RunBlocks() noexcept;
  ~RunBlocks();
  RunBlocks(const RunBlocks&) = delete;
};

}  // namespace sconce::lite
