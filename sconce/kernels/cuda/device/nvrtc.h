// NVRTC: NVIDIA's run-time compiler, from CUDA text to machine code. Opened when the first text is compiled.
#pragma once

#include <cstddef>
#include <string>

namespace sconce::cuda {

using NvrtcResult = int;  // 0 is success
using NvrtcProgram = struct _nvrtcProgram*;

#define SCONCE_CUDA_NVRTC(X)                                                                                        \
  X(nvrtcVersion, int* major, int* minor)                                                                           \
  X(nvrtcGetNumSupportedArchs, int* count)                                                                          \
  X(nvrtcGetSupportedArchs, int* architectures)                                                                     \
  X(nvrtcCreateProgram, NvrtcProgram* program, const char* text, const char* name, int headers, const char* const*, \
    const char* const*)                                                                                             \
  X(nvrtcDestroyProgram, NvrtcProgram* program)                                                                     \
  X(nvrtcCompileProgram, NvrtcProgram program, int count, const char* const* options)                               \
  X(nvrtcGetCUBINSize, NvrtcProgram program, size_t* bytes)                                                         \
  X(nvrtcGetCUBIN, NvrtcProgram program, char* image)                                                               \
  X(nvrtcGetPTXSize, NvrtcProgram program, size_t* bytes)                                                           \
  X(nvrtcGetPTX, NvrtcProgram program, char* image)                                                                 \
  X(nvrtcGetProgramLogSize, NvrtcProgram program, size_t* bytes)                                                    \
  X(nvrtcGetProgramLog, NvrtcProgram program, char* log)

struct Nvrtc {
#define SCONCE_CUDA_POINTER(name, ...) NvrtcResult (*name)(__VA_ARGS__);
  SCONCE_CUDA_NVRTC(SCONCE_CUDA_POINTER)
#undef SCONCE_CUDA_POINTER
};

// Null when there is none: why_no_nvrtc() names the files that were looked for.
const Nvrtc* find_nvrtc();
std::string why_no_nvrtc();
// Another table in its place, null for the real one: for tests, from one thread.
void replace_nvrtc(const Nvrtc* table);

// What decides about the machine code beside the text: "nvrtc 13.0 --gpu-architecture=sm_90a --fmad=false ...". It
// names the architecture that NVRTC has for a device of this one: the same, else an older one, as PTX if of another
// family. Throws Error when there is no NVRTC.
std::string compile_options(int architecture);
// The image that cuModuleLoadData takes. Throws Error with NVRTC's log when the text does not compile.
std::string compile_text(const std::string& text, int architecture);

}  // namespace sconce::cuda
