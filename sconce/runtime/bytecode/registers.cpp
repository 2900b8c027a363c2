#include "sconce/runtime/bytecode/registers.h"

#include <bit>

namespace sconce::runtime {

uint32_t Registers::make(RegisterClass c) {
  const auto r = static_cast<uint32_t>(classes_.size());
  classes_.push_back(c);
  const size_t words = r / 64 + 1;
  if (busy_.size() < words) {
    busy_.resize(words);
    reserved_.resize(words);
    for (Bits& bits : of_class_) bits.resize(words);
  }
  set(of_class_[static_cast<size_t>(c)], r, true);
  set(busy_, r, true);
  return r;
}

uint32_t Registers::take(RegisterClass c) {
  const Bits& mine = of_class_[static_cast<size_t>(c)];
  for (size_t w = 0; w < mine.size(); ++w) {
    if (const uint64_t open = mine[w] & ~busy_[w] & ~reserved_[w]) {
      const auto r = static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(open));
      set(busy_, r, true);
      return r;
    }
  }
  return make(c);
}

uint32_t Registers::take_pair() {
  const auto open = [&](uint32_t r) { return classes_[r] == RegisterClass::int_ && is_free(r) && !is_reserved(r); };
  for (uint32_t r = 0; r + 1 < count(); ++r) {
    if (!open(r) || !open(r + 1)) continue;
    take_this(r);
    take_this(r + 1);
    return r;
  }
  const uint32_t first = make(RegisterClass::int_);
  make(RegisterClass::int_);
  return first;
}

}  // namespace sconce::runtime
