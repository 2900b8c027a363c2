#include "sconce/kernels/cuda/device/context.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/graphs.h"
#include "sconce/kernels/cuda/device/kernel_table.h"
#include "sconce/kernels/cuda/device/streams.h"

namespace sconce::cuda {
namespace {

constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76, kSharedOptIn = 97;  // CUdevice_attribute
constexpr unsigned kNonBlocking = 1;                                               // CU_STREAM_NON_BLOCKING
constexpr int kPoolStreams = 32;
constexpr int kNotedLaunches = 8;

struct DeviceState {
  Once asked;  // for the properties
  DeviceProperties properties;
  Once opened;  // context and default stream
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::mutex mutex;  // of the pools and of `why_lost`
  std::array<std::array<CUstream, kPoolStreams>, 2> pools{};
  std::array<unsigned, 2> handed_out{};
  std::atomic<bool> is_lost = false;
  std::string why_lost;
  std::array<std::atomic<const char*>, kNotedLaunches> launched{};
  std::atomic<unsigned> launches = 0;
};

struct Devices {
  Once counted;
  int count = 0;
  std::array<DeviceState, kMostDevices> state;
};

std::atomic<Devices*> current_devices = nullptr;
std::mutex devices_mutex;
// Goes up when contexts that threads have bound are not to be trusted: in a forked child, and between tests.
std::atomic<uint32_t> generation = 1;
std::atomic<bool> is_forked_child = false;

// Of this thread.
thread_local constinit int8_t chosen_index = 0;
thread_local constinit int8_t bound_index = -1;  // whose context is current
thread_local constinit uint32_t bound_generation = 0;
thread_local constinit CUstream chosen_streams[kMostDevices] = {};

Devices& devices() {
  if (Devices* known = current_devices.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(devices_mutex);
  if (Devices* known = current_devices.load(std::memory_order_acquire)) return *known;
  auto* made = new Devices;  // lives for ever: tensors may outlive static destructors
  current_devices.store(made, std::memory_order_release);
  return *made;
}

std::string devices_text(int count) {
  return count == 1 ? "this machine has 1 CUDA device" : fmt::format("this machine has {} CUDA devices", count);
}

DeviceState& state_of(int index) {
  const int count = device_count();
  if (index < 0 || index >= count) [[unlikely]] {
    driver();  // throws when there is none
    fail("cuda:{}: {}", index, devices_text(count));
  }
  return devices().state[static_cast<size_t>(index)];
}

int number_of(Device device) { return device.index >= 0 ? device.index : chosen_index; }

bool loses_context(CUresult code) {
  constexpr CUresult kLosing[] = {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  for (const CUresult c : kLosing) {
    if (c == code) return true;
  }
  return false;
}

std::string last_launches(const DeviceState& state) {
  const unsigned count = state.launches.load();
  std::string names;
  for (unsigned i = count < kNotedLaunches ? 0 : count - kNotedLaunches; i < count; ++i) {
    const char* name = state.launched[i % kNotedLaunches].load();
    if (name) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names.empty() ? "none" : names;
}

bool waits_always() {
  static const bool waits = [] {
    const char* text = std::getenv("SCONCE_CUDA_SYNC");
    return text && std::string_view(text) == "1";
  }();
  return waits;
}

CUstream make_stream(bool high_priority) {
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  CUstream stream = nullptr;
  check(driver().cuStreamCreateWithPriority(&stream, kNonBlocking, high_priority ? greatest : least),
        "cuStreamCreateWithPriority");
  return stream;
}

void open_device(DeviceState& state, int index) {
  state.opened([&] {
    static Once once;
    once([] {
      ::pthread_atfork(nullptr, nullptr, [] {
        is_forked_child.store(true);
        generation.fetch_add(1);
      });
    });
    const DeviceProperties& p = properties(Device(DeviceType::cuda, static_cast<int8_t>(index)));
    check(driver().cuDevicePrimaryCtxRetain(&state.context, p.handle), "cuDevicePrimaryCtxRetain");
    check(driver().cuCtxSetCurrent(state.context), "cuCtxSetCurrent");
    state.stream = make_stream(false);
  });
}

// The slow half of use().
void bind(int index) {
  SCONCE_CHECK(!is_forked_child.load(),
               "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
               "'spawn' start method");
  DeviceState& state = state_of(index);
  open_device(state, index);
  check(driver().cuCtxSetCurrent(state.context), "cuCtxSetCurrent");
  bound_index = static_cast<int8_t>(index);
  bound_generation = generation.load();
}

void check_not_lost(DeviceState& state) {
  if (!state.is_lost.load(std::memory_order_relaxed)) [[likely]]
    return;
  const std::lock_guard lock(state.mutex);
  fail("{}", state.why_lost);
}

}  // namespace

int device_count() {
  Devices& all = devices();
  all.counted([&] {
    int count = 0;
    if (const Driver* table = find_driver(); table && table->cuDeviceGetCount(&count) == kSuccess)
      all.count = std::min(count, kMostDevices);
  });
  return all.count;
}

const DeviceProperties& properties(Device device) {
  const int index = number_of(device);
  DeviceState& state = state_of(index);
  state.asked([&] {
    const Driver& d = driver();
    DeviceProperties& p = state.properties;
    check(d.cuDeviceGet(&p.handle, index), "cuDeviceGet");
    char name[256] = {};
    check(d.cuDeviceGetName(name, sizeof name - 1, p.handle), "cuDeviceGetName");
    p.name = name;
    check(d.cuDeviceTotalMem_v2(&p.total_bytes, p.handle), "cuDeviceTotalMem");
    const auto attribute = [&](int which) {
      int value = 0;
      check(d.cuDeviceGetAttribute(&value, which, p.handle), "cuDeviceGetAttribute");
      return value;
    };
    p.major = attribute(kMajor);
    p.minor = attribute(kMinor);
    p.multiprocessors = attribute(kMultiprocessors);
    p.shared_bytes = attribute(kSharedOptIn);
  });
  return state.properties;
}

void memory_info(Device device, size_t& free, size_t& total) {
  use(device);
  check_device(driver().cuMemGetInfo_v2(&free, &total), device, "cuMemGetInfo");
}

int8_t current_index() {
  if (chosen_index >= device_count()) state_of(chosen_index);  // throws
  return chosen_index;
}

void set_current_index(int index) {
  state_of(index);
  chosen_index = static_cast<int8_t>(index);
}

int use(Device device) {
  const int index = number_of(device);
  if (bound_index != index || bound_generation != generation.load(std::memory_order_relaxed)) [[unlikely]]
    bind(index);
  check_not_lost(devices().state[static_cast<size_t>(index)]);
  return index;
}

CUcontext context_of(Device device) {
  const int index = use(device);
  return devices().state[static_cast<size_t>(index)].context;
}

CUstream default_stream(Device device) {
  const int index = use(device);
  return devices().state[static_cast<size_t>(index)].stream;
}

CUstream current_stream(Device device) {
  const int index = use(device);
  const CUstream chosen = chosen_streams[index];
  return chosen ? chosen : devices().state[static_cast<size_t>(index)].stream;
}

void set_current_stream(Device device, CUstream stream) { chosen_streams[use(device)] = stream; }

CUstream pool_stream(Device device, bool high_priority) {
  DeviceState& state = devices().state[static_cast<size_t>(use(device))];
  const std::lock_guard lock(state.mutex);
  CUstream& stream = state.pools[high_priority][state.handed_out[high_priority]++ % kPoolStreams];
  if (!stream) stream = make_stream(high_priority);
  return stream;
}

int64_t new_stream_number(Device device, bool high_priority) {
  DeviceState& state = devices().state[static_cast<size_t>(use(device))];
  const std::lock_guard lock(state.mutex);
  const auto slot = state.handed_out[high_priority]++ % kPoolStreams;
  CUstream& stream = state.pools[high_priority][slot];
  if (!stream) stream = make_stream(high_priority);
  return 1 + (high_priority ? kPoolStreams : 0) + static_cast<int64_t>(slot);
}

CUstream numbered_stream(Device device, int64_t number) {
  DeviceState& state = devices().state[static_cast<size_t>(use(device))];
  if (number == 0) return state.stream;
  SCONCE_CHECK(number > 0 && number <= 2 * kPoolStreams, "there is no CUDA stream {}", number);
  const std::lock_guard lock(state.mutex);
  const CUstream stream = state.pools[number > kPoolStreams][static_cast<size_t>((number - 1) % kPoolStreams)];
  SCONCE_CHECK(stream, "there is no CUDA stream {}", number);
  return stream;
}

int64_t current_stream_number(Device device) {
  const int index = use(device);
  const CUstream chosen = chosen_streams[index];
  DeviceState& state = devices().state[static_cast<size_t>(index)];
  if (!chosen || chosen == state.stream) return 0;
  const std::lock_guard lock(state.mutex);
  for (int high = 0; high < 2; ++high) {
    for (int slot = 0; slot < kPoolStreams; ++slot) {
      if (state.pools[high][slot] == chosen) return 1 + high * kPoolStreams + slot;
    }
  }
  fail("the current CUDA stream is none of the pools");
}

void set_current_stream_number(Device device, int64_t number) {
  set_current_stream(device, number == 0 ? nullptr : numbered_stream(device, number));
}

void synchronize_stream(Device device, CUstream stream) {
  use(device);
  SCONCE_CHECK(!is_capturing(), "cuStreamSynchronize: waits for the device, which cannot be part of a graph");
  check_device(driver().cuStreamSynchronize(stream), device, "cuStreamSynchronize");
  throw_reported(device);
}

void synchronize(Device device) {
  use(device);
  const NoCapture no_capture("cuCtxSynchronize");
  check_device(driver().cuCtxSynchronize(), device, "cuCtxSynchronize");
  throw_reported(device);
}

void check_device(CUresult code, Device device, std::string_view who) {
  if (code == kSuccess) [[likely]]
    return;
  if (!loses_context(code)) fail("{}: {}", who, error_text(code));
  const int index = number_of(device);
  DeviceState& state = devices().state[static_cast<size_t>(index)];
  const std::string what =
      fmt::format("{}: {} (operators that ran last on cuda:{}: {}{})", who, error_text(code), index,
                  last_launches(state), waits_always() ? "" : "; SCONCE_CUDA_SYNC=1 finds the one");
  {
    const std::lock_guard lock(state.mutex);
    if (!state.is_lost.load())
      state.why_lost = fmt::format("cuda:{} cannot be used any more in this process: {}", index, what);
    state.is_lost.store(true);
  }
  fail("{}", what);
}

void note_launch(Device device, CUstream stream, const char* name) {
  DeviceState& state = devices().state[static_cast<size_t>(number_of(device))];
  state.launched[state.launches.fetch_add(1, std::memory_order_relaxed) % kNotedLaunches].store(
      name, std::memory_order_relaxed);
  if (waits_always()) [[unlikely]]
    check_device(driver().cuStreamSynchronize(stream), device, name);
}

void keep_forgotten(const void* object) {
  static std::mutex mutex;
  static auto* const forgotten = new std::vector<const void*>;
  const std::lock_guard lock(mutex);
  if (object) forgotten->push_back(object);
}

void forget_devices() {
  forget_memory();
  forget_kernels();
  forget_error_words();
  forget_graphs();
  keep_forgotten(current_devices.exchange(nullptr));
  generation.fetch_add(1);
  is_forked_child.store(false);
  chosen_index = 0;
  for (CUstream& stream : chosen_streams) stream = nullptr;
}

}  // namespace sconce::cuda
