#include "sconce/kernels/cuda/device/graphs.h"

#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {
namespace {

constexpr int kRelaxed = 2;           // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

thread_local constinit bool captures = false;

std::shared_mutex& capture_mutex() {
  static auto& mutex = *new std::shared_mutex;
  return mutex;
}

// Streams of graphs that are gone, with the blocks that are free there.
struct Pools {
  std::mutex mutex;
  struct Pool {
    int device;
    CUstream stream;
  };
  std::vector<Pool> free;
};
Pools& pools() {
  static auto& made = *new Pools;
  return made;
}

CUstream take_pool(Device device) {
  Pools& p = pools();
  const int index = use(device);
  {
    const std::lock_guard lock(p.mutex);
    for (size_t i = 0; i < p.free.size(); ++i) {
      if (p.free[i].device != index) continue;
      const CUstream stream = p.free[i].stream;
      p.free.erase(p.free.begin() + static_cast<ptrdiff_t>(i));
      keep_blocks(device, stream, true);
      return stream;
    }
  }
  CUstream stream = nullptr;
  check_device(driver().cuStreamCreateWithPriority(&stream, kNonBlocking, 0), device, "cuStreamCreate");
  keep_blocks(device, stream, true);
  return stream;
}

void give_pool_back(Device device, CUstream stream) {
  keep_blocks(device, stream, false);
  Pools& p = pools();
  const std::lock_guard lock(p.mutex);
  p.free.push_back({device.index, stream});
}

// The thread works on another stream, and captures, as long as it exists.
class Capturing {
 public:
  Capturing(Device device, CUstream stream) : device_(device), before_(current_stream(device)), stream_(stream) {
    lock_ = std::unique_lock(capture_mutex());
    check_device(driver().cuStreamBeginCapture_v2(stream, kRelaxed), device, "cuStreamBeginCapture");
    set_current_stream(device, stream);
    captures = true;
  }
  ~Capturing() {
    if (!captures) return;
    if (const CUgraph unfinished = end()) driver().cuGraphDestroy(unfinished);
  }
  Capturing(const Capturing&) = delete;
  // Null and an Error's text where something spoilt it.
  CUgraph end(CUresult* code = nullptr) {
    CUgraph graph = nullptr;
    const CUresult result = driver().cuStreamEndCapture(stream_, &graph);
    if (code) *code = result;
    captures = false;
    set_current_stream(device_, before_ == default_stream(device_) ? nullptr : before_);
    lock_.unlock();
    return result == kSuccess ? graph : nullptr;
  }

 private:
  Device device_;
  CUstream before_, stream_;
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace

bool is_capturing() { return captures; }

NoCapture::NoCapture(const char* who) {
  if (captures) fail("{}: waits for the device, which cannot be part of a graph", who);
  capture_mutex().lock_shared();
}
NoCapture::~NoCapture() { capture_mutex().unlock_shared(); }

void forget_graphs() {
  Pools& p = pools();
  const std::lock_guard lock(p.mutex);
  p.free.clear();
}

Graph::~Graph() {
  try {
    use(device_);
    // What it uses may be used again at once: it must have ended.
    if (last_) driver().cuStreamSynchronize(last_);
    if (executable_) driver().cuGraphExecDestroy(executable_);
  } catch (const Error&) {
    return;  // the device is lost, or this is a forked child: nothing runs there
  }
  if (pool_) give_pool_back(device_, pool_);
}

void Graph::launch() const {
  use(device_);
  last_ = current_stream(device_);
  check_device(driver().cuGraphLaunch(executable_, last_), device_, "cuGraphLaunch");
  note_launch(device_, last_, "a graph");
}

std::unique_ptr<Graph> record_graph(Device device, const std::function<void()>& work, std::string& why) {
  std::unique_ptr<Graph> made(new Graph(device));
  CUgraph graph = nullptr;
  try {
    made->pool_ = take_pool(device);
    Capturing capturing(device, made->pool_);
    work();
    CUresult code = kSuccess;
    graph = capturing.end(&code);
    if (!graph) {
      why = "cuStreamEndCapture: " + error_text(code);
      // Nobody knows what the stream does now: it is not used again, and its memory may be given back.
      keep_blocks(device, std::exchange(made->pool_, nullptr), false);
    }
  } catch (const Error& e) {
    why = e.what();
  }
  if (!graph) return nullptr;
  const Driver& d = driver();
  CUresult code = d.cuGraphGetNodes(graph, nullptr, &made->nodes_);
  if (code == kSuccess) code = d.cuGraphInstantiateWithFlags(&made->executable_, graph, 0);
  d.cuGraphDestroy(graph);
  if (code == kSuccess) return made;
  made->executable_ = nullptr;
  why = "cuGraphInstantiate: " + error_text(code);
  return nullptr;
}

}  // namespace sconce::cuda
