// DLPack 1.3: the layout of tensors that libraries hand to each other, and the table of functions that a type of Python
// offers for it in a capsule, `__dlpack_c_exchange_api__`.
#pragma once

#include <cstdint>

namespace sconce::python::dlpack {

struct Version {
  uint32_t major, minor;
};
inline constexpr Version kVersion{1, 3};

enum class DeviceType : int32_t { cpu = 1, cuda = 2, cuda_host = 3 };
struct Device {
  DeviceType type;
  int32_t index;
};

enum class Code : uint8_t {
  integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12,
};
struct DataType {
  Code code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t* sizes;
  int64_t* strides;  // in elements; null when the elements lie one after the other
  uint64_t byte_offset;
};

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor* self);
  uint64_t flags;
  Tensor tensor;
};

// Functions return 0, or -1 with an exception of Python set. "No sync": the caller orders work on devices.
struct ExchangeTable {
  Version version;
  ExchangeTable* previous;  // of an older version
  int (*allocate)(Tensor* like, ManagedTensor** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*from_object)(void* object, ManagedTensor** out);
  int (*to_object)(ManagedTensor* tensor, void** out_object);  // takes the tensor over
  int (*view_of_object)(void* object, Tensor* out);            // valid while the object is
  int (*current_stream)(DeviceType type, int32_t index, void** out);
};

}  // namespace sconce::python::dlpack
