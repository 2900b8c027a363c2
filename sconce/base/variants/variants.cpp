#include "sconce/base/variants/variants.h"

#ifdef SCONCE_NOTES_VARIANTS
// The ends of the section, which the linker defines where an object has one.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern sconce::Variant __start_sconce_variants[];
[[gnu::weak, gnu::visibility("hidden")]] extern sconce::Variant __stop_sconce_variants[];
}
#endif

namespace sconce {

#ifdef SCONCE_NOTES_VARIANTS
void Variant::note(uint8_t bit) noexcept { seen.fetch_or(bit, std::memory_order_relaxed); }

std::span<Variant> variants() noexcept { return {__start_sconce_variants, __stop_sconce_variants}; }
#else
// Small libraries have kernels of the whole library, whose records nobody resets.
void Variant::note(uint8_t) noexcept {}

std::span<Variant> variants() noexcept { return {}; }
#endif

void forget_variants() noexcept {
  for (Variant& variant : variants()) variant.seen.store(0, std::memory_order_relaxed);
}

}  // namespace sconce
