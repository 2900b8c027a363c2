// Types of the arguments that host and kernels share: the names that texts have for them (text/prelude.cuh), so that a
// struct that both sides include has one layout.
#pragma once

#include <cstdint>

namespace sconce::cuda {

using i64 = long long;
using u64 = unsigned long long;
using i32 = int;
using u32 = unsigned;
using u8 = unsigned char;
using u16 = unsigned short;
using f32 = float;
using f64 = double;

struct Number {
  f64 real, imag;
  i64 integer;
};

}  // namespace sconce::cuda
