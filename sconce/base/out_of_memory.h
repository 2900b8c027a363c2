// std::bad_alloc, thrown out of libstdc++: a throw would have its tables here, too.
#pragma once

#include <cstdint>
#include <memory>

namespace sconce {

[[noreturn]] inline void fail_out_of_memory() {
  static_cast<void>(std::allocator<char>().allocate(SIZE_MAX));
  __builtin_unreachable();
}

}  // namespace sconce
