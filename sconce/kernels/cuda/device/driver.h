// Driver API: the functions of NVIDIA's driver (libcuda.so.1) that we call, by our own declarations.
//
// Nothing of CUDA is needed to build: the library is opened when a device is first asked for, and every function is a
// pointer in one table. A test puts another table there (testing/), so that all code above runs without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sconce::cuda {

using CUresult = int;  // 0 is success
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;
struct CUlaunchAttribute {
  int id;  // 6: the kernel may begin before those in front of it have ended (it waits for them itself)
  int padding;
  union {
    int allowed;
    char room[64];
  } value;
};
struct CUlaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned count;
};

// name, arguments. Those of version 2 carry the suffix that the driver's header hides.
#define SCONCE_CUDA_DRIVER(X)                                                                                        \
  X(cuInit, unsigned flags)                                                                                          \
  X(cuDriverGetVersion, int* version)                                                                                \
  X(cuGetErrorName, CUresult code, const char** name)                                                                \
  X(cuGetErrorString, CUresult code, const char** text)                                                              \
  X(cuDeviceGetCount, int* count)                                                                                    \
  X(cuDeviceGet, CUdevice* device, int index)                                                                        \
  X(cuDeviceGetName, char* name, int size, CUdevice device)                                                          \
  X(cuDeviceGetAttribute, int* value, int attribute, CUdevice device)                                                \
  X(cuDeviceTotalMem_v2, size_t* bytes, CUdevice device)                                                             \
  X(cuDeviceCanAccessPeer, int* can, CUdevice device, CUdevice peer)                                                 \
  X(cuDevicePrimaryCtxRetain, CUcontext* context, CUdevice device)                                                   \
  X(cuCtxSetCurrent, CUcontext context)                                                                              \
  X(cuCtxSynchronize)                                                                                                \
  X(cuCtxGetStreamPriorityRange, int* least, int* greatest)                                                          \
  X(cuMemGetInfo_v2, size_t* free, size_t* total)                                                                    \
  X(cuMemAlloc_v2, CUdeviceptr* data, size_t bytes)                                                                  \
  X(cuMemFree_v2, CUdeviceptr data)                                                                                  \
  X(cuMemHostAlloc, void** data, size_t bytes, unsigned flags)                                                       \
  X(cuMemFreeHost, void* data)                                                                                       \
  X(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void* from, size_t bytes, CUstream stream)                           \
  X(cuMemcpyDtoHAsync_v2, void* to, CUdeviceptr from, size_t bytes, CUstream stream)                                 \
  X(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)                           \
  X(cuMemcpyPeerAsync, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, \
    CUstream stream)                                                                                                 \
  X(cuMemsetD8Async, CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)                             \
  X(cuStreamCreateWithPriority, CUstream* stream, unsigned flags, int priority)                                      \
  X(cuStreamDestroy_v2, CUstream stream)                                                                             \
  X(cuStreamSynchronize, CUstream stream)                                                                            \
  X(cuStreamQuery, CUstream stream)                                                                                  \
  X(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)                                               \
  X(cuEventCreate, CUevent* event, unsigned flags)                                                                   \
  X(cuEventDestroy_v2, CUevent event)                                                                                \
  X(cuEventRecord, CUevent event, CUstream stream)                                                                   \
  X(cuEventQuery, CUevent event)                                                                                     \
  X(cuEventSynchronize, CUevent event)                                                                               \
  X(cuEventElapsedTime, float* milliseconds, CUevent start, CUevent end)                                             \
  X(cuModuleLoadData, CUmodule* module, const void* image)                                                           \
  X(cuModuleUnload, CUmodule module)                                                                                 \
  X(cuModuleGetFunction, CUfunction* function, CUmodule module, const char* name)                                    \
  X(cuFuncGetAttribute, int* value, int attribute, CUfunction function)                                              \
  X(cuFuncSetAttribute, CUfunction function, int attribute, int value)                                               \
  X(cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
    unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, void** extra)      \
  X(cuLaunchKernelEx, const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra)             \
  X(cuStreamBeginCapture_v2, CUstream stream, int mode)                                                              \
  X(cuStreamEndCapture, CUstream stream, CUgraph* graph)                                                             \
  X(cuGraphGetNodes, CUgraph graph, CUgraphNode* nodes, size_t* count)                                               \
  X(cuGraphInstantiateWithFlags, CUgraphExec* executable, CUgraph graph, unsigned long long flags)                   \
  X(cuGraphLaunch, CUgraphExec executable, CUstream stream)                                                          \
  X(cuGraphExecDestroy, CUgraphExec executable)                                                                      \
  X(cuGraphDestroy, CUgraph graph)

struct Driver {
#define SCONCE_CUDA_POINTER(name, ...) CUresult (*name)(__VA_ARGS__);
  SCONCE_CUDA_DRIVER(SCONCE_CUDA_POINTER)
#undef SCONCE_CUDA_POINTER
};

// Results that we tell apart.
inline constexpr CUresult kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600;

// The oldest driver that serves: that of CUDA 12.0 (525), which knows Hopper.
inline constexpr int kOldestDriver = 12000;

// Opens the driver, once; null when there is none or it is too old, and why_no_driver() then says why:
//   libcuda.so.1 not found (is the NVIDIA driver installed?)
//   the NVIDIA driver supports CUDA 11.4, at least 12.0 is needed
//   cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected
const Driver* find_driver();
std::string why_no_driver();
// The same, for those who need it: throws Error with the reason.
const Driver& driver();
int driver_version();  // 13000 is 13.0; 0 without a driver

// Puts another table in the driver's place, which must outlive its use; null goes back to the real one. Everything that
// was asked of the driver before (devices, contexts, memory, kernels) is forgotten. For tests, from one thread.
void replace_driver(const Driver* table);

// "CUDA_ERROR_INVALID_VALUE: invalid argument"
std::string error_text(CUresult code);
// Throws Error "what: CUDA_ERROR_...: text" unless the code is 0. See context.h for calls that work on a device.
void check(CUresult code, std::string_view what);

}  // namespace sconce::cuda
