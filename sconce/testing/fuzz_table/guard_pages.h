// Guard pages: memory in which every block lies against a page that nobody may touch, so that a read or a write one
// element outside of it is a signal at once, in any build.
//
//   end     ....[block]|page|     what reaches over the end
//   begin   |page|[block]....     what reaches below the beginning
//
// Fresh memory is filled with a byte of the caller's choice. The bytes beside a block are looked at when it is freed: a
// write there that the page did not stop ends the process. Freed blocks are filled as well, and used again as late as
// possible. May be used from any thread, and from operator new: it allocates nothing by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sconce/tensor/dtype.h"
#include "sconce/tensor/storage.h"

namespace sconce::testing {

enum class Placement : uint8_t { end, begin };

// How blocks are placed from now on: with which byte they are filled, which one of eight lies at the beginning of its
// pages (0 for none).
struct GuardStyle {
  uint8_t fill = 0xa5;
  uint8_t begins = 1;
};
void set_guard_style(const GuardStyle& style);

// Null when there is none: more than kLargestGuarded bytes, or the process may map no more pages.
inline constexpr size_t kLargestGuarded = size_t{256} << 20;
void* guarded_allocate(size_t bytes, size_t alignment, Placement placement);
void* guarded_allocate(size_t bytes, size_t alignment);  // placed by the style
void guarded_free(void* data);
// For blocks of at most kLargestSlot bytes, which lie in a range of addresses.
inline constexpr size_t kLargestSlot = size_t{256} << 10;
bool is_guarded_slot(const void* data);

// Tensors take their blocks here, each thread while `guard_blocks` is set. False when one was taken already.
bool use_guard_pages();
extern thread_local bool guard_blocks;

// A storage of its own over exactly that many bytes, aligned for elements of the dtype and no more.
Ref<Storage> guarded_storage(size_t bytes, DType dtype, Placement placement);

}  // namespace sconce::testing
