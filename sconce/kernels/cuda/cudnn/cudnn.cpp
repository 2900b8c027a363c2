#include "sconce/kernels/cuda/cudnn/cudnn.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/base/once.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/device/shared_libraries.h"

namespace sconce::cuda {
namespace {

using Handle = struct DnnContext*;
using Descriptor = void*;  // cudnnBackendDescriptor_t

#define SCONCE_CUDNN(X)                                                                                              \
  X(cudnnCreate, Handle* handle)                                                                                     \
  X(cudnnSetStream, Handle handle, CUstream stream)                                                                  \
  X(cudnnBackendCreateDescriptor, int kind, Descriptor* made)                                                        \
  X(cudnnBackendDestroyDescriptor, Descriptor descriptor)                                                            \
  X(cudnnBackendSetAttribute, Descriptor descriptor, int name, int type, int64_t count, const void* values)          \
  X(cudnnBackendGetAttribute, Descriptor descriptor, int name, int type, int64_t room, int64_t* count, void* values) \
  X(cudnnBackendFinalize, Descriptor descriptor)                                                                     \
  X(cudnnBackendExecute, Handle handle, Descriptor plan, Descriptor pack)

struct Library {
#define SCONCE_CUDA_POINTER(name, ...) int (*name)(__VA_ARGS__);
  SCONCE_CUDNN(SCONCE_CUDA_POINTER)
#undef SCONCE_CUDA_POINTER
  size_t (*cudnnGetVersion)();
};

constexpr std::initializer_list<const char*> kNames = {"libcudnn.so.9"};
// cudnnBackendDescriptorType_t
constexpr int kConvolution = 1, kConfiguration = 3, kHeuristics = 4, kPlan = 5, kForward = 10, kOfWeight = 11,
              kOfImage = 12, kGraph = 15, kPack = 16, kTensor = 17;
// cudnnBackendAttributeType_t
constexpr int kIsHandle = 0, kIsDataType = 1, kIsInteger = 3, kIsFloat = 4, kIsPointer = 6, kIsMode = 7,
              kIsHeuristic = 8, kIsDescriptor = 15;
constexpr int kHeuristicA = 3, kFallback = 2, kCrossCorrelation = 1, kSingle = 0;
constexpr int kMostChoices = 8;
constexpr size_t kMostPlans = 1024;

struct State {
  const Library* library = nullptr;
  std::string why;
};

State open() {
  void* opened = open_shared_library(kNames);
  if (!opened) return {.why = "none of " + joined_names(kNames) + " found"};
  static Library library;
#define SCONCE_CUDA_FIND(name, ...)                                                \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(opened, #name)); \
  if (!library.name) return {.why = "libcudnn has no function " #name ": it is too old"};
  SCONCE_CUDNN(SCONCE_CUDA_FIND)
  SCONCE_CUDA_FIND(cudnnGetVersion)
#undef SCONCE_CUDA_FIND
  return {.library = &library, .why = ""};
}

const State& state() {
  static Once once;
  static State opened;
  once([] {
    opened = open();
    if (!is_logged(LogTag::kernels)) return;
    if (opened.library)
      std::fprintf(stderr, "[kernels] cuDNN %zu\n", opened.library->cudnnGetVersion());
    else
      std::fprintf(stderr, "[kernels] convolutions run by our own kernels: %s\n", opened.why.c_str());
  });
  return opened;
}

// A descriptor and its attributes. The first call that fails is remembered, and the others do nothing.
class Made {
 public:
  Made(const Library& library, int kind) : library_(&library) {
    code_ = library.cudnnBackendCreateDescriptor(kind, &descriptor_);
  }
  Made(Made&& other) noexcept : library_(other.library_), descriptor_(other.descriptor_), code_(other.code_) {
    other.descriptor_ = nullptr;
  }
  Made& operator=(Made&&) = delete;
  ~Made() {
    if (descriptor_) library_->cudnnBackendDestroyDescriptor(descriptor_);
  }
  Made& set(int name, int type, int64_t count, const void* values) {
    if (code_ == 0) code_ = library_->cudnnBackendSetAttribute(descriptor_, name, type, count, values);
    return *this;
  }
  Made& set(int name, const Made& other) { return set(name, kIsDescriptor, 1, &other.descriptor_); }
  Made& set_integers(int name, const std::vector<int64_t>& values) {
    return set(name, kIsInteger, static_cast<int64_t>(values.size()), values.data());
  }
  bool finish() {
    if (code_ == 0) code_ = library_->cudnnBackendFinalize(descriptor_);
    return code_ == 0;
  }
  Descriptor* place() { return &descriptor_; }
  Descriptor get() const { return descriptor_; }

 private:
  const Library* library_;
  Descriptor descriptor_ = nullptr;
  int code_;
};

// With everything that it was made of: cuDNN does not say what it copies.
struct Plan {
  std::vector<Made> parts;  // the plan is the last; none: cuDNN has none
  int64_t workspace = 0;
};

// Sizes and strides with at least two spatial dimensions.
struct Sides {
  std::vector<int64_t> sizes, strides;
};
Sides sides_of(const Tensor& t) {
  Sides s{t.sizes().vec(), t.strides().vec()};
  if (t.dim() == 3) {
    s.sizes.insert(s.sizes.begin() + 2, 1);
    s.strides.insert(s.strides.begin() + 2, s.strides[2] * s.sizes[3]);
  }
  return s;
}
std::vector<int64_t> numbers_of(IntList given, size_t rank, int64_t beside) {
  std::vector<int64_t> all = given.vec();
  if (all.size() == 1) all.resize(std::max<size_t>(rank, 1), all[0]);
  if (all.size() == 1) all.insert(all.begin(), beside);
  return all;
}

int type_of(DType dtype) { return dtype == DType::bfloat16 ? 9 : 2; }  // cudnnDataType_t

Made tensor_of(const Library& library, int64_t id, DType dtype, const Sides& sides) {
  const int type = type_of(dtype);
  const int64_t alignment = 16;
  Made t(library, kTensor);
  t.set(906, kIsInteger, 1, &id).set(901, kIsDataType, 1, &type).set(900, kIsInteger, 1, &alignment);
  t.set_integers(902, sides.sizes).set_integers(903, sides.strides);
  t.finish();
  return t;
}

Plan make_plan(const Library& library, Handle handle, const ConvolutionCall& call) {
  const DType dtype = call.x->dtype();
  const auto rank = static_cast<size_t>(call.x->dim() - 2);
  Made x = tensor_of(library, 1, dtype, sides_of(*call.x)), w = tensor_of(library, 2, dtype, sides_of(*call.w)),
       y = tensor_of(library, 3, dtype, sides_of(*call.y));
  Made convolution(library, kConvolution);
  const std::vector<int64_t> strides = numbers_of(call.stride, rank, 1), pads = numbers_of(call.padding, rank, 0),
                             dilations = numbers_of(call.dilation, rank, 1);
  const auto spatial = static_cast<int64_t>(strides.size());
  convolution.set(100, kIsDataType, 1, &kSingle).set(101, kIsMode, 1, &kCrossCorrelation);
  convolution.set(106, kIsInteger, 1, &spatial).set_integers(102, dilations).set_integers(103, strides);
  convolution.set_integers(104, pads).set_integers(105, pads);
  if (!convolution.finish()) return {};
  const float one = 1, none = 0;
  Made operation(library, call.product == ConvolutionProduct::places  ? kForward
                          : call.product == ConvolutionProduct::image ? kOfImage
                                                                      : kOfWeight);
  if (call.product == ConvolutionProduct::places)
    operation.set(702, convolution).set(703, w).set(704, x).set(705, y);
  else if (call.product == ConvolutionProduct::image)
    operation.set(708, convolution).set(709, w).set(710, x).set(711, y);
  else
    operation.set(714, convolution).set(715, w).set(716, x).set(717, y);
  const int alpha = call.product == ConvolutionProduct::places  ? 700
                    : call.product == ConvolutionProduct::image ? 706
                                                                : 712;
  operation.set(alpha, kIsFloat, 1, &one).set(alpha + 1, kIsFloat, 1, &none);
  if (!operation.finish()) return {};
  Made graph(library, kGraph);
  graph.set(800, kIsHandle, 1, &handle).set(801, operation);
  if (!graph.finish()) return {};
  for (const int mode : {kHeuristicA, kFallback}) {
    Made heuristics(library, kHeuristics);
    heuristics.set(201, graph).set(200, kIsHeuristic, 1, &mode);
    if (!heuristics.finish()) continue;
    std::vector<Made> choices;
    std::array<Descriptor, kMostChoices> places{};
    for (int i = 0; i < kMostChoices; ++i)
      places[static_cast<size_t>(i)] = choices.emplace_back(library, kConfiguration).get();
    int64_t count = 0;
    if (library.cudnnBackendGetAttribute(heuristics.get(), 202, kIsDescriptor, kMostChoices, &count, places.data()) !=
        0)
      continue;
    for (int64_t i = 0; i < std::min<int64_t>(count, kMostChoices); ++i) {
      Made plan(library, kPlan);
      plan.set(400, kIsHandle, 1, &handle).set(401, choices[static_cast<size_t>(i)]);
      if (!plan.finish()) continue;
      Plan made;
      int64_t got = 0;
      if (library.cudnnBackendGetAttribute(plan.get(), 402, kIsInteger, 1, &got, &made.workspace) != 0) continue;
      for (Made* part : {&x, &w, &y, &convolution, &operation, &graph, &choices[static_cast<size_t>(i)], &plan})
        made.parts.push_back(std::move(*part));
      return made;
    }
  }
  return {};
}

// Of a device: a handle serves one call at a time.
struct Context {
  std::mutex mutex;
  Handle handle = nullptr;
  std::map<std::vector<int64_t>, Plan> plans;
};
Context& context_at(int index) {
  static auto& all = *new std::array<Context, kMostDevices>;
  return all[static_cast<size_t>(index)];
}

std::vector<int64_t> key_of(const ConvolutionCall& call) {
  std::vector<int64_t> key = {static_cast<int64_t>(call.product), static_cast<int64_t>(call.x->dtype())};
  for (const Tensor* t : {call.x, call.w, call.y}) {
    for (const IntList list : {t->sizes(), t->strides()}) key.insert(key.end(), list.begin(), list.end());
  }
  for (const IntList list : {call.stride, call.padding, call.dilation}) {
    key.push_back(static_cast<int64_t>(list.size()));
    key.insert(key.end(), list.begin(), list.end());
  }
  return key;
}

}  // namespace

bool convolve_by_cudnn(const ConvolutionCall& call) {
  const DType dtype = call.x->dtype();
  if (!is_reduced_float(dtype) || call.w->dtype() != dtype || call.y->dtype() != dtype) return false;
  for (const Tensor* t : {call.x, call.w, call.y}) {
    if (t->numel() == 0 || t->dim() < 3 || t->dim() > 5 || reinterpret_cast<uintptr_t>(t->data()) % 16 != 0)
      return false;
  }
  const Library* library = state().library;
  if (!library) return false;
  const Device device = call.x->device();
  const int index = use(device);
  Context& context = context_at(index);
  const std::lock_guard lock(context.mutex);
  if (!context.handle && library->cudnnCreate(&context.handle) != 0) {
    context.handle = nullptr;
    return false;
  }
  const CUstream stream = current_stream(device);
  if (library->cudnnSetStream(context.handle, stream) != 0) return false;
  if (context.plans.size() >= kMostPlans) context.plans.clear();
  const auto [found, is_new] = context.plans.try_emplace(key_of(call));
  if (is_new) found->second = make_plan(*library, context.handle, call);
  const Plan& plan = found->second;
  if (plan.parts.empty()) return false;
  std::optional<Scratch> memory;
  if (plan.workspace > 0) memory.emplace(scratch(device, static_cast<size_t>(plan.workspace)));
  void* const workspace = memory ? memory->data() : nullptr;
  void* const data[] = {call.x->data(), call.w->data(), call.y->data()};
  Made pack(*library, kPack);
  pack.set_integers(1000, {1, 2, 3}).set(1001, kIsPointer, 3, data).set(1003, kIsPointer, 1, &workspace);
  if (!pack.finish()) return false;
  const int code = library->cudnnBackendExecute(context.handle, plan.parts.back().get(), pack.get());
  SCONCE_CHECK(code == 0, "convolution: cuDNN failed with status {}", code);
  note_launch(device, stream, "convolution");
  return true;
}

std::string cudnn_version() {
  if (!state().library) return "no: " + state().why;
  const size_t v = state().library->cudnnGetVersion();
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

}  // namespace sconce::cuda
