// Contexts and streams: the devices of this machine, which one and which of its streams a thread works on.
//
// Note [Streams]
// Every device has one default stream of ours (not the driver's legacy stream, which waits for all others); a thread
// works on it until it chooses another. Work of one stream is done in the order in which it was asked for, that of two
// streams in any order unless one waits for an event of the other.
//
// Note [Late errors]
// A kernel that faults is noticed by a later call, and its context never recovers. That call throws an Error with the
// names of the operators that ran last (SCONCE_CUDA_SYNC=1 waits after every kernel and so finds the one); the device
// is marked, and from then on every use of it throws. The CPU works as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/device.h"

namespace sconce::cuda {

inline constexpr int kMostDevices = 16;

struct DeviceProperties {
  std::string name;     // "NVIDIA H200"
  int major, minor;     // compute capability: 9, 0
  int multiprocessors;  // 132
  int shared_bytes;     // the most that a block may ask for
  size_t total_bytes;   // of its memory
  CUdevice handle;
  int architecture() const { return major * 10 + minor; }  // 90 is sm_90
};

// 0 without a driver or a device; never throws.
int device_count();
// Throws Error for a device that is not there: "cuda:3: this machine has 1 CUDA device".
const DeviceProperties& properties(Device device);
// Free and total bytes of its memory, as the driver sees them: all processes.
void memory_info(Device device, size_t& free, size_t& total);

// The device of this thread that "cuda" without a number means: 0 at first. Both throw Error where there is none.
int8_t current_index();
void set_current_index(int index);

// Makes the device's context current for this thread's driver calls, and checks that it is usable. An index of -1 is
// the current device. Returns the index. Costs two loads when it is current already.
int use(Device device);
CUcontext context_of(Device device);

// The stream on which this thread's work on the device goes.
CUstream current_stream(Device device);
CUstream default_stream(Device device);
// A null stream means the default one.
void set_current_stream(Device device, CUstream stream);
// One of 32 streams that are made when first asked for and handed out in turn.
CUstream pool_stream(Device device, bool high_priority);

// Waits for one stream; for all work of the device. Then throws what kernels reported (error_word.h).
void synchronize_stream(Device device, CUstream stream);
void synchronize(Device device);

// Throws Error "who: CUDA_ERROR_...: text" unless the code is 0, and marks the device when its context is lost.
void check_device(CUresult code, Device device, std::string_view who);
// Notes an operator whose kernel was launched; `name` lives for ever. Waits for it under SCONCE_CUDA_SYNC=1.
void note_launch(Device device, CUstream stream, const char* name);

// Everything about devices is asked anew: for replace_driver().
void forget_devices();
// What is forgotten stays, since threads may be in it, and has a place where LeakSanitizer finds it. May be null.
void keep_forgotten(const void* object);

}  // namespace sconce::cuda
