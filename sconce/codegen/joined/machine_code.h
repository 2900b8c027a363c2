// Machine code of joined loops: register allocation and instruction encoding for x86-64, AVX2 or AVX-512.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sconce/codegen/joined/joined_body.h"
#include "sconce/codegen/tiles/tile_program.h"

namespace sconce::codegen {

// Executable memory: pages that are written, then made executable; never both at once.
class MachineCode {
 public:
  // Throws std::bad_alloc when the system gives no memory, or refuses to make it executable.
  explicit MachineCode(std::span<const uint8_t> bytes);
  ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  JoinedLoop::Code entry() const { return reinterpret_cast<JoinedLoop::Code>(memory_); }
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(memory_), used_}; }

 private:
  void* memory_;
  size_t size_, used_;
};

// The most operands of a body: each has a register for its address.
inline constexpr size_t kMaxBodyOperands = 13;

// The level of joined loops: cpu_level(), but at most this. 3, because cheap loops gain nothing from vectors of 64
// bytes (eager's run at level 3 on AVX-512 machines, too: opgen/loops/pointwise.py). Tests raise it.
inline int highest_joined_level = 3;

// The loop over a body for a level (3: AVX2 and what x86-64-v3 has beside it, 4: AVX-512). Equal bodies share one, as
// long as somebody holds it. Null at level 2, and where a body is too large.
std::shared_ptr<const MachineCode> machine_code(const Body& body, int level);

}  // namespace sconce::codegen
