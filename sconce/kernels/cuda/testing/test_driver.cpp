#include "sconce/kernels/cuda/testing/test_driver.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "sconce/base/error.h"

namespace sconce::cuda::testing {
namespace {

TestDriver* instance = nullptr;
thread_local int current_device = -1;  // of the context that is current in this thread

constexpr CUresult kInvalidValue = 1, kInvalidContext = 201, kNotFound = 500;
constexpr CUresult kCaptureUnsupported = 900, kCaptureSpoilt = 901;
constexpr std::align_val_t kAlignment{512};

char* host(CUdeviceptr address) { return reinterpret_cast<char*>(address); }
CUcontext context_handle(int device) { return reinterpret_cast<CUcontext>(static_cast<intptr_t>(device + 1)); }

struct Text {
  CUresult code;
  const char *name, *text;
};
constexpr Text kTexts[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"}};

struct Program {
  std::string text, log;
};

}  // namespace

// The functions of both tables.
struct Functions {
  static TestDriver& d() { return *instance; }
  static TestDriver::Stream& stream(CUstream s) { return *reinterpret_cast<TestDriver::Stream*>(s); }
  static TestDriver::Event& event(CUevent e) { return *reinterpret_cast<TestDriver::Event*>(e); }

  static CUresult launch(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                         unsigned, unsigned shared_bytes, CUstream s, void** arguments, void**) {
    const std::string& name = reinterpret_cast<TestDriver::Function*>(function)->name;
    d().launched.push_back(name);
    const auto kernel = d().kernels_.find(name);
    if (kernel == d().kernels_.end()) return kSuccess;  // does nothing
    const TestDriver::Named& named = kernel->second;
    std::vector<char> argument(named.bytes);
    std::memcpy(argument.data(), arguments[0], named.bytes);
    const TestDriver::Grid grid{x, y, z, block_x, block_y, shared_bytes};
    d().add(s, [run = named.run, argument = std::move(argument), grid] { run(argument.data(), grid); });
    return kSuccess;
  }

  static Driver driver() {
    Driver t{};
#define SCONCE_TEST_CALL(function) \
  if (const CUresult code = d().called(#function); code != kSuccess) return code
#define SCONCE_TEST_CONTEXT(function) \
  SCONCE_TEST_CALL(function);         \
  if (current_device < 0) return kInvalidContext
    t.cuInit = [](unsigned) -> CUresult {
      SCONCE_TEST_CALL(cuInit);
      return kSuccess;
    };
    t.cuDriverGetVersion = [](int* version) -> CUresult {
      SCONCE_TEST_CALL(cuDriverGetVersion);
      *version = d().version;
      return kSuccess;
    };
    t.cuGetErrorName = [](CUresult code, const char** name) -> CUresult {
      for (const Text& t : kTexts) {
        if (t.code == code) *name = t.name;
      }
      return *name ? kSuccess : kInvalidValue;
    };
    t.cuGetErrorString = [](CUresult code, const char** text) -> CUresult {
      for (const Text& t : kTexts) {
        if (t.code == code) *text = t.text;
      }
      return *text ? kSuccess : kInvalidValue;
    };
    t.cuDeviceGetCount = [](int* count) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceGetCount);
      *count = d().devices_;
      return kSuccess;
    };
    t.cuDeviceGet = [](CUdevice* device, int index) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceGet);
      *device = index;
      return index < d().devices_ ? kSuccess : kInvalidValue;
    };
    t.cuDeviceGetName = [](char* name, int size, CUdevice) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceGetName);
      std::strncpy(name, "Test GPU", static_cast<size_t>(size));
      return kSuccess;
    };
    t.cuDeviceGetAttribute = [](int* value, int attribute, CUdevice) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceGetAttribute);
      *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 97 ? 232448 : 0;
      return kSuccess;
    };
    t.cuDeviceTotalMem_v2 = [](size_t* bytes, CUdevice) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceTotalMem_v2);
      *bytes = d().bytes;
      return kSuccess;
    };
    t.cuDeviceCanAccessPeer = [](int* can, CUdevice, CUdevice) -> CUresult {
      SCONCE_TEST_CALL(cuDeviceCanAccessPeer);
      *can = 1;
      return kSuccess;
    };
    t.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice device) -> CUresult {
      SCONCE_TEST_CALL(cuDevicePrimaryCtxRetain);
      *context = context_handle(device);
      return kSuccess;
    };
    t.cuCtxSetCurrent = [](CUcontext context) -> CUresult {
      SCONCE_TEST_CALL(cuCtxSetCurrent);
      current_device = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
      return kSuccess;
    };
    t.cuCtxSynchronize = []() -> CUresult {
      SCONCE_TEST_CONTEXT(cuCtxSynchronize);
      for (size_t i = 0; i < d().streams_.size(); ++i) {
        TestDriver::Stream& s = *d().streams_[i];
        if (s.device == current_device) d().run_until(s, s.asked);
      }
      return kSuccess;
    };
    t.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) -> CUresult {
      SCONCE_TEST_CONTEXT(cuCtxGetStreamPriorityRange);
      *least = 0;
      *greatest = -5;
      return kSuccess;
    };
    t.cuMemGetInfo_v2 = [](size_t* free, size_t* total) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemGetInfo_v2);
      *free = d().bytes - d().taken(current_device);
      *total = d().bytes;
      return kSuccess;
    };
    t.cuMemAlloc_v2 = [](CUdeviceptr* data, size_t bytes) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemAlloc_v2);
      size_t& taken = d().taken_[static_cast<size_t>(current_device)];
      if (bytes > d().bytes - taken) return kOutOfMemory;
      taken += bytes;
      *data = reinterpret_cast<CUdeviceptr>(::operator new(bytes, kAlignment));
      d().live_[*data] = {current_device, bytes};
      return kSuccess;
    };
    t.cuMemFree_v2 = [](CUdeviceptr data) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemFree_v2);
      const auto it = d().live_.find(data);
      if (it == d().live_.end()) return kInvalidValue;
      d().run_all();  // as the driver's, it waits
      d().taken_[static_cast<size_t>(it->second.first)] -= it->second.second;
      d().live_.erase(it);
      ::operator delete(host(data), kAlignment);
      return kSuccess;
    };
    t.cuMemHostAlloc = [](void** data, size_t bytes, unsigned) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemHostAlloc);
      *data = ::operator new(bytes, kAlignment);
      d().pinned_.insert(*data);
      return kSuccess;
    };
    t.cuMemFreeHost = [](void* data) -> CUresult {
      SCONCE_TEST_CALL(cuMemFreeHost);
      if (d().pinned_.erase(data) == 0) return kInvalidValue;
      ::operator delete(data, kAlignment);
      return kSuccess;
    };
    // From memory of the host that is not pinned, the bytes are taken at once.
    t.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, size_t bytes, CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemcpyHtoDAsync_v2);
      std::string staged(static_cast<const char*>(from), bytes);
      d().add(s, [to, staged = std::move(staged)] { std::memcpy(host(to), staged.data(), staged.size()); });
      return kSuccess;
    };
    t.cuMemcpyDtoHAsync_v2 = [](void* to, CUdeviceptr from, size_t bytes, CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemcpyDtoHAsync_v2);
      d().add(s, [=] { std::memcpy(to, host(from), bytes); });
      return kSuccess;
    };
    t.cuMemcpyDtoDAsync_v2 = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemcpyDtoDAsync_v2);
      d().add(s, [=] { std::memcpy(host(to), host(from), bytes); });
      return kSuccess;
    };
    t.cuMemcpyPeerAsync = [](CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                             CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemcpyPeerAsync);
      d().add(s, [=] { std::memcpy(host(to), host(from), bytes); });
      return kSuccess;
    };
    t.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, size_t bytes, CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuMemsetD8Async);
      d().add(s, [=] { std::memset(host(to), value, bytes); });
      return kSuccess;
    };
    t.cuStreamCreateWithPriority = [](CUstream* s, unsigned, int) -> CUresult {
      SCONCE_TEST_CONTEXT(cuStreamCreateWithPriority);
      d().streams_.push_back(std::make_unique<TestDriver::Stream>());
      d().streams_.back()->device = current_device;
      *s = reinterpret_cast<CUstream>(d().streams_.back().get());
      return kSuccess;
    };
    t.cuStreamDestroy_v2 = [](CUstream s) -> CUresult {
      SCONCE_TEST_CALL(cuStreamDestroy_v2);
      d().run(s);
      return kSuccess;
    };
    t.cuStreamSynchronize = [](CUstream s) -> CUresult {
      SCONCE_TEST_CALL(cuStreamSynchronize);
      if (stream(s).captured) {
        stream(s).is_spoilt = true;
        return kCaptureUnsupported;
      }
      d().run(s);
      return kSuccess;
    };
    t.cuStreamQuery = [](CUstream s) -> CUresult {
      SCONCE_TEST_CALL(cuStreamQuery);
      return stream(s).queue.empty() ? kSuccess : kNotReady;
    };
    t.cuStreamWaitEvent = [](CUstream s, CUevent e, unsigned) -> CUresult {
      SCONCE_TEST_CALL(cuStreamWaitEvent);
      TestDriver::Stream* other = event(e).stream;
      const size_t position = event(e).position;
      if (other) d().add(s, [other, position] { d().run_until(*other, position); });
      return kSuccess;
    };
    t.cuEventCreate = [](CUevent* e, unsigned) -> CUresult {
      SCONCE_TEST_CONTEXT(cuEventCreate);
      d().events_.push_back(std::make_unique<TestDriver::Event>());
      *e = reinterpret_cast<CUevent>(d().events_.back().get());
      return kSuccess;
    };
    t.cuEventDestroy_v2 = [](CUevent) -> CUresult {
      SCONCE_TEST_CALL(cuEventDestroy_v2);
      return kSuccess;
    };
    t.cuEventRecord = [](CUevent e, CUstream s) -> CUresult {
      SCONCE_TEST_CALL(cuEventRecord);
      event(e) = {&stream(s), stream(s).asked};
      return kSuccess;
    };
    t.cuEventQuery = [](CUevent e) -> CUresult {
      SCONCE_TEST_CALL(cuEventQuery);
      return !event(e).stream || event(e).stream->done >= event(e).position ? kSuccess : kNotReady;
    };
    t.cuEventSynchronize = [](CUevent e) -> CUresult {
      SCONCE_TEST_CALL(cuEventSynchronize);
      if (event(e).stream) d().run_until(*event(e).stream, event(e).position);
      return kSuccess;
    };
    t.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) -> CUresult {
      SCONCE_TEST_CALL(cuEventElapsedTime);
      *milliseconds = 1;
      return kSuccess;
    };
    t.cuModuleLoadData = [](CUmodule* module, const void* image) -> CUresult {
      SCONCE_TEST_CONTEXT(cuModuleLoadData);
      if (d().ptx.count(static_cast<const char*>(image))) return 209;  // CUDA_ERROR_NO_BINARY_FOR_GPU
      d().modules_.push_back(std::make_unique<TestDriver::Module>());
      *module = reinterpret_cast<CUmodule>(d().modules_.back().get());
      return kSuccess;
    };
    t.cuModuleUnload = [](CUmodule) -> CUresult {
      SCONCE_TEST_CALL(cuModuleUnload);
      return kSuccess;
    };
    t.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char* name) -> CUresult {
      SCONCE_TEST_CALL(cuModuleGetFunction);
      if (std::string_view(name) == "absent") return kNotFound;
      auto& functions = reinterpret_cast<TestDriver::Module*>(module)->functions;
      functions.push_back(std::make_unique<TestDriver::Function>(TestDriver::Function{name}));
      *function = reinterpret_cast<CUfunction>(functions.back().get());
      return kSuccess;
    };
    t.cuFuncGetAttribute = [](int* value, int attribute, CUfunction) -> CUresult {
      SCONCE_TEST_CALL(cuFuncGetAttribute);
      *value = attribute == 4 ? 32 : attribute == 1 ? 1024 : 0;
      return kSuccess;
    };
    t.cuFuncSetAttribute = [](CUfunction, int, int) -> CUresult {
      SCONCE_TEST_CALL(cuFuncSetAttribute);
      return kSuccess;
    };
    t.cuLaunchKernel = [](CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared_bytes, CUstream s, void** arguments,
                          void** extra) -> CUresult {
      SCONCE_TEST_CONTEXT(cuLaunchKernel);
      return launch(function, x, y, z, block_x, block_y, block_z, shared_bytes, s, arguments, extra);
    };
    t.cuLaunchKernelEx = [](const CUlaunchConfig* c, CUfunction function, void** arguments, void** extra) -> CUresult {
      SCONCE_TEST_CONTEXT(cuLaunchKernelEx);
      return launch(function, c->grid_x, c->grid_y, c->grid_z, c->block_x, c->block_y, c->block_z, c->shared_bytes,
                    c->stream, arguments, extra);
    };
    t.cuStreamBeginCapture_v2 = [](CUstream s, int) -> CUresult {
      SCONCE_TEST_CONTEXT(cuStreamBeginCapture_v2);
      if (stream(s).captured) return kInvalidValue;
      stream(s).captured = *d().graphs_.insert(new TestDriver::Work).first;
      stream(s).is_spoilt = false;
      return kSuccess;
    };
    t.cuStreamEndCapture = [](CUstream s, CUgraph* graph) -> CUresult {
      SCONCE_TEST_CALL(cuStreamEndCapture);
      TestDriver::Work* work = std::exchange(stream(s).captured, nullptr);
      if (!work) return kInvalidValue;
      if (stream(s).is_spoilt) {
        d().graphs_.erase(work);
        delete work;
        return kCaptureSpoilt;
      }
      *graph = reinterpret_cast<CUgraph>(work);
      return kSuccess;
    };
    t.cuGraphGetNodes = [](CUgraph graph, CUgraphNode*, size_t* count) -> CUresult {
      SCONCE_TEST_CALL(cuGraphGetNodes);
      *count = reinterpret_cast<TestDriver::Work*>(graph)->size();
      return kSuccess;
    };
    t.cuGraphInstantiateWithFlags = [](CUgraphExec* executable, CUgraph graph, unsigned long long) -> CUresult {
      SCONCE_TEST_CONTEXT(cuGraphInstantiateWithFlags);
      auto* copy = new TestDriver::Work(*reinterpret_cast<TestDriver::Work*>(graph));
      d().graphs_.insert(copy);
      *executable = reinterpret_cast<CUgraphExec>(copy);
      return kSuccess;
    };
    t.cuGraphLaunch = [](CUgraphExec executable, CUstream s) -> CUresult {
      SCONCE_TEST_CONTEXT(cuGraphLaunch);
      for (const auto& work : *reinterpret_cast<TestDriver::Work*>(executable)) d().add(s, work);
      return kSuccess;
    };
    t.cuGraphExecDestroy = [](CUgraphExec executable) -> CUresult {
      SCONCE_TEST_CALL(cuGraphExecDestroy);
      auto* work = reinterpret_cast<TestDriver::Work*>(executable);
      if (d().graphs_.erase(work) == 0) return kInvalidValue;
      delete work;
      return kSuccess;
    };
    t.cuGraphDestroy = [](CUgraph graph) -> CUresult {
      SCONCE_TEST_CALL(cuGraphDestroy);
      auto* work = reinterpret_cast<TestDriver::Work*>(graph);
      if (d().graphs_.erase(work) == 0) return kInvalidValue;
      delete work;
      return kSuccess;
    };
#undef SCONCE_TEST_CONTEXT
    return t;
  }

  static Nvrtc nvrtc() {
    Nvrtc t{};
    t.nvrtcVersion = [](int* major, int* minor) -> NvrtcResult {
      *major = 13;
      *minor = 0;
      return 0;
    };
    t.nvrtcGetNumSupportedArchs = [](int* count) -> NvrtcResult {
      *count = 3;
      return 0;
    };
    t.nvrtcGetSupportedArchs = [](int* architectures) -> NvrtcResult {
      architectures[0] = 80;
      architectures[1] = 90;
      architectures[2] = 100;
      return 0;
    };
    t.nvrtcCreateProgram = [](NvrtcProgram* program, const char* text, const char*, int, const char* const*,
                              const char* const*) -> NvrtcResult {
      SCONCE_TEST_CALL(nvrtcCreateProgram);
      *program = reinterpret_cast<NvrtcProgram>(new Program{text, ""});
      return 0;
    };
    t.nvrtcDestroyProgram = [](NvrtcProgram* program) -> NvrtcResult {
      delete reinterpret_cast<Program*>(*program);
      return 0;
    };
    t.nvrtcCompileProgram = [](NvrtcProgram program, int count, const char* const* options) -> NvrtcResult {
      SCONCE_TEST_CALL(nvrtcCompileProgram);
      auto* p = reinterpret_cast<Program*>(program);
      d().last_options.assign(options, options + count);
      if (p->text.find("#error") != std::string::npos) {
        p->log = "kernel.cu(1): error: #error\n";
        return 6;
      }
      d().compiled.push_back(p->text);
      return 0;
    };
    constexpr auto size = [](NvrtcProgram program, size_t* bytes) -> NvrtcResult {
      *bytes = reinterpret_cast<Program*>(program)->text.size() + sizeof "image of ";
      return 0;
    };
    constexpr auto image = [](NvrtcProgram program, char* to) -> NvrtcResult {
      std::strcpy(to, ("image of " + reinterpret_cast<Program*>(program)->text).c_str());
      return 0;
    };
    t.nvrtcGetCUBINSize = t.nvrtcGetPTXSize = size;
    t.nvrtcGetCUBIN = t.nvrtcGetPTX = image;
    t.nvrtcGetProgramLogSize = [](NvrtcProgram program, size_t* bytes) -> NvrtcResult {
      *bytes = reinterpret_cast<Program*>(program)->log.size() + 1;
      return 0;
    };
    t.nvrtcGetProgramLog = [](NvrtcProgram program, char* log) -> NvrtcResult {
      std::strcpy(log, reinterpret_cast<Program*>(program)->log.c_str());
      return 0;
    };
    return t;
  }
#undef SCONCE_TEST_CALL
};

TestDriver::TestDriver(int devices, size_t memory)
    : bytes(memory), devices_(devices), taken_(static_cast<size_t>(devices)) {
  SCONCE_ASSERT(!instance);
  instance = this;
  current_device = -1;
  static const Driver driver = Functions::driver();
  static const Nvrtc nvrtc = Functions::nvrtc();
  replace_driver(&driver);
  replace_nvrtc(&nvrtc);
}

TestDriver::~TestDriver() {
  replace_driver(nullptr);
  replace_nvrtc(nullptr);
  for (const auto& [address, facts] : live_) ::operator delete(host(address), kAlignment);
  for (void* data : pinned_) ::operator delete(data, kAlignment);
  for (const Work* graph : graphs_) delete graph;
  instance = nullptr;
}

void TestDriver::fail(const std::string& function, CUresult code, int nth, int times) {
  failures_[function].push_back({calls_[function] + nth, times, code});
}

void TestDriver::set_kernel(const std::string& entry, size_t argument_bytes, HostKernel kernel) {
  kernels_[entry] = {argument_bytes, std::move(kernel)};
}

int TestDriver::calls(const std::string& function) const {
  const auto it = calls_.find(function);
  return it == calls_.end() ? 0 : it->second;
}

CUresult TestDriver::called(const char* function) {
  const std::lock_guard lock(calls_mutex_);
  const int count = ++calls_[function];
  const auto it = failures_.find(function);
  if (it == failures_.end()) return kSuccess;
  for (const Failure& f : it->second) {
    if (count >= f.nth && count < f.nth + f.times) return f.code;
  }
  return kSuccess;
}

void TestDriver::add(CUstream stream, std::function<void()> work) {
  auto& s = *reinterpret_cast<Stream*>(stream);
  if (s.captured) return s.captured->push_back(std::move(work));
  s.queue.push_back(std::move(work));
  ++s.asked;
  if (!is_late) run(stream);
}

void TestDriver::run_until(Stream& stream, size_t position) {
  while (stream.done < position && !stream.queue.empty()) {
    const std::function<void()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    work();
    ++stream.done;
  }
}

void TestDriver::run(CUstream stream) {
  auto& s = *reinterpret_cast<Stream*>(stream);
  run_until(s, s.asked);
}

void TestDriver::run_all() {
  for (size_t i = 0; i < streams_.size(); ++i) run_until(*streams_[i], streams_[i]->asked);
}

size_t TestDriver::waiting() const {
  size_t count = 0;
  for (const auto& stream : streams_) count += stream->queue.size();
  return count;
}

}  // namespace sconce::cuda::testing
