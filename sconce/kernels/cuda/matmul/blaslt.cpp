#include "sconce/kernels/cuda/matmul/blaslt.h"

#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/device/shared_libraries.h"
#include "sconce/tensor/libraries/float32_precision.h"

namespace sconce::cuda {
namespace {

using Handle = struct LtContext*;
using Operation = struct LtOperation*;    // cublasLtMatmulDesc_t
using MatrixShape = struct LtLayout*;     // cublasLtMatrixLayout_t
using Preference = struct LtPreference*;  // cublasLtMatmulPreference_t
struct Algorithm {
  uint64_t data[8];
};
struct Choice {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

#define SCONCE_CUDA_BLASLT(X)                                                                                        \
  X(cublasLtCreate, Handle* handle)                                                                                  \
  X(cublasLtMatmulDescCreate, Operation* operation, int compute, int scale)                                          \
  X(cublasLtMatmulDescDestroy, Operation operation)                                                                  \
  X(cublasLtMatmulDescSetAttribute, Operation operation, int attribute, const void* value, size_t bytes)             \
  X(cublasLtMatrixLayoutCreate, MatrixShape* shape, int type, uint64_t rows, uint64_t columns, int64_t leading)      \
  X(cublasLtMatrixLayoutDestroy, MatrixShape shape)                                                                  \
  X(cublasLtMatrixLayoutSetAttribute, MatrixShape shape, int attribute, const void* value, size_t bytes)             \
  X(cublasLtMatmulPreferenceCreate, Preference* preference)                                                          \
  X(cublasLtMatmulPreferenceDestroy, Preference preference)                                                          \
  X(cublasLtMatmulPreferenceSetAttribute, Preference preference, int attribute, const void* value, size_t bytes)     \
  X(cublasLtMatmulAlgoGetHeuristic, Handle handle, Operation operation, MatrixShape a, MatrixShape b, MatrixShape c, \
    MatrixShape d, Preference preference, int asked, Choice* choices, int* count)                                    \
  X(cublasLtMatmul, Handle handle, Operation operation, const void* alpha, const void* a, MatrixShape a_shape,       \
    const void* b, MatrixShape b_shape, const void* beta, const void* c, MatrixShape c_shape, void* d,               \
    MatrixShape d_shape, const Algorithm* algorithm, void* workspace, size_t workspace_bytes, CUstream stream)

struct Library {
#define SCONCE_CUDA_POINTER(name, ...) int (*name)(__VA_ARGS__);
  SCONCE_CUDA_BLASLT(SCONCE_CUDA_POINTER)
#undef SCONCE_CUDA_POINTER
  size_t (*cublasLtGetVersion)();

  void find_in(SharedLibrary& library){
#define SCONCE_CUDA_FIND(name, ...) library.find(name, #name);
      SCONCE_CUDA_BLASLT(SCONCE_CUDA_FIND) SCONCE_CUDA_FIND(cublasLtGetVersion)
#undef SCONCE_CUDA_FIND
  } size_t version() const {
    return cublasLtGetVersion();
  }
};

constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;  // cublasLtMatmulDescAttributes_t
constexpr int kBatchCount = 5, kBatchStride = 6;                                  // cublasLtMatrixLayoutAttribute_t
constexpr int kWorkspaceBytes = 1, kAlignmentA = 5;  // cublasLtMatmulPreferenceAttributes_t
constexpr int kWithBias = 4;                         // cublasLtEpilogue_t
constexpr size_t kMostWorkspace = size_t{32} << 20;  // what PyTorch gives it on Hopper
constexpr size_t kMostPlans = 4096;

LibraryTable<Library>& opened() {
  static auto& table = *new LibraryTable<Library>({"libcublasLt.so.13", "libcublasLt.so.12"}, "cuBLASLt",
                                                  "products run by our own kernel");
  return table;
}

// How the library calls the types of a product; none where it has none.
struct Types {
  int data, compute, scale;  // cudaDataType, cublasComputeType_t, cudaDataType
};
std::optional<Types> types_of(DType dtype) {
  constexpr int kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77;
  switch (dtype) {
    case DType::float32:
      return Types{0, matmul_precision() == MatmulPrecision::highest ? kCompute32 : kComputeTf32, 0};
    case DType::float64:
      return Types{1, kCompute64, 1};
    case DType::float16:
      return Types{2, kCompute32, 0};
    case DType::bfloat16:
      return Types{14, kCompute32, 0};
    case DType::complex64:
      return Types{4, kCompute32, 4};
    case DType::complex128:
      return Types{5, kCompute64, 5};
    default:
      return std::nullopt;
  }
}

// A matrix as the library sees it, by columns: ours by rows is its transpose.
struct Seen {
  int64_t rows, columns, leading, batch;
  int is_transposed;
  int alignment;
};
Seen seen(const MatrixBatch& m, int64_t rows, int64_t columns, size_t item) {
  const bool by_rows = m.column == 1 && (m.row >= columns || rows == 1);
  const auto address = reinterpret_cast<uintptr_t>(m.data);
  const auto batch_bytes = static_cast<uint64_t>(m.batch) * item;
  const int alignment = 1 << std::min(8, std::countr_zero(address | batch_bytes));
  if (by_rows) return {columns, rows, std::max(columns, rows == 1 ? columns : m.row), m.batch, 0, alignment};
  return {rows, columns, std::max(rows, columns == 1 ? rows : m.column), m.batch, 1, alignment};
}

// Everything that decides about the algorithm.
struct PlanKey {
  int device, dtype, compute, has_bias, reads_out, unused;
  int64_t m, n, k, batches;
  Seen a, b, out;
  bool operator==(const PlanKey& o) const { return std::memcmp(this, &o, sizeof o) == 0; }
};
static_assert(std::has_unique_object_representations_v<PlanKey>);
struct PlanHash {
  size_t operator()(const PlanKey& key) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&key), sizeof key});
  }
};
struct Plan {
  bool serves = false;
  Operation operation = nullptr;
  MatrixShape a = nullptr, b = nullptr, out = nullptr;
  Choice choice{};  // the first: for squares of 4,096 rows it was the quickest of eight, or 2 % behind
};

struct Plans {
  std::mutex mutex;  // also of calls: an operation holds the address of the bias
  std::array<Handle, kMostDevices> handles{};
  std::unordered_map<PlanKey, Plan, PlanHash> all;
};
Plans& plans() {
  static auto& made = *new Plans;
  return made;
}

void destroy(const Library& lt, const Plan& plan) {
  if (plan.operation) lt.cublasLtMatmulDescDestroy(plan.operation);
  for (const MatrixShape shape : {plan.a, plan.b, plan.out}) {
    if (shape) lt.cublasLtMatrixLayoutDestroy(shape);
  }
}

MatrixShape shape_of(const Library& lt, const Seen& seen, int type, int64_t batches) {
  MatrixShape shape = nullptr;
  if (lt.cublasLtMatrixLayoutCreate(&shape, type, static_cast<uint64_t>(seen.rows), static_cast<uint64_t>(seen.columns),
                                    seen.leading) != 0)
    return nullptr;
  const int count = static_cast<int>(batches);
  if (batches > 1) {
    lt.cublasLtMatrixLayoutSetAttribute(shape, kBatchCount, &count, sizeof count);
    lt.cublasLtMatrixLayoutSetAttribute(shape, kBatchStride, &seen.batch, sizeof seen.batch);
  }
  return shape;
}

// out^T = b^T a^T: the library's first operand is our second.
Plan make_plan(const Library& lt, Handle handle, const PlanKey& key, const Types& types) {
  Plan plan;
  if (lt.cublasLtMatmulDescCreate(&plan.operation, types.compute, types.scale) != 0) return plan;
  lt.cublasLtMatmulDescSetAttribute(plan.operation, kTransposeA, &key.b.is_transposed, sizeof(int));
  lt.cublasLtMatmulDescSetAttribute(plan.operation, kTransposeB, &key.a.is_transposed, sizeof(int));
  if (key.has_bias) lt.cublasLtMatmulDescSetAttribute(plan.operation, kEpilogue, &kWithBias, sizeof(int));
  plan.a = shape_of(lt, key.b, types.data, key.batches);
  plan.b = shape_of(lt, key.a, types.data, key.batches);
  plan.out = shape_of(lt, key.out, types.data, key.batches);
  Preference preference = nullptr;
  if (!plan.a || !plan.b || !plan.out || lt.cublasLtMatmulPreferenceCreate(&preference) != 0) return plan;
  lt.cublasLtMatmulPreferenceSetAttribute(preference, kWorkspaceBytes, &kMostWorkspace, sizeof kMostWorkspace);
  const uint32_t alignments[] = {static_cast<uint32_t>(key.b.alignment), static_cast<uint32_t>(key.a.alignment),
                                 static_cast<uint32_t>(key.out.alignment), static_cast<uint32_t>(key.out.alignment)};
  for (int i = 0; i < 4; ++i)
    lt.cublasLtMatmulPreferenceSetAttribute(preference, kAlignmentA + i, &alignments[i], sizeof(uint32_t));
  int count = 0;
  plan.serves = lt.cublasLtMatmulAlgoGetHeuristic(handle, plan.operation, plan.a, plan.b, plan.out, plan.out,
                                                  preference, 1, &plan.choice, &count) == 0 &&
                count == 1 && plan.choice.state == 0;
  lt.cublasLtMatmulPreferenceDestroy(preference);
  return plan;
}

// A number in the type that the library scales with: at most complex128.
struct Factor {
  alignas(16) char bytes[16] = {};
  Factor(const Number& n, int type) {
    const float singles[2] = {static_cast<float>(n.real), static_cast<float>(n.imag)};
    const double doubles[2] = {n.real, n.imag};
    if (type == 0 || type == 4)
      std::memcpy(bytes, singles, sizeof singles);
    else
      std::memcpy(bytes, doubles, sizeof doubles);
  }
};

}  // namespace

bool multiply_by_blaslt(const Product& p, Device device, const char* operator_name) {
  const std::optional<Types> types = types_of(p.dtype);
  if (!types || p.k == 0 || p.batches > INT32_MAX) return false;
  const Library* library = opened().find();
  if (!library) return false;
  const Library& lt = *library;
  const int index = use(device);
  const auto item = static_cast<size_t>(item_size(p.dtype));
  PlanKey key{.device = index,
              .dtype = static_cast<int>(p.dtype),
              .compute = types->compute,
              .has_bias = p.bias != nullptr,
              .reads_out = p.reads_out(),
              .unused = 0,
              .m = p.m,
              .n = p.n,
              .k = p.k,
              .batches = p.batches,
              .a = seen(p.a, p.m, p.k, item),
              .b = seen(p.b, p.k, p.n, item),
              .out = seen(p.out, p.m, p.n, item)};
  if (key.out.is_transposed) return false;

  Plans& known = plans();
  const std::lock_guard lock(known.mutex);
  Handle& handle = known.handles[static_cast<size_t>(index)];
  if (!handle && lt.cublasLtCreate(&handle) != 0) return false;
  auto it = known.all.find(key);
  if (it == known.all.end()) {
    if (known.all.size() >= kMostPlans) {
      for (const auto& [_, plan] : known.all) destroy(lt, plan);
      known.all.clear();
    }
    it = known.all.emplace(key, make_plan(lt, handle, key, *types)).first;
  }
  const Plan& plan = it->second;
  if (!plan.serves) return false;
  if (p.bias) lt.cublasLtMatmulDescSetAttribute(plan.operation, kBiasPointer, &p.bias, sizeof p.bias);
  const Factor alpha(p.alpha, types->scale), beta(p.beta, types->scale);
  std::optional<Scratch> workspace;
  if (plan.choice.workspace) workspace.emplace(scratch(device, plan.choice.workspace));
  const CUstream stream = current_stream(device);
  const int status = lt.cublasLtMatmul(handle, plan.operation, alpha.bytes, p.b.data, plan.a, p.a.data, plan.b,
                                       beta.bytes, p.out.data, plan.out, p.out.data, plan.out, &plan.choice.algorithm,
                                       workspace ? workspace->data() : nullptr, plan.choice.workspace, stream);
  SCONCE_CHECK(status == 0, "{}: cublasLtMatmul failed with status {}: [{}, {}] @ [{}, {}], {} matrices of {}",
               operator_name, status, p.m, p.k, p.k, p.n, p.batches, dtype_name(p.dtype));
  note_launch(device, stream, operator_name);
  return true;
}

std::string blaslt_version() {
  const Library* library = opened().find();
  return library ? std::to_string(library->version()) : "";
}
std::string why_no_blaslt() { return opened().why(); }

}  // namespace sconce::cuda
