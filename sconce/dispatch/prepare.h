// Prepared calls: an operator made ready to be repeated with tensors of the same geometry, of which some are constants.
// What depends on geometry and constants alone (the algorithm, packed weights) is found once.
//
// An entry of the table names the function that prepares it (`prepare`, opgen/table.py); plans ask for it
// (executor/execution_plan.h). A prepared call gives the bits of the ordinary one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/tensor/tensor.h"
#include "sconce/types/value.h"

namespace sconce {

struct Op;
struct Epilogue;  // kernels/cpu/gemm/gemm.h

// What is known of a call before it is made. Tensors among `args` are on Meta: geometry and dtype.
struct CallFacts {
  const Op& op;
  std::span<const Value> args;        // one per schema argument
  std::span<const Tensor> constants;  // one per argument: the tensor where its elements are known, else undefined
  const Tensor& result;               // on Meta: the geometry that the result shall have
};

// Immutable, shared by threads.
class SCONCE_API PreparedCall {
 public:
  virtual ~PreparedCall();

  // args[i] is the first element of tensor argument i; null for what is no tensor, is absent, or is a constant. The
  // epilogue is applied to the result as rows and columns: see rows() and columns(); its bias must be null.
  virtual void run(const void* const* args, void* result, const Epilogue& epilogue) const = 0;

  // The result as a matrix, contiguous along columns: pixels and channels of a convolution. An epilogue may add a
  // residual, clamp, and call `post`.
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t row_stride() const { return row_stride_; }  // elements of the result from row to row

  // Whether the result may be the memory of the epilogue's residual, of the same strides: each element is written once,
  // behind the read of its residual.
  virtual bool may_overwrite_residual() const { return false; }

  // Arguments whose elements were read while preparing: the call is stale when one of them is written.
  const std::vector<uint32_t>& constants_read() const { return constants_read_; }
  // For people: "packed product 64 x 64".
  virtual std::string text() const = 0;

 protected:
  int64_t rows_ = 0, columns_ = 0, row_stride_ = 0;
  std::vector<uint32_t> constants_read_;
};

}  // namespace sconce
