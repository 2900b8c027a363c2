#include "sconce/kernels/cuda/device/kernel_table.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/base/once.h"
#include "sconce/kernels/cuda/device/caching_allocator.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/kernel_files.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/device/nvrtc.h"

namespace sconce::cuda {
namespace {

constexpr int kStaticShared = 1, kRegisters = 4, kMostDynamicShared = 8;  // CUfunction_attribute

// One text on one device, with those of its kernels that were asked for.
struct Module {
  Once loaded;
  CUmodule handle = nullptr;
  std::mutex mutex;
  struct Named {
    std::string entry;
    Kernel kernel;
  };
  std::vector<std::unique_ptr<Named>> kernels;
};

struct Key {
  int device;
  std::string text;
};
struct KeyView {
  int device;
  std::string_view text;
};
struct Hash {
  using is_transparent = void;
  size_t operator()(const KeyView& k) const {
    return std::hash<std::string_view>()(k.text) + static_cast<size_t>(k.device);
  }
  size_t operator()(const Key& k) const { return (*this)(KeyView{k.device, k.text}); }
};
struct Equal {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a.device == b.device && std::string_view(a.text) == std::string_view(b.text);
  }
};

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<Key, std::unique_ptr<Module>, Hash, Equal> modules;
};

std::atomic<Table*> current_table = nullptr;
std::mutex table_mutex;

Table& table() {
  if (Table* known = current_table.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(table_mutex);
  if (!current_table.load()) current_table.store(new Table, std::memory_order_release);  // lives for ever
  return *current_table.load();
}

// Made when first needed; one for all devices, its writes one at a time.
std::mutex files_mutex;
KernelFiles& files() {
  static auto& all = *new KernelFiles(kernel_folder(), kernel_folder_bytes());
  return all;
}

Module& module_of(int device, std::string_view key) {
  Table& t = table();
  {
    const std::shared_lock lock(t.mutex);
    if (const auto it = t.modules.find(KeyView{device, key}); it != t.modules.end()) return *it->second;
  }
  const std::unique_lock lock(t.mutex);
  std::unique_ptr<Module>& module = t.modules[Key{device, std::string(key)}];
  if (!module) module = std::make_unique<Module>();
  return *module;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void load(Module& module, Device device, std::string_view key, const std::function<std::string()>& make_text) {
  const auto start = std::chrono::steady_clock::now();
  const int architecture = properties(device).architecture();
  const std::string text = make_text();
  const std::string whole_key = compile_options(architecture) + "\n" + text;
  std::optional<std::string> image;
  {
    const std::lock_guard lock(files_mutex);
    image = files().find(whole_key);
  }
  const bool is_from_file = image.has_value();
  CUresult code = is_from_file ? driver().cuModuleLoadData(&module.handle, image->c_str()) : kSuccess;
  // An image that the driver refuses, as one made for another driver, is made again.
  const bool is_made = !is_from_file || code != kSuccess;
  if (is_made) {
    image = compile_text(text, architecture);
    code = driver().cuModuleLoadData(&module.handle, image->c_str());
  }
  check_device(code, device, "cuModuleLoadData of " + std::string(key));
  if (is_made) {
    const std::lock_guard lock(files_mutex);
    files().store(whole_key, *image);
  }
  if (!is_logged(LogTag::kernels)) return;
  std::fprintf(stderr, "[kernels] %.*s: %s, sm_%d, %zu bytes, %.2f ms\n", static_cast<int>(key.size()), key.data(),
               is_made ? "compiled" : "from a file", architecture, image->size(), milliseconds_since(start));
  if (is_logged(LogTag::kernels, LogLevel::debug)) std::fprintf(stderr, "%s\n", text.c_str());
}

Kernel kernel_of(const Module& module, Device device, std::string_view key, const char* entry) {
  const Driver& d = driver();
  Kernel kernel{};
  check_device(d.cuModuleGetFunction(&kernel.function, module.handle, entry), device,
               std::string(key) + ": no kernel '" + entry + "'");
  check_device(d.cuFuncGetAttribute(&kernel.registers, kRegisters, kernel.function), device, "cuFuncGetAttribute");
  check_device(d.cuFuncGetAttribute(&kernel.shared_bytes, kStaticShared, kernel.function), device,
               "cuFuncGetAttribute");
  // Once for all launches: what a block may have beside its own.
  const int most = properties(device).shared_bytes - kernel.shared_bytes;
  check_device(d.cuFuncSetAttribute(kernel.function, kMostDynamicShared, most), device, "cuFuncSetAttribute");
  if (is_logged(LogTag::kernels)) {
    std::fprintf(stderr, "[kernels] %.*s, %s: %d registers, %d bytes of shared memory\n", static_cast<int>(key.size()),
                 key.data(), entry, kernel.registers, kernel.shared_bytes);
  }
  return kernel;
}

}  // namespace

const Kernel& find_kernel(Device device, std::string_view key, const std::function<std::string()>& text,
                          const char* entry) {
  const int index = use(device);
  Module& module = module_of(index, key);
  module.loaded([&] { load(module, device, key, text); });
  const std::lock_guard lock(module.mutex);
  for (const auto& named : module.kernels) {
    if (named->entry == entry) return named->kernel;
  }
  const Kernel kernel = kernel_of(module, device, key, entry);
  return module.kernels.emplace_back(std::make_unique<Module::Named>(Module::Named{entry, kernel}))->kernel;
}

void forget_kernels() { keep_forgotten(current_table.exchange(nullptr)); }
const void* kernels_mark() { return current_table.load(std::memory_order_acquire); }

void launch(Device device, const Kernel& kernel, const Shape& shape, const void* argument, size_t size,
            const char* operator_name) {
  constexpr size_t kMostArgumentBytes = 4096;
  SCONCE_ASSERT(size <= kMostArgumentBytes);
  const CUstream stream = current_stream(device);
  void* arguments[] = {const_cast<void*>(argument)};
  CUresult code = kSuccess;
  if (shape.is_dependent && properties(device).major >= 9) {
    CUlaunchAttribute early{};
    early.id = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    early.value.allowed = 1;
    const CUlaunchConfig config{shape.grid_x,
                                shape.grid_y,
                                shape.grid_z,
                                shape.block_x,
                                shape.block_y,
                                1,
                                shape.shared_bytes,
                                stream,
                                &early,
                                1};
    code = driver().cuLaunchKernelEx(&config, kernel.function, arguments, nullptr);
  } else {
    code = driver().cuLaunchKernel(kernel.function, shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x,
                                   shape.block_y, 1, shape.shared_bytes, stream, arguments, nullptr);
  }
  if (code != kSuccess) [[unlikely]]
    check_device(code, device, operator_name);
  note_launch(device, stream, operator_name);
}

void launch_each(Device device, const Kernel& kernel, int64_t count, const void* argument, size_t size,
                 const char* operator_name) {
  if (count == 0) return;
  Shape shape;
  shape.grid_x = static_cast<unsigned>((count + 255) / 256);
  shape.block_x = 256;
  launch(device, kernel, shape, argument, size, operator_name);
}

Scratch scratch(Device device, size_t bytes) {
  const DeviceBlock block = allocate_block(bytes, device);
  return Scratch(block.data, block.block, device);
}

Scratch::~Scratch() {
  if (data_) release_block(static_cast<Block*>(handle_));
}

}  // namespace sconce::cuda
