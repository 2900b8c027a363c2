// Kernel variants: SCONCE_VARIANT names a choice between algorithms by size, stride, dtype, CPU level or threads, and a
// test asks which choices a call has made.
//
//   namespace {
//   SCONCE_VARIANT(winograd, "conv.winograd", "3x3, stride 1, channels in multiples of 16");
//   }
//   if (winograd(kernel == 3 && stride == 1 && channels % 16 == 0)) { ...
//
// The variable is called where the choice is made: it returns its argument and notes which of the two it was. A choice
// among several is a variant for each of them: `by_block(way == Way::block)`. The test python.variants fails if one is
// not reached on both sides, or taken by calls of one shape alone, and compares those calls with a plain reference;
// docs/variants.md tells how to add the samples that it needs.
//
// Declarations stand at namespace scope in a source: not in a header or a template, for the records are in a section
// of their own, nor below kernels/cpu/simd, which is compiled once per CPU level (who calls those loops declares what
// it chooses). The condition is a text for people, which only the source has. A fourth text says what a machine needs
// to reach the variant, such as "level 4" or "neon" (python/tests/variants/needs.py).
//
// Cost: until a test asks, a load and a branch that is never taken; nothing is written. Small libraries, WebAssembly
// and targets without ELF have none of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "sconce/base/export.h"

#if defined(__ELF__) && !defined(SCONCE_SMALL)
#define SCONCE_NOTES_VARIANTS 1
#endif

namespace sconce {

// The record of a variant. Bits of `seen`: 1 not taken, 2 taken.
struct alignas(16) Variant {
  const char* name;
  std::atomic<uint8_t> seen;

  bool operator()(bool taken) noexcept {
    const uint8_t bit = taken ? 2 : 1;
    if ((seen.load(std::memory_order_relaxed) & bit) == 0) [[unlikely]]
      note(bit);
    return taken;
  }

  SCONCE_COLD void note(uint8_t bit) noexcept;
};

// In place of a record where nothing is noted.
struct UnnotedVariant {
  constexpr bool operator()(bool taken) const noexcept { return taken; }
};

// All variants of the library, in no order; none where nothing is noted.
SCONCE_API std::span<Variant> variants() noexcept;

// Forgets what was noted; from now on the process notes. Before the first call every record says that both were seen.
SCONCE_API void forget_variants() noexcept;

}  // namespace sconce

#ifdef SCONCE_NOTES_VARIANTS
#define SCONCE_VARIANT(variable, name, condition, ...) \
  [[gnu::used, gnu::section("sconce_variants")]] static constinit ::sconce::Variant variable = {name, 3}
#else
#define SCONCE_VARIANT(variable, name, condition, ...) [[maybe_unused]] constexpr ::sconce::UnnotedVariant variable
#endif
