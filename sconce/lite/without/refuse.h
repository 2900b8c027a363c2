// Code of dtypes that a small library was built without (docs/small.md). Where a selection lists dtypes, the objects of
// this folder for those that it leaves out are linked before the kernels: each defines functions and tables again that
// are weak there, as ones that throw Error. What the kernels have for the dtype is then reached by nothing, and goes.
//
// A refusal unwinds through the code that calls it: vector code has no tables for that, so a name of vector code may
// stand here only if vector code does not call it itself.
#pragma once

#include <cstdint>

#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/engine/levels.h"
#include "sconce/tensor/dtype.h"

namespace sconce {
namespace lite {

// Throws Error of kind not_implemented.
[[noreturn]] void refuse_dtype(DType dtype);

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

}  // namespace lite
}  // namespace sconce
