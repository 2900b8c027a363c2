#include "sconce/kernels/cuda/cudnn/dnn_graph.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/base/logs.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/device/shared_libraries.h"

namespace sconce::cuda::dnn {

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

  void find_in(SharedLibrary& library){
#define SCONCE_CUDA_FIND(name, ...) library.find(name, #name);
      SCONCE_CUDNN(SCONCE_CUDA_FIND) SCONCE_CUDA_FIND(cudnnGetVersion)
#undef SCONCE_CUDA_FIND
  } size_t version() const {
    return cudnnGetVersion();
  }
};

namespace {

LibraryTable<Library>& opened() {
  static auto& table =
      *new LibraryTable<Library>({"libcudnn.so.9"}, "cuDNN", "convolutions and attention run by our own kernels");
  return table;
}

// SCONCE_CUDA_CUDNN: off, our own kernels; convolutions, those alone; on.
std::string_view setting() {
  static const std::string_view checked = [] {
    const char* word = std::getenv("SCONCE_CUDA_CUDNN");
    const std::string_view text = word ? word : "on";
    SCONCE_CHECK_AS(value, text == "on" || text == "off" || text == "convolutions",
                    "SCONCE_CUDA_CUDNN is '{}', expected on, off or convolutions", text);
    return text;
  }();
  return checked;
}

constexpr int kConfiguration = 3, kHeuristics = 4, kPlan = 5, kGraph = 15, kPack = 16;  // descriptors
constexpr int kHeuristicA = 3, kFallback = 2;                                           // cudnnBackendHeurMode_t
constexpr int kMostChoices = 8;
constexpr size_t kMostPlans = 1024;

struct Plan {
  std::deque<Made> parts;  // the plan is the last; none: cuDNN has none
  int64_t workspace = 0;
};

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

}  // namespace

Made::Made(const Library& library, int kind) : library_(&library) {
  code_ = library.cudnnBackendCreateDescriptor(kind, &descriptor_);
}
Made::Made(Made&& other) noexcept : library_(other.library_), descriptor_(other.descriptor_), code_(other.code_) {
  other.descriptor_ = nullptr;
}
Made::~Made() {
  if (descriptor_) library_->cudnnBackendDestroyDescriptor(descriptor_);
}
Made& Made::set(int name, int type, int64_t count, const void* values) {
  if (code_ == 0) code_ = library_->cudnnBackendSetAttribute(descriptor_, name, type, count, values);
  if (code_ != 0 && is_logged(LogTag::kernels))
    std::fprintf(stderr, "[kernels] cuDNN: attribute %d: status %d\n", name, code_);
  return *this;
}
bool Made::finish() {
  if (code_ == 0) code_ = library_->cudnnBackendFinalize(descriptor_);
  return code_ == 0;
}

int type_of(DType dtype) { return dtype == DType::float32 ? kSingle : dtype == DType::bfloat16 ? kBfloat16 : kHalf; }

const Made& GraphParts::finished(Made& made) {
  is_good_ &= made.finish();
  return made;
}
const Made& GraphParts::tensor(int64_t id, int type, const TensorSides& sides) {
  const int64_t alignment = 16;
  Made& t = make(kTensor);
  t.set(906, kIsInteger, 1, &id).set(901, kIsDataType, 1, &type).set(900, kIsInteger, 1, &alignment);
  t.set_integers(902, sides.sizes).set_integers(903, sides.strides);
  return finished(t);
}
const Made& GraphParts::inner(int type, const TensorSides& sides) {
  const int64_t alignment = 16, id = next_inner_++;
  const bool is_virtual = true;
  Made& t = make(kTensor);
  t.set(906, kIsInteger, 1, &id).set(901, kIsDataType, 1, &type).set(900, kIsInteger, 1, &alignment);
  t.set_integers(902, sides.sizes).set_integers(903, sides.strides).set(907, kIsBool, 1, &is_virtual);
  return finished(t);
}
const Made& GraphParts::number(int64_t id) {
  const int64_t alignment = 16;
  const bool by_value = true;
  Made& t = make(kTensor);
  t.set(906, kIsInteger, 1, &id).set(901, kIsDataType, 1, &kSingle).set(900, kIsInteger, 1, &alignment);
  t.set_integers(902, {1, 1, 1, 1}).set_integers(903, {1, 1, 1, 1}).set(908, kIsBool, 1, &by_value);
  return finished(t);
}
void GraphParts::operation(Made& made) {
  finished(made);
  operations_.push_back(made.get());
}
void GraphParts::pointwise(int mode, const Made& x, const Made* b, const Made& y, const Made* t, int type,
                           int64_t axis) {
  Made& what = make(kPointwise);
  what.set(0, kIsPointwiseMode, 1, &mode).set(1, kIsDataType, 1, &type);
  if (axis >= 0) what.set(9, kIsInteger, 1, &axis);
  finished(what);
  Made& done = make(kPointwiseOperation);
  done.set(750, what).set(751, x);
  if (b) done.set(752, *b);
  if (t) done.set(758, *t);
  done.set(753, y);
  operation(done);
}
void GraphParts::product(const Made& a, const Made& b, const Made& c) {
  Made& what = make(kMatmul);
  finished(what.set(1500, kIsDataType, 1, &kSingle));
  Made& done = make(kMatmulOperation);
  operation(done.set(1520, a).set(1521, b).set(1522, c).set(1523, what));
}
void GraphParts::reduction(int mode, const Made& x, const Made& y) {
  Made& what = make(kReduction);
  finished(what.set(1600, kIsReductionMode, 1, &mode).set(1601, kIsDataType, 1, &kSingle));
  Made& done = make(kReductionOperation);
  operation(done.set(1610, x).set(1611, y).set(1612, what));
}

struct Planner {
  static Plan make(const Library& library, Handle handle, GraphParts& parts) {
    if (!parts.is_good_) return {};
    Made graph(library, kGraph);
    graph.set(800, kIsHandle, 1, &handle)
        .set(801, kIsDescriptor, static_cast<int64_t>(parts.operations_.size()), parts.operations_.data());
    if (!graph.finish()) return {};
    for (const int mode : {kHeuristicA, kFallback}) {
      Made heuristics(library, kHeuristics);
      heuristics.set(201, graph).set(200, kIsHeuristic, 1, &mode);
      if (!heuristics.finish()) continue;
      std::vector<Made> choices;
      std::array<Descriptor, kMostChoices> places{};
      for (Descriptor& place : places) place = choices.emplace_back(library, kConfiguration).get();
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
        made.parts = std::move(parts.parts_);
        for (Made* part : {&graph, &choices[static_cast<size_t>(i)], &plan}) made.parts.push_back(std::move(*part));
        return made;
      }
    }
    return {};
  }
};

bool run_graph(Device device, const std::vector<int64_t>& key, const std::function<void(GraphParts&)>& describe,
               const Memory& memory, const char* operator_name) {
  const Library* library = setting() != "off" ? opened().find() : nullptr;
  if (!library) return false;
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
  const auto [found, is_new] = context.plans.try_emplace(key);
  if (is_new) {
    GraphParts parts(*library);
    describe(parts);
    found->second = Planner::make(*library, context.handle, parts);
    if (found->second.parts.empty() && is_logged(LogTag::kernels))
      std::fprintf(stderr, "[kernels] cuDNN has no kernel for a call of %s: our own serves%s\n", operator_name,
                   parts.is_good() ? "" : " (it refused the graph)");
  }
  const Plan& plan = found->second;
  if (plan.parts.empty()) return false;
  std::optional<Scratch> room;
  if (plan.workspace > 0) room.emplace(scratch(device, static_cast<size_t>(plan.workspace)));
  void* const workspace = room ? room->data() : nullptr;
  Made pack(*library, kPack);
  pack.set_integers(1000, memory.ids)
      .set(1001, kIsPointer, static_cast<int64_t>(memory.data.size()), memory.data.data())
      .set(1003, kIsPointer, 1, &workspace);
  if (!pack.finish()) return false;
  const int code = library->cudnnBackendExecute(context.handle, plan.parts.back().get(), pack.get());
  SCONCE_CHECK(code == 0, "{}: cuDNN failed with status {}", operator_name, code);
  note_launch(device, stream, operator_name);
  return true;
}

bool serves_attention() { return setting() == "on"; }

std::string version() {
  const Library* library = opened().find();
  if (!library) return "no: " + opened().why();
  const size_t v = library->version();
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

}  // namespace sconce::cuda::dnn
