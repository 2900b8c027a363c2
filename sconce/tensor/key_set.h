// Dispatch keys: a tensor carries the set of keys that have work to do for it; modes of the current thread add or
// remove keys; the highest one left decides which kernel an operator runs. An unused key costs nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sconce/base/export.h"
#include "sconce/tensor/device.h"

namespace sconce {

enum class Key : uint8_t {
  // backends: exactly one is left when all intercepting keys are done
  cpu = 0,
  cuda = 1,
  meta = 2,
  privateuse1 = 3,
  // formats of elements that only kernels of their own understand: Note [Formats] in dispatch/formats.h
  sparse = 4,
  quantized = 5,
  // intercepting keys, lowest priority first
  python = 6,
  functionalize = 7,
  math_bits = 8,  // memory holds conjugates or negatives of the elements: Note [Math bits] in math_bits.h
  view = 9,       // a view of another tensor, whose history may change under it
  autograd = 10,  // the tensor requires grad
  autocast = 11,
  tracer = 12,
  observe = 13,  // profiler and hooks
  limited = 14,  // the tensor's dtype is one that few operators have: Note [Limited dtypes] in dtype.h
};
inline constexpr int kKeys = 15;

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr explicit KeySet(uint16_t bits) : bits_(bits) {}
  constexpr KeySet(Key k) : bits_(static_cast<uint16_t>(1u << static_cast<int>(k))) {}
  constexpr KeySet(std::initializer_list<Key> keys) {
    for (Key k : keys) bits_ |= KeySet(k).bits_;
  }
  constexpr uint16_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(Key k) const { return bits_ & KeySet(k).bits_; }
  constexpr KeySet operator|(KeySet o) const { return KeySet(static_cast<uint16_t>(bits_ | o.bits_)); }
  constexpr KeySet operator&(KeySet o) const { return KeySet(static_cast<uint16_t>(bits_ & o.bits_)); }
  constexpr KeySet operator-(KeySet o) const { return KeySet(static_cast<uint16_t>(bits_ & ~o.bits_)); }
  constexpr KeySet& operator|=(KeySet o) { return *this = *this | o; }
  // All keys below k: what a kernel for k passes on to reach the rest of the stack.
  static constexpr KeySet below(Key k) { return KeySet(static_cast<uint16_t>((1u << static_cast<int>(k)) - 1)); }
  constexpr int highest() const { return 15 - std::countl_zero(bits_); }  // -1 when empty
  friend constexpr bool operator==(KeySet a, KeySet b) { return a.bits_ == b.bits_; }

  // for (const Key key : keys), the lowest first.
  class Iterator {
   public:
    constexpr explicit Iterator(uint16_t left) : left_(left) {}
    constexpr Key operator*() const { return static_cast<Key>(std::countr_zero(left_)); }
    constexpr Iterator& operator++() {
      left_ = static_cast<uint16_t>(left_ & (left_ - 1));
      return *this;
    }
    friend constexpr bool operator==(Iterator a, Iterator b) { return a.left_ == b.left_; }

   private:
    uint16_t left_;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  uint16_t bits_ = 0;
};

inline constexpr KeySet kBackendKeys{Key::cpu, Key::cuda, Key::meta, Key::privateuse1};
inline constexpr KeySet kFormatKeys{Key::sparse, Key::quantized};

[[noreturn]] SCONCE_API SCONCE_COLD void no_backend_key(DeviceType type);

// The key of a device: the only place that says so. Throws Error for a number that is not a device type.
constexpr Key backend_key(DeviceType type) {
  switch (type) {
    case DeviceType::cpu:
      return Key::cpu;
    case DeviceType::cuda:
      return Key::cuda;
    case DeviceType::meta:
      return Key::meta;
    case DeviceType::privateuse1:
      return Key::privateuse1;
  }
  no_backend_key(type);
}

SCONCE_API std::string_view key_name(Key k);

// The current thread's modes: `include` is added to every call's keys, then `exclude` is taken away, and what no_grad
// turns off (see grad_mode.h).
struct ThreadModes {
  uint16_t include = 0;
  uint16_t exclude = 0;
  uint16_t exclude_grad = 0;
  bool inference = false;  // new tensors are inference tensors
};
extern thread_local constinit ThreadModes thread_modes;

// For the duration of a scope: keys added to or removed from this thread's calls. Grad mode and inference mode stay as
// they are set inside.
class SCONCE_API ModeGuard {
 public:
  ModeGuard(KeySet include, KeySet exclude);
  ~ModeGuard();
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint16_t include_, exclude_;
};

}  // namespace sconce
