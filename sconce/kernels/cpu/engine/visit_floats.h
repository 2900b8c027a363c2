// Dtype dispatch for kernels of the floating-point dtypes, the 16-bit ones included.
#pragma once

#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/tensor/element.h"

namespace sconce {

// f.operator()<T>() with the type of an element; dtypes that are not floating point throw Error, as
// "name" of PyTorch's.
template <class F>
void visit_floats(DType t, const char* name, F&& f) {
  visit_dtype(t, [&]<class T>() {
    if constexpr (std::is_integral_v<T> || kIsComplex<T>) {
      fail_as(ErrorKind::not_implemented, "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t));
    } else {
      f.template operator()<T>();
    }
  });
}

}  // namespace sconce
