// Code of dtypes that a small library was built without (docs/small.md). Where a selection lists dtypes, the objects of
// this folder for those that it leaves out are linked before the kernels: each defines functions and tables again that
// are weak there, as ones that throw Error. What the kernels have for the dtype is then reached by nothing, and goes.
//
// A refusal unwinds through the code that calls it: vector code has no tables for that, so a name of vector code may
// stand here only if vector code does not call it itself.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/engine/levels.h"
#include "sconce/tensor/dtype.h"

namespace sconce {
namespace lite {

// Throw Error of kind not_implemented.
[[noreturn]] void refuse_dtype(DType dtype);
[[noreturn]] void refuse_conversion(int from, int to);

template <DType dtype, class R, class... A>
R refuse(A...) {
  refuse_dtype(dtype);
}

template <class R, class... A>
using Function = R (*)(A...);

// Becomes a function of any type, which refuses.
template <DType dtype>
struct Refusal {
  template <class R, class... A>
  constexpr operator Function<R, A...>() const {
    return refuse<dtype, R, A...>;
  }
};

// Numbers of the dtypes that TileKernels converts.
inline constexpr int kConverted[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15};

}  // namespace lite

// Of the same name as in simd/tile.cpp.
SCONCE_AT_EACH_LEVEL(template <int to, int from>
                     void convert_pair(void*, const void*, int64_t) { lite::refuse_conversion(from, to); })

namespace lite {

// Instances of all conversions from and to a dtype:
// [[gnu::used]] constinit const auto conversions = refused_conversions<N>();
template <int number>
constexpr auto refused_conversions() {
  return []<size_t... i>(std::index_sequence<i...>) {
    return std::array{
        &v2::convert_pair<number, kConverted[i]>..., &v2::convert_pair<kConverted[i], number>...,
#if SCONCE_CPU_LEVELS >= 2
        &v3::convert_pair<number, kConverted[i]>..., &v3::convert_pair<kConverted[i], number>...,
#endif
#if SCONCE_CPU_LEVELS >= 3
        &v4::convert_pair<number, kConverted[i]>..., &v4::convert_pair<kConverted[i], number>...,
#endif
    };
  }(std::make_index_sequence<std::size(kConverted)>());
}

}  // namespace lite
}  // namespace sconce
