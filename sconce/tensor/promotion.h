// Type promotion: which dtype a computation over several operands happens in.
#pragma once

#include "sconce/base/list_ref.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/scalar.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The smallest dtype that both convert to.
SCONCE_API DType promote_types(DType a, DType b);

// Operands count in three groups: tensors with dimensions, 0-dim tensors, numbers. A later group only takes part when
// its category is higher than the result so far: int32 tensor + 1.5 is float32, float16 tensor + 0-dim float64 is
// float16, float32 tensor + 0-dim complex128 is complex64.
class SCONCE_API ResultType {
 public:
  void add(const Tensor& t);
  void add(const Scalar& s);
  DType get() const;
  bool empty() const { return !has_[0] && !has_[1] && !has_[2]; }

 private:
  void add(int group, DType t);
  bool has_[3] = {};
  DType type_[3] = {};
};

SCONCE_API DType result_type(const Tensor& a, const Tensor& b);
SCONCE_API DType result_type(const Tensor& a, const Scalar& b);

// May a result of type `from` be stored in a tensor of type `to`? bool < integral < floating < complex.
constexpr bool can_cast(DType from, DType to) { return category(from) <= category(to); }

}  // namespace sconce
