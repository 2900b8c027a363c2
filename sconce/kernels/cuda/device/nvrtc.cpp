#include "sconce/kernels/cuda/device/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/kernels/cuda/device/shared_libraries.h"

namespace sconce::cuda {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

// No contraction of a * b + c, as on the CPU; functions without `__device__` are the device's.
constexpr const char* kOptions[] = {"--std=c++20", "--fmad=false", "-default-device", "-dw"};

struct State {
  const Nvrtc* table = nullptr;
  std::string why;
  int major = 0, minor = 0;
  std::vector<int> architectures;  // ascending
};

State start(const Nvrtc& table) {
  State state;
  int count = 0;
  if (table.nvrtcVersion(&state.major, &state.minor) != 0 || table.nvrtcGetNumSupportedArchs(&count) != 0 ||
      count <= 0) {
    state.why = "libnvrtc does not tell its version";
    return state;
  }
  state.architectures.resize(static_cast<size_t>(count));
  table.nvrtcGetSupportedArchs(state.architectures.data());
  std::sort(state.architectures.begin(), state.architectures.end());
  state.table = &table;
  return state;
}

State open() {
  void* library = open_shared_library(kNames);
  if (!library) {
    return {.why = "none of " + joined_names(kNames) +
                   " found (pip install nvidia-cuda-nvrtc; SCONCE_CUDA_LIBRARIES names its folder)",
            .architectures = {}};
  }
  static Nvrtc table;
#define SCONCE_CUDA_FIND(name, ...)                                             \
  table.name = reinterpret_cast<decltype(table.name)>(::dlsym(library, #name)); \
  if (!table.name) return {.why = "libnvrtc has no function " #name ": 12.0 or later is needed", .architectures = {}};
  SCONCE_CUDA_NVRTC(SCONCE_CUDA_FIND)
#undef SCONCE_CUDA_FIND
  return start(table);
}

State replaced;
bool is_replaced = false;

const State& state() {
  if (is_replaced) return replaced;
  static Once once;
  static State opened;
  once([] { opened = open(); });
  return opened;
}

const State& needed() {
  const State& s = state();
  SCONCE_CHECK(s.table, "NVRTC, the compiler of CUDA, is not available: {}", s.why);
  return s;
}

struct Target {
  int architecture;
  bool is_ptx;  // the driver compiles it on
  // Code for sm_90a runs on every sm_90; without the letter Hopper's warp groups are refused.
  std::string option() const {
    return fmt::format("--gpu-architecture={}_{}{}", is_ptx ? "compute" : "sm", architecture,
                       !is_ptx && architecture == 90 ? "a" : "");
  }
};

Target target_for(const State& s, int architecture) {
  const auto above = std::upper_bound(s.architectures.begin(), s.architectures.end(), architecture);
  SCONCE_CHECK(above != s.architectures.begin(), "NVRTC {}.{} does not compile for sm_{}: the oldest it knows is sm_{}",
               s.major, s.minor, architecture, s.architectures.front());
  const int best = *std::prev(above);
  return {best, best / 10 != architecture / 10};
}

}  // namespace

const Nvrtc* find_nvrtc() { return state().table; }
std::string why_no_nvrtc() { return state().why; }

void replace_nvrtc(const Nvrtc* table) {
  is_replaced = table != nullptr;
  replaced = table ? start(*table) : State();
}

std::string compile_options(int architecture) {
  const State& s = needed();
  std::string text = fmt::format("nvrtc {}.{} {}", s.major, s.minor, target_for(s, architecture).option());
  for (const char* option : kOptions) text += fmt::format(" {}", option);
  return text;
}

std::string compile_text(const std::string& text, int architecture) {
  const State& s = needed();
  const Nvrtc& nvrtc = *s.table;
  const Target target = target_for(s, architecture);
  const std::string option = target.option();
  std::vector<const char*> options = {option.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));

  NvrtcProgram program = nullptr;
  SCONCE_CHECK(nvrtc.nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) == 0,
               "nvrtcCreateProgram failed");
  struct Guard {
    const Nvrtc& nvrtc;
    NvrtcProgram& program;
    ~Guard() { nvrtc.nvrtcDestroyProgram(&program); }
  } guard{nvrtc, program};
  size_t size = 0;
  if (const NvrtcResult code = nvrtc.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
      code != 0) {
    std::string log;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) == 0 && size > 0) {
      log.resize(size);
      nvrtc.nvrtcGetProgramLog(program, log.data());
      while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    }
    fail("a CUDA kernel does not compile (NVRTC {}.{}, {}, error {}):\n{}", s.major, s.minor, option, code, log);
  }
  std::string image;
  const bool is_there =
      target.is_ptx ? nvrtc.nvrtcGetPTXSize(program, &size) == 0 : nvrtc.nvrtcGetCUBINSize(program, &size) == 0;
  SCONCE_CHECK(is_there && size > 0, "NVRTC {}.{} made no code for {}", s.major, s.minor, option);
  image.resize(size);
  SCONCE_CHECK(
      (target.is_ptx ? nvrtc.nvrtcGetPTX(program, image.data()) : nvrtc.nvrtcGetCUBIN(program, image.data())) == 0,
      "NVRTC {}.{} gives no code for {}", s.major, s.minor, option);
  return image;
}

}  // namespace sconce::cuda
