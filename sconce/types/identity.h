// Identity numbers: a keyed hash of addresses. What programs see of the identity of a tensor or an object, as hash()
// and in its text, says nothing about where it lies in memory.
#pragma once

#include <cstdint>

namespace sconce {

// The same number for the same address, as long as the process lives; another one in the next process.
uint64_t identity_of(const void* address) noexcept;

}  // namespace sconce
