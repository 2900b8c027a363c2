// Streams and events by number, for those who must not hold addresses (torch.cuda.Stream, torch.cuda.Event).
//
// Stream 0 of a device is its default one, those behind it are of the two pools (pool_stream in context.h). Events are
// numbered by the process and live until they are released.
#pragma once

#include <cstdint>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// The next one of a pool.
int64_t new_stream_number(Device device, bool high_priority);
int64_t current_stream_number(Device device);
void set_current_stream_number(Device device, int64_t number);
// Throws Error for a number that was not handed out.
CUstream numbered_stream(Device device, int64_t number);
bool is_stream_done(Device device, int64_t number);
void wait_for_stream(Device device, int64_t number);

int64_t make_event(Device device, bool is_timed);
void release_event(int64_t event);
void record_event(int64_t event, int64_t stream);
// Work that the stream is asked for later begins when the event has happened. One that was never recorded has.
void let_stream_wait(Device device, int64_t stream, int64_t event);
bool is_event_done(int64_t event);
void wait_for_event(int64_t event);
// Milliseconds from one to the other. Both must be timed and done.
double event_distance(int64_t start, int64_t end);

// The tensor's memory is used by work on the stream, too: it is reused only behind that.
void record_stream_number(const Tensor& tensor, int64_t stream);

}  // namespace sconce::cuda
