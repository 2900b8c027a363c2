// Test driver: a test double of NVIDIA's driver and of NVRTC, on host memory.
//
// It stands behind the tables of pointers (driver.h, nvrtc.h), so everything above them runs without a GPU. It counts
// calls, lets the n-th call of a function fail, has as much memory as it is told, and says of memory what it likes.
// Work of a stream is kept until somebody waits for it (or done at once, when `is_late` is false): a copy to the host
// that nobody waited for is seen by its old bytes. Kernels are host functions, by name.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/kernels/cuda/device/nvrtc.h"

namespace sconce::cuda::testing {

class TestDriver {
 public:
  // Puts itself in the driver's place until it is gone. One at a time.
  explicit TestDriver(int devices = 1, size_t bytes = size_t{1} << 30);
  TestDriver(const TestDriver&) = delete;
  ~TestDriver();

  // --- what it is told ---
  bool is_late = true;        // work waits for a synchronisation
  int version = 13000;        // of the driver; before the first use
  size_t bytes;               // of memory, each device
  std::set<std::string> ptx;  // images that it refuses to load
  // The `nth` call from now of a function (1: the next) gives this code; with `times` those after it, too.
  void fail(const std::string& function, CUresult code, int nth = 1, int times = 1);
  struct Grid {
    unsigned x, y, z, block_x, block_y, shared_bytes;
  };
  using HostKernel = std::function<void(const void* argument, const Grid& grid)>;
  // What a kernel of this name does, and the size of its argument.
  void set_kernel(const std::string& entry, size_t argument_bytes, HostKernel kernel);

  // --- what it saw ---
  int calls(const std::string& function) const;
  size_t taken(int device = 0) const { return taken_[static_cast<size_t>(device)]; }  // bytes
  size_t live_graphs() const { return graphs_.size(); }                               // and executables
  size_t live_allocations() const { return live_.size(); }
  size_t waiting() const;                 // pieces of work that were not done yet
  std::vector<std::string> launched;      // names of kernels, in the order of the calls
  std::vector<std::string> compiled;      // texts, ditto
  std::vector<std::string> last_options;  // of NVRTC

  // Does what waits on a stream, or on all, as a device would some time.
  void run(CUstream stream);
  void run_all();

 private:
  friend struct Functions;
  struct Stream {
    int device;
    std::deque<std::function<void()>> queue;
    size_t asked = 0, done = 0;
    std::vector<std::function<void()>>* captured = nullptr;  // where work goes instead
    bool is_spoilt = false;                                  // somebody waited for it meanwhile
  };
  struct Event {
    Stream* stream = nullptr;  // null: not recorded yet, has passed
    size_t position = 0;
  };
  struct Function {
    std::string name;
  };
  struct Module {
    std::vector<std::unique_ptr<Function>> functions;
  };

  CUresult called(const char* function);
  void add(CUstream stream, std::function<void()> work);
  void run_until(Stream& stream, size_t position);

  struct Failure {
    int nth, times;
    CUresult code;
  };
  std::mutex calls_mutex_;
  std::map<std::string, int> calls_;
  std::map<std::string, std::vector<Failure>> failures_;
  int devices_;
  std::vector<size_t> taken_;
  std::map<CUdeviceptr, std::pair<int, size_t>> live_;  // address => device, bytes
  std::set<void*> pinned_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::unique_ptr<Module>> modules_;
  using Work = std::vector<std::function<void()>>;
  std::set<Work*> graphs_;  // captured ones, and executables
  struct Named {
    size_t bytes;
    HostKernel run;
  };
  std::map<std::string, Named> kernels_;
};

}  // namespace sconce::cuda::testing
