// oneDNN binding: convolutions and products computed by that library, loaded at run time (see provider.h).
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

// Loads the library. Throws Error with the loader's reason, or when its version is not known here. May be called again.
void load_onednn();

// As conv_pack and conv_run in one; bias may be null. False, and nothing written, when oneDNN does not serve the shape
// or only with its reference implementation. One image is computed by one thread, a batch by all.
bool onednn_convolution(const ConvShape& shape, DType dtype, const void* x, const void* weight,
                        const int64_t* weight_strides, const void* bias, void* y);

// The same with weights packed once. A plan belongs to the library and lives as long as the program; null when oneDNN
// does not serve the shape. It takes a bias always; the shape's batch does not matter.
struct OnednnConv;
const OnednnConv* onednn_plan(const ConvShape& shape, DType dtype);
size_t onednn_packed_bytes(const OnednnConv& plan);
// Weights [out_channels, in_channels / groups, kernel...], contiguous.
void onednn_pack(const OnednnConv& plan, const void* weight, void* packed);
void onednn_run(const OnednnConv& plan, const ConvShape& shape, DType dtype, const void* x, const void* packed,
                const void* bias, void* y);

// As gemm. False when oneDNN does not serve it: it takes no epilogue but a bias.
bool onednn_gemm(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                 const Epilogue& epilogue);

}  // namespace sconce
