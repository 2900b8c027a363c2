#include "sconce/kernels/cuda/device/driver.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/kernels/cuda/device/context.h"

namespace sconce::cuda {
namespace {

struct State {
  const Driver* table = nullptr;  // null: none, and `why` says why
  std::string why;
  int version = 0;
};

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Fills the table; what is missing when the library is too old to have it.
std::string fill(Driver& table, void* library) {
#define SCONCE_CUDA_FIND(name, ...)                                             \
  table.name = reinterpret_cast<decltype(table.name)>(::dlsym(library, #name)); \
  if (!table.name) return "libcuda.so.1 has no function " #name ": it is too old";
  SCONCE_CUDA_DRIVER(SCONCE_CUDA_FIND)
#undef SCONCE_CUDA_FIND
  return "";
}

std::string text_of(const Driver& table, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  if (table.cuGetErrorName(code, &name) != kSuccess || !name) name = "unknown error";
  if (table.cuGetErrorString(code, &text) != kSuccess || !text) text = "no text";
  return fmt::format("{}: {}", name, text);
}

// Version first: an old driver would fail at something less telling.
State start(const Driver& table) {
  State state;
  if (const CUresult code = table.cuDriverGetVersion(&state.version); code != kSuccess) {
    state.why = "cuDriverGetVersion: " + text_of(table, code);
  } else if (state.version < kOldestDriver) {
    state.why = fmt::format("the NVIDIA driver supports CUDA {}, at least {} is needed", version_text(state.version),
                            version_text(kOldestDriver));
  } else if (const CUresult code = table.cuInit(0); code != kSuccess) {
    state.why = "cuInit: " + text_of(table, code);
  } else {
    state.table = &table;
  }
  return state;
}

State open() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return {.why = "libcuda.so.1 not found (is the NVIDIA driver installed?)"};
  static Driver table;
  if (std::string why = fill(table, library); !why.empty()) return {.why = std::move(why)};
  return start(table);
}

State replaced;  // by a test
bool is_replaced = false;

const State& state() {
  if (is_replaced) return replaced;
  static Once once;
  static State opened;
  once([] { opened = open(); });
  return opened;
}

}  // namespace

const Driver* find_driver() { return state().table; }
std::string why_no_driver() { return state().why; }
int driver_version() { return state().version; }

const Driver& driver() {
  const State& s = state();
  SCONCE_CHECK(s.table, "CUDA is not available: {}", s.why);
  return *s.table;
}

void replace_driver(const Driver* table) {
  forget_devices();
  is_replaced = table != nullptr;
  replaced = table ? start(*table) : State();
}

std::string error_text(CUresult code) {
  const Driver* table = find_driver();
  return table ? text_of(*table, code) : fmt::format("error {}", code);
}

void check(CUresult code, std::string_view what) {
  if (code != kSuccess) [[unlikely]]
    fail("{}: {}", what, error_text(code));
}

}  // namespace sconce::cuda
