// cuFFT by its own name: plans of lines, kept by size.
#include <map>
#include <mutex>
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/shared_libraries.h"
#include "sconce/kernels/cuda/fourier/lines.h"

namespace sconce::cuda {
namespace {

using Plan = int;
constexpr int kOk = 0, kSingle = 0x29, kTwice = 0x69, kForward = -1, kInverse = 1;  // cufftResult, cufftType
constexpr size_t kMostPlans = 64;

struct Cufft {
  int (*plan_many)(Plan*, int rank, int* n, int*, int, int, int*, int, int, int type, int batch);
  int (*set_stream)(Plan, CUstream);
  int (*single)(Plan, void*, void*, int);
  int (*twice)(Plan, void*, void*, int);
  int (*destroy)(Plan);
  int (*get_version)(int*);

  void find_in(SharedLibrary& library) {
    library.find(plan_many, "cufftPlanMany");
    library.find(set_stream, "cufftSetStream");
    library.find(single, "cufftExecC2C");
    library.find(twice, "cufftExecZ2Z");
    library.find(destroy, "cufftDestroy");
    library.find(get_version, "cufftGetVersion");
  }
  size_t version() const {
    int v = 0;
    get_version(&v);
    return static_cast<size_t>(v);
  }
};

const Cufft* cufft() {
  static auto& table =
      *new LibraryTable<Cufft>({"libcufft.so.12", "libcufft.so.11"}, "cuFFT", "Fourier transforms run by products");
  return table.find();
}

}  // namespace

Tensor transform_by_cufft(const Tensor& lines, bool inverse) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (lines.numel() > kMost) return {};
  const Cufft* f = cufft();
  if (!f) return {};
  const Device device = lines.device();
  const int index = use(device);
  const bool twice = lines.dtype() == DType::complex128;
  // A plan has its own memory on the device, so one use at a time.
  static std::mutex mutex;
  static auto& plans = *new std::map<std::tuple<int, int64_t, int64_t, bool>, Plan>;
  const std::lock_guard lock(mutex);
  const std::tuple key(index, lines.size(0), lines.size(1), twice);
  auto found = plans.find(key);
  if (found == plans.end()) {
    if (plans.size() >= kMostPlans) {
      synchronize(device);
      for (const auto& [k, plan] : plans) f->destroy(plan);
      plans.clear();
    }
    Plan plan = 0;
    int n = static_cast<int>(lines.size(1));
    if (f->plan_many(&plan, 1, &n, nullptr, 1, n, nullptr, 1, n, twice ? kTwice : kSingle,
                     static_cast<int>(lines.size(0))) != kOk)
      return {};
    found = plans.emplace(key, plan).first;
  }
  const Tensor out = empty_tensor(lines.sizes(), lines.dtype(), device);
  SCONCE_CHECK(f->set_stream(found->second, current_stream(device)) == kOk, "cufftSetStream failed");
  const int code =
      (twice ? f->twice : f->single)(found->second, lines.data(), out.data(), inverse ? kInverse : kForward);
  SCONCE_CHECK(code == kOk, "cuFFT failed with code {}", code);
  note_launch(device, current_stream(device), "fft");
  return out;
}

}  // namespace sconce::cuda
