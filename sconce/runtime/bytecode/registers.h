// Register allocation: the registers of a function under construction. Each keeps one class; free ones are bits of a
// set, so that the state before a branch can be saved and restored.
#pragma once

#include <cstdint>
#include <vector>

#include "sconce/runtime/bytecode/liveness.h"

namespace sconce::runtime {

class Registers {
 public:
  using Bits = std::vector<uint64_t>;

  // A register that is neither busy nor reserved; it is busy afterwards.
  uint32_t take(RegisterClass c);
  // Two neighbours of class int.
  uint32_t take_pair();
  void take_this(uint32_t r) { set(busy_, r, true); }
  void free(uint32_t r) { set(busy_, r, false); }
  bool is_free(uint32_t r) const { return !get(busy_, r); }
  RegisterClass class_at(uint32_t r) const { return classes_[r]; }
  uint32_t count() const { return static_cast<uint32_t>(classes_.size()); }

  // A reserved register is only taken by name.
  bool is_reserved(uint32_t r) const { return get(reserved_, r); }
  void reserve(uint32_t r, bool on) { set(reserved_, r, on); }

  const Bits& busy() const { return busy_; }
  void restore(const Bits& busy) {
    busy_ = busy;
    busy_.resize(reserved_.size());  // registers that were made since are free
  }

 private:
  static bool get(const Bits& bits, uint32_t r) { return bits[r / 64] >> (r % 64) & 1; }
  static void set(Bits& bits, uint32_t r, bool on) {
    const uint64_t bit = uint64_t{1} << (r % 64);
    bits[r / 64] = on ? bits[r / 64] | bit : bits[r / 64] & ~bit;
  }
  uint32_t make(RegisterClass c);
  std::vector<RegisterClass> classes_;
  Bits busy_, reserved_;
  Bits of_class_[5];
};

}  // namespace sconce::runtime
