#include "sconce/kernels/cuda/device/streams.h"

#include <map>
#include <mutex>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {
namespace {

constexpr unsigned kWithoutTiming = 2;  // CU_EVENT_DISABLE_TIMING

struct Event {
  CUevent handle;
  Device device;
  bool is_timed, is_recorded;
};
std::mutex mutex;
int64_t next_event = 1;
std::map<int64_t, Event>& events() {
  static auto& all = *new std::map<int64_t, Event>;
  return all;
}
Event event_at(int64_t number) {
  const std::lock_guard lock(mutex);
  const auto found = events().find(number);
  SCONCE_CHECK(found != events().end(), "there is no CUDA event {}", number);
  return found->second;
}

}  // namespace

bool is_stream_done(Device device, int64_t number) {
  const CUstream stream = numbered_stream(device, number);
  const CUresult code = driver().cuStreamQuery(stream);
  if (code == kNotReady) return false;
  check_device(code, device, "cuStreamQuery");
  return true;
}
void wait_for_stream(Device device, int64_t number) { synchronize_stream(device, numbered_stream(device, number)); }

int64_t make_event(Device device, bool is_timed) {
  const int index = use(device);
  CUevent handle = nullptr;
  check_device(driver().cuEventCreate(&handle, is_timed ? 0 : kWithoutTiming), device, "cuEventCreate");
  const std::lock_guard lock(mutex);
  events()[next_event] = {handle, Device(DeviceType::cuda, static_cast<int8_t>(index)), is_timed, false};
  return next_event++;
}
void release_event(int64_t number) {
  const Event event = event_at(number);
  use(event.device);
  check_device(driver().cuEventDestroy_v2(event.handle), event.device, "cuEventDestroy");
  const std::lock_guard lock(mutex);
  events().erase(number);
}
void record_event(int64_t number, int64_t stream) {
  const Event event = event_at(number);
  const CUstream on = numbered_stream(event.device, stream);
  check_device(driver().cuEventRecord(event.handle, on), event.device, "cuEventRecord");
  const std::lock_guard lock(mutex);
  events()[number].is_recorded = true;
}
void let_stream_wait(Device device, int64_t stream, int64_t number) {
  const Event event = event_at(number);
  if (!event.is_recorded) return;
  const CUstream waiting = numbered_stream(device, stream);
  check_device(driver().cuStreamWaitEvent(waiting, event.handle, 0), device, "cuStreamWaitEvent");
}
bool is_event_done(int64_t number) {
  const Event event = event_at(number);
  if (!event.is_recorded) return true;
  use(event.device);
  const CUresult code = driver().cuEventQuery(event.handle);
  if (code == kNotReady) return false;
  check_device(code, event.device, "cuEventQuery");
  return true;
}
void wait_for_event(int64_t number) {
  const Event event = event_at(number);
  if (!event.is_recorded) return;
  use(event.device);
  check_device(driver().cuEventSynchronize(event.handle), event.device, "cuEventSynchronize");
}
double event_distance(int64_t start, int64_t end) {
  const Event first = event_at(start), last = event_at(end);
  SCONCE_CHECK_AS(value, first.is_timed && last.is_timed,
                  "Both events must be created with argument 'enable_timing=True'.");
  SCONCE_CHECK_AS(value, first.is_recorded && last.is_recorded,
                  "Both events must be recorded before calculating elapsed time.");
  SCONCE_CHECK(is_event_done(start) && is_event_done(end),
               "Both events must be completed before calculating elapsed time.");
  use(first.device);
  float milliseconds = 0;
  check_device(driver().cuEventElapsedTime(&milliseconds, first.handle, last.handle), first.device,
               "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

void record_stream_number(const Tensor& tensor, int64_t stream) {
  if (tensor.numel() == 0) return;
  const Storage& storage = *tensor.storage();
  SCONCE_CHECK(tensor.device().type == DeviceType::cuda && storage.kind == Storage::Kind::device,
               "record_stream: the memory of a tensor on {} does not come from the allocator of CUDA devices",
               to_string(tensor.device()));
  record_stream(static_cast<Block*>(storage.handle), numbered_stream(tensor.device(), stream));
}

}  // namespace sconce::cuda
