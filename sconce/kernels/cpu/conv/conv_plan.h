// Convolution plans: for constant weights the algorithm is chosen and the weights are packed once, for many runs.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

struct OnednnConv;

// Which algorithms a plan may use.
enum class Numerics : uint8_t {
  exact,     // sums of products: a NaN or an infinity reaches the pixels that see it
  eager,     // the algorithm of eager calls, eager_algorithm: the same bits, if run says that results are finite
  standard,  // also Winograd F(2,3), whose errors are smaller than those of direct sums, wherever it is faster
  fast,      // also Winograd F(4,3): errors about five times larger
};

// onednn is the library's (see provider.h): plan_conv chooses it only when it is told to. It takes no epilogue but a
// bias and, for float32, a residual and a clamp.
enum class ConvAlgorithm : uint8_t { product, direct, depthwise, winograd2, winograd4, onednn };
SCONCE_API const char* algorithm_name(ConvAlgorithm algorithm);

// The algorithm of aten::convolution for a shape and a floating dtype, whatever the memory formats of its tensors are.
// Winograd's is left for sums of products, the algorithm of Numerics::exact, if a result is not finite.
SCONCE_API ConvAlgorithm eager_algorithm(const ConvShape& shape, DType dtype,
                                         const MatrixKernels& kernels = matrix_kernels());

// A thread's share of the work: rows of the output (the first spatial dimension), numbered through the batch. Of a
// convolution with one spatial dimension the rows are images.
struct ConvRows {
  int64_t begin, end;
};

// Plain data: copy it freely. Packed weights belong to the caller, who gives them back with each run; they depend on
// algorithm, channels and kernel, not on batch and image size.
struct ConvPlan {
  ConvShape shape;
  DType dtype = DType::float32;
  ConvAlgorithm algorithm = ConvAlgorithm::direct;
  size_t packed_bytes = 0;
  const MatrixKernels* kernels = nullptr;
  const OnednnConv* onednn = nullptr;  // not owned; lives as long as the program

  // Weights and strides as for conv_pack; `packed` has packed_bytes, aligned to 64.
  SCONCE_API void pack(const void* weight, const int64_t* strides, void* packed) const;

  // As conv_run: on the threads of parallel.h, or on this one inside of a parallel region. False where Winograd's
  // algorithm met a result that is not finite, before the epilogue: then an infinity or a NaN of the input may be in
  // more results than it should, and a plan of Numerics::exact has what an eager call gives.
  SCONCE_API bool run(const void* x, const void* packed, void* y, const Epilogue& epilogue = {}) const;

  // Some rows of the output, for callers that share out the work themselves in a parallel region. x, y and the epilogue
  // are those of the whole convolution. The bits are those of run, for Winograd's algorithms if the first row's number
  // in its image is even (F(4,3): a multiple of four).
  SCONCE_API bool run_rows(const void* x, const void* packed, void* y, const Epilogue& epilogue, ConvRows rows) const;
  int64_t rows() const { return shape.rank == 1 ? shape.batch : shape.batch * shape.out[0]; }
};

// Chooses the fastest algorithm that `numerics` allows and whose packed weights have at most `weight_budget` bytes; the
// direct one is always allowed. Numerics::eager leaves no choice, and does not look at the budget. Throws Error as
// conv_packed_bytes does.
SCONCE_API ConvPlan plan_conv(const ConvShape& shape, DType dtype, Numerics numerics = Numerics::exact,
                              size_t weight_budget = SIZE_MAX, const MatrixKernels& kernels = matrix_kernels());

// The plan of a given algorithm. Throws Error when it does not serve the shape, or when its library does not load.
SCONCE_API ConvPlan plan_conv(const ConvShape& shape, DType dtype, ConvAlgorithm algorithm,
                              const MatrixKernels& kernels = matrix_kernels());

}  // namespace sconce
