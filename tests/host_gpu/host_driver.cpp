// A stand-in for NVIDIA's driver (libcuda.so.1): one device whose memory is the host's and whose kernels are C++ that
// host_compiler.cpp made of their texts. A thread of a kernel is a fiber; those of a block take turns at barriers and shuffles,
// blocks follow each other. So kernels run as they stand, and their results can be compared, on machines without a GPU.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sconce/testing/sanitizers.h"

#if SCONCE_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#endif

// Saves the callee's registers on one stack and takes those of another.
asm(R"(
.text
.globl sconce_fiber_switch
.hidden sconce_fiber_switch
.type sconce_fiber_switch, @function
sconce_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sconce_fiber_switch, .-sconce_fiber_switch
)");
extern "C" void sconce_fiber_switch(void** save, void* to);

namespace {

struct Index {
  unsigned x, y, z;
};
struct Threads {  // HostThreads of host_kernel.h
  Index thread, block, block_size, grid;
  unsigned lane;
  void (*barrier)();
  const unsigned* (*exchange)(unsigned value);
  unsigned (*live_lanes)();
};

constexpr size_t kStackBytes = 128 << 10;
constexpr int kMostThreads = 1024;

enum class Wait : uint8_t { none, block, warp };

struct Fiber {
  void* stack_pointer;
  Index index;
  Wait wait;
  bool done;
  unsigned shuffles;  // so far: which of the two rooms of the warp the next one uses
};

struct Warp {
  int live = 0, waiting = 0;
  unsigned mask = 0;
  unsigned room[2][32];
};

struct Machine {
  std::mutex mutex;
  char* stacks = nullptr;
  Fiber fibers[kMostThreads];
  Warp warps[kMostThreads / 32];
  int count = 0, live = 0, waiting = 0, current = 0;
  void* scheduler = nullptr;
  void (*kernel)(void*) = nullptr;
  void* argument = nullptr;
  Threads threads{};
};
Machine& machine() {
  static auto& m = *new Machine;
  return m;
}

void pause(Wait wait) {
  Machine& m = machine();
  Fiber& f = m.fibers[m.current];
  f.wait = wait;
  sconce_fiber_switch(&f.stack_pointer, m.scheduler);
}

void release_block(Machine& m) {
  if (m.waiting == 0 || m.waiting != m.live) return;
  for (int i = 0; i < m.count; ++i) {
    if (m.fibers[i].wait == Wait::block) m.fibers[i].wait = Wait::none;
  }
  m.waiting = 0;
}
void release_warp(Machine& m, int w) {
  Warp& warp = m.warps[w];
  if (warp.waiting == 0 || warp.waiting != warp.live) return;
  for (int i = w * 32; i < m.count && i < w * 32 + 32; ++i) {
    if (m.fibers[i].wait == Wait::warp) m.fibers[i].wait = Wait::none;
  }
  warp.waiting = 0;
}

void barrier() {
  Machine& m = machine();
  ++m.waiting;
  m.fibers[m.current].wait = Wait::block;
  release_block(m);
  if (m.fibers[m.current].wait != Wait::none) pause(Wait::block);
}

const unsigned* exchange(unsigned value) {
  Machine& m = machine();
  Fiber& f = m.fibers[m.current];
  const int w = m.current / 32;
  Warp& warp = m.warps[w];
  unsigned* room = warp.room[f.shuffles++ & 1];
  room[m.current % 32] = value;
  ++warp.waiting;
  f.wait = Wait::warp;
  release_warp(m, w);
  if (f.wait != Wait::none) pause(Wait::warp);
  return room;
}

unsigned live_lanes() {
  Machine& m = machine();
  return m.warps[m.current / 32].mask;
}

void fiber_main() {
  Machine& m = machine();
  m.kernel(m.argument);
  Fiber& f = m.fibers[m.current];
  f.done = true;
  const int w = m.current / 32;
  --m.live;
  --m.warps[w].live;
  m.warps[w].mask &= ~(1u << (m.current % 32));
  release_block(m);
  release_warp(m, w);
  void* unused;
  sconce_fiber_switch(&unused, m.scheduler);
  std::abort();
}

void start_fiber(Machine& m, int i) {
  char* top = m.stacks + (i + 1) * kStackBytes;
#if SCONCE_UNDER_ASAN
  // fiber_main does not return, so that AddressSanitizer still guards what the frames of the stack's last fiber had.
  __asan_unpoison_memory_region(top - kStackBytes, kStackBytes);
#endif
  auto* at = reinterpret_cast<void**>(top) - 1;
  *at = nullptr;  // where fiber_main would return to: keeps the stack aligned
  *--at = reinterpret_cast<void*>(&fiber_main);
  for (int k = 0; k < 6; ++k) *--at = nullptr;  // the registers that the switch takes
  m.fibers[i] = {at, {}, Wait::none, false, 0};
}

void run_block(Machine& m) {
  const Index size = m.threads.block_size;
  m.count = m.live = static_cast<int>(size.x * size.y * size.z);
  m.waiting = 0;
  for (int w = 0; w * 32 < m.count; ++w) {
    Warp& warp = m.warps[w];
    warp.live = m.count - w * 32 < 32 ? m.count - w * 32 : 32;
    warp.mask = warp.live == 32 ? ~0u : (1u << warp.live) - 1;
    warp.waiting = 0;
    std::memset(warp.room, 0, sizeof warp.room);
  }
  for (int i = 0; i < m.count; ++i) {
    start_fiber(m, i);
    const auto n = static_cast<unsigned>(i);
    m.fibers[i].index = {n % size.x, n / size.x % size.y, n / size.x / size.y};
  }
  while (m.live > 0) {
    bool moved = false;
    for (int i = 0; i < m.count; ++i) {
      Fiber& f = m.fibers[i];
      if (f.done || f.wait != Wait::none) continue;
      moved = true;
      m.current = i;
      m.threads.thread = f.index;
      m.threads.lane = static_cast<unsigned>(i % 32);
      sconce_fiber_switch(&m.scheduler, f.stack_pointer);
    }
    if (!moved) {
      std::fprintf(stderr, "host_gpu: the threads of a block wait for each other in different places\n");
      std::abort();
    }
  }
}

struct Event {
  std::chrono::steady_clock::time_point time;
};

size_t image_size(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

}  // namespace

namespace {

struct Launch {  // of a graph; the argument's size is not known, so that more than it is kept
  void* function;
  unsigned grid[3], block[3];
  alignas(64) char argument[4096];
};
struct HostGraph {
  std::vector<std::function<void()>> work;
};
HostGraph* captured = nullptr;  // one stream at a time
void* capturing_stream = nullptr;

bool keep(void* stream, std::function<void()> work) {
  if (captured == nullptr || stream != capturing_stream) return false;
  captured->work.push_back(std::move(work));
  return true;
}

}  // namespace

extern "C" {

#define API __attribute__((visibility("default"))) int
using Pointer = unsigned long long;

API cuInit(unsigned) { return 0; }
API cuDriverGetVersion(int* version) { return *version = 13000, 0; }
API cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_OF_HOST_GPU", 0; }
API cuGetErrorString(int, const char** text) { return *text = "the stand-in for the driver refuses", 0; }
API cuDeviceGetCount(int* count) { return *count = 1, 0; }
API cuDeviceGet(int* device, int) { return *device = 0, 0; }
API cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, static_cast<size_t>(size), "Host"), 0; }
API cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* major = std::getenv("SCONCE_HOST_GPU_MAJOR");  // as which generation it presents itself: 9
  *value = attribute == 75   ? (major ? std::atoi(major) : 9)
           : attribute == 76 ? 0
           : attribute == 16 ? 132
           : attribute == 97 ? 232448
                             : 1;
  return 0;
}
API cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{8} << 30, 0; }
API cuDeviceCanAccessPeer(int* can, int, int) { return *can = 0, 0; }
API cuDevicePrimaryCtxRetain(void** context, int) { return *context = &machine(), 0; }
API cuCtxSetCurrent(void*) { return 0; }
API cuCtxSynchronize() { return 0; }
API cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -1, 0; }
API cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = size_t{8} << 30, 0; }
API cuMemAlloc_v2(Pointer* data, size_t bytes) {
  void* p = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (p == nullptr) return 2;
  std::memset(p, 0xff, bytes);  // NaN, -1: what nobody wrote shows
  return *data = reinterpret_cast<Pointer>(p), 0;
}
API cuMemFree_v2(Pointer data) { return std::free(reinterpret_cast<void*>(data)), 0; }
API cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  return (*data = std::aligned_alloc(512, (bytes + 511) / 512 * 512)) == nullptr ? 2
                                                                                 : (std::memset(*data, 0, bytes), 0);
}
API cuMemFreeHost(void* data) { return std::free(data), 0; }
API cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* stream) {
  if (keep(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); })) return 0;
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
API cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* stream) {
  if (keep(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); })) return 0;
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
API cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void* stream) {
  if (keep(stream, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); })) return 0;
  return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}
API cuMemcpyPeerAsync(Pointer to, void*, Pointer from, void*, size_t bytes, void* stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
API cuMemsetD8Async(Pointer to, unsigned char value, size_t bytes, void* stream) {
  if (keep(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); })) return 0;
  return std::memset(reinterpret_cast<void*>(to), value, bytes), 0;
}
API cuStreamCreateWithPriority(void** stream, unsigned, int) { return *stream = new char, 0; }
API cuStreamDestroy_v2(void* stream) { return delete static_cast<char*>(stream), 0; }
API cuStreamSynchronize(void*) { return 0; }
API cuStreamQuery(void*) { return 0; }
API cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
API cuEventCreate(Event** event, unsigned) { return *event = new Event, 0; }
API cuEventDestroy_v2(Event* event) { return delete event, 0; }
API cuEventRecord(Event* event, void*) { return event->time = std::chrono::steady_clock::now(), 0; }
API cuEventQuery(void*) { return 0; }
API cuEventSynchronize(void*) { return 0; }
API cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  return *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count(), 0;
}
API cuModuleLoadData(void** module, const void* image) {
  const int file = ::memfd_create("host_gpu_kernel", MFD_CLOEXEC);
  const size_t size = image_size(static_cast<const char*>(image));
  if (file < 0 || ::write(file, image, size) != static_cast<ssize_t>(size)) return 200;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  *module = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*module == nullptr) std::fprintf(stderr, "host_gpu: %s\n", ::dlerror());
  // The file stays open: the loader knows libraries by their names, and the next one must have another.
  if (*module == nullptr) return 200;
  if (void* slot = ::dlsym(*module, "sconce_host_threads")) *static_cast<Threads**>(slot) = &machine().threads;
  return 0;
}
API cuModuleUnload(void* module) { return ::dlclose(module) == 0 ? 0 : 200; }
API cuModuleGetFunction(void** function, void* module, const char* name) {
  return (*function = ::dlsym(module, name)) == nullptr ? 500 : 0;
}
API cuFuncGetAttribute(int* value, int, void*) { return *value = 32, 0; }
API cuFuncSetAttribute(void*, int, int) { return 0; }
API cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned, void* stream, void** arguments, void** extra) {
  if (captured != nullptr && stream == capturing_stream) {
    auto kept = std::make_shared<Launch>();
    *kept = {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}};
    std::memcpy(kept->argument, arguments != nullptr ? arguments[0] : extra[1], sizeof kept->argument);
    captured->work.push_back([kept] {
      void* argument[] = {kept->argument};
      cuLaunchKernel(kept->function, kept->grid[0], kept->grid[1], kept->grid[2], kept->block[0], kept->block[1],
                     kept->block[2], 0, nullptr, argument, nullptr);
    });
    return 0;
  }
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  if (block_x * block_y * block_z > kMostThreads || block_x * block_y * block_z == 0 || grid_x == 0 || grid_y == 0 ||
      grid_y > 65535 || grid_z == 0 || grid_z > 65535)
    return 1;
  if (m.stacks == nullptr) {
    m.stacks = static_cast<char*>(::mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  m.kernel = reinterpret_cast<void (*)(void*)>(function);
  m.argument = arguments != nullptr ? arguments[0] : extra[1];  // {buffer pointer, its address, ...}
  m.threads.block_size = {block_x, block_y, block_z};
  m.threads.grid = {grid_x, grid_y, grid_z};
  m.threads.barrier = barrier;
  m.threads.exchange = exchange;
  m.threads.live_lanes = live_lanes;
  for (unsigned z = 0; z < grid_z; ++z) {
    for (unsigned y = 0; y < grid_y; ++y) {
      for (unsigned x = 0; x < grid_x; ++x) {
        m.threads.block = {x, y, z};
        run_block(m);
      }
    }
  }
  return 0;
}
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  void* attributes;
  unsigned count;
};
API cuLaunchKernelEx(const LaunchConfig* c, void* function, void** arguments, void** extra) {
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
                        c->shared_bytes, c->stream, arguments, extra);
}
API cuStreamBeginCapture_v2(void* stream, int) {
  if (captured != nullptr) return 900;
  captured = new HostGraph;
  capturing_stream = stream;
  return 0;
}
API cuStreamEndCapture(void* stream, HostGraph** graph) {
  if (stream != capturing_stream) return 900;
  *graph = captured;
  captured = nullptr;
  return 0;
}
API cuGraphGetNodes(HostGraph* graph, void**, size_t* count) { return *count = graph->work.size(), 0; }
API cuGraphInstantiateWithFlags(HostGraph** executable, HostGraph* graph, unsigned long long) {
  return *executable = new HostGraph(*graph), 0;
}
API cuGraphLaunch(HostGraph* executable, void*) {
  for (const auto& work : executable->work) work();
  return 0;
}
API cuGraphExecDestroy(HostGraph* executable) { return delete executable, 0; }
API cuGraphDestroy(HostGraph* graph) { return delete graph, 0; }
}
