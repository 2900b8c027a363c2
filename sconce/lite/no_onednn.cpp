// Providers of products and convolutions (kernels/cpu/gemm/provider.h) are libraries that are loaded while a program
// runs: lite libraries have none. In place of kernels/cpu/gemm/onednn.cpp and provider.cpp.
#include "sconce/kernels/cpu/gemm/onednn.h"
#include "sconce/kernels/cpu/gemm/provider.h"

namespace sconce {

namespace detail {
int onednn_state = 0;
bool find_onednn_state() { return false; }
}  // namespace detail

bool onednn_convolution(const ConvShape&, DType, const void*, const void*, const int64_t*, const void*, void*) {
  return false;
}
const OnednnConv* onednn_plan(const ConvShape&, DType) { return nullptr; }
size_t onednn_packed_bytes(const OnednnConv&) { return 0; }
void onednn_pack(const OnednnConv&, const void*, void*) {}
void onednn_run(const OnednnConv&, const ConvShape&, DType, const void*, const void*, const void*, void*) {}
bool onednn_gemm(DType, int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, const Epilogue&) { return false; }

}  // namespace sconce
