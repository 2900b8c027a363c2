// Vector types by lane: the vector type whose lanes are of a given type.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using V = F32;
};
template <>
struct VectorOf<double> {
  using V = F64;
};
template <>
struct VectorOf<int64_t> {
  using V = I64;
};
template <class T>
using VectorFor = typename VectorOf<T>::V;

}  // namespace sconce::SCONCE_ISA_NAMESPACE
