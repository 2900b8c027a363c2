// Without complex64 and complex128: no products of complex matrices, and no tensors that are not conjugated yet.
#include "sconce/base/error.h"
#include "sconce/kernels/cpu/gemm/gemm_generic.h"
#include "sconce/kernels/cpu/gemm/gemm_plan.h"
#include "sconce/lite/without/refuse.h"
#include "sconce/serialization/pickle/pickle_tensors.h"

namespace sconce {

SCONCE_WEAK Tensor with_math_bits(Tensor t, const Dict& bits) {
  bits.for_each([](const Value&, const Value& on) {
    if (on.to_bool())
      fail_as(
          ErrorKind::not_implemented,
          "a tensor that is not conjugated or negated yet: this library was built without complex64 and complex128");
  });
  return t;
}

namespace gemm_parts {

SCONCE_WEAK void run_complex(const Problem& problem, const Epilogue&, const MatrixKernels&) {
  lite::refuse_dtype(problem.dtype);
}
SCONCE_WEAK void product_of_complex(DType dtype, const RowsOfProduct&) { lite::refuse_dtype(dtype); }

}  // namespace gemm_parts
}  // namespace sconce
