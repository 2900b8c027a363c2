// Operation graphs of cuDNN: descriptors of its backend interface, plans that are made once for a key, and their runs.
// cuDNN is opened by name when first needed; where it is absent, too old or has no kernel for a graph, callers go on
// with their own kernels, and that is said once in the log (SCONCE_LOGS=kernels).
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cuda::dnn {

struct Library;
using Handle = struct DnnContext*;
using Descriptor = void*;  // cudnnBackendDescriptor_t

// cudnnBackendDescriptorType_t
inline constexpr int kPointwise = 0, kConvolution = 1, kForward = 10, kOfWeight = 11, kOfImage = 12,
                     kPointwiseOperation = 13, kTensor = 17, kMatmul = 18, kMatmulOperation = 19, kReduction = 21,
                     kReductionOperation = 22;
// cudnnBackendAttributeType_t
inline constexpr int kIsHandle = 0, kIsDataType = 1, kIsBool = 2, kIsInteger = 3, kIsFloat = 4, kIsPointer = 6,
                     kIsConvolutionMode = 7, kIsHeuristic = 8, kIsPointwiseMode = 14, kIsDescriptor = 15,
                     kIsReductionMode = 18;
// cudnnDataType_t
inline constexpr int kSingle = 0, kHalf = 2, kInt32 = 4, kBfloat16 = 9, kBool = 11;

// float32 and 16-bit floats.
int type_of(DType dtype);

// A descriptor and its attributes. The first call that fails is remembered, and the others do nothing.
class Made {
 public:
  Made(const Library& library, int kind);
  Made(Made&& other) noexcept;
  Made& operator=(Made&&) = delete;
  ~Made();
  Made& set(int name, int type, int64_t count, const void* values);
  Made& set(int name, const Made& other) { return set(name, kIsDescriptor, 1, &other.descriptor_); }
  Made& set_integers(int name, const std::vector<int64_t>& values) {
    return set(name, kIsInteger, static_cast<int64_t>(values.size()), values.data());
  }
  bool finish();
  Descriptor get() const { return descriptor_; }

 private:
  const Library* library_;
  Descriptor descriptor_ = nullptr;
  int code_;
};

// Sizes and strides of a tensor descriptor; real ones have memory, others are between operations.
struct TensorSides {
  std::vector<int64_t> sizes, strides;
};

// What a graph is made of. Descriptors live as long as its plan: cuDNN does not say what it copies.
class GraphParts {
 public:
  explicit GraphParts(const Library& library) : library_(library) {}
  Made& make(int kind) { return parts_.emplace_back(library_, kind); }
  // With memory that runs name by `id`.
  const Made& tensor(int64_t id, int type, const TensorSides& sides);
  // Between operations.
  const Made& inner(int type, const TensorSides& sides);
  // One number in host memory.
  const Made& number(int64_t id);
  // `made` is an operation of the graph.
  void operation(Made& made);
  // y of x and, where they are there, b and t: a pointwise operation computed in `type`; `axis` of indices.
  void pointwise(int mode, const Made& x, const Made* b, const Made& y, const Made* t = nullptr, int type = kSingle,
                 int64_t axis = -1);
  void product(const Made& a, const Made& b, const Made& c);
  void reduction(int mode, const Made& x, const Made& y);
  bool is_good() const { return is_good_; }
  void refuse() { is_good_ = false; }

 private:
  friend struct Planner;
  const Made& finished(Made& made);
  const Library& library_;
  std::deque<Made> parts_;  // references to them stay
  std::vector<Descriptor> operations_;
  int64_t next_inner_ = 1000;
  bool is_good_ = true;
};

// Addresses of a run by the ids of tensors.
struct Memory {
  std::vector<int64_t> ids;
  std::vector<void*> data;
};

// Runs the graph that `key` stands for on the device's current stream; `describe` makes it where it is not known yet.
// False where cuDNN does not serve: nothing was done.
bool run_graph(Device device, const std::vector<int64_t>& key, const std::function<void(GraphParts&)>& describe,
               const Memory& memory, const char* operator_name);

// Whether attention may run there, too (SCONCE_CUDA_CUDNN).
bool serves_attention();

// "9.14.0", or why there is none.
std::string version();

}  // namespace sconce::cuda::dnn
