// Library entry point of libsconce_cuda.so: what libsconce calls after it has opened it.
#include "sconce/base/export.h"
#include "sconce/codegen/cuda/cuda_maker.h"
#include "sconce/connect/cuda/decomposed_kernels.h"
#include "sconce/kernels/cuda/cuda_backend.h"
#include "sconce/tensor/backend.h"

// `theirs` is the find_backend of the caller (tensor/libraries/backend_library.cpp): if it is not ours, the program has
// the operators twice, linked into itself and in libsconce.so. Returns null, or why there is no device.
extern "C" SCONCE_API const char* sconce_cuda_start(const void* theirs) {
  static std::string why;
  if (theirs != reinterpret_cast<const void*>(&sconce::find_backend))
    return "the program is linked to a static library of Sconce, libsconce_cuda.so to libsconce.so";
  why = sconce::cuda::start();
  if (!why.empty()) return why.c_str();
  sconce::add_decomposed_kernels(sconce::DeviceType::cuda);
  sconce::cuda::connect_maker();
  return nullptr;
}
