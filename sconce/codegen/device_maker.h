// Device makers: what the library of a device type brings so that plans run there: kernels of loop nests, and graphs of
// work that is recorded once and asked for again as a whole (CUDA graphs).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "sconce/codegen/maker.h"
#include "sconce/loops/cost.h"
#include "sconce/tensor/device.h"

namespace sconce::codegen {

// Work of a device, recorded. It runs over the addresses that it was recorded with, and keeps what was allocated for
// it.
class SCONCE_API DeviceGraph {
 public:
  virtual ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  // On the thread's current stream. Two runs must not overlap: their caller keeps to one stream.
  virtual void launch() const = 0;
  virtual size_t nodes() const = 0;

 protected:
  DeviceGraph() = default;
};

// A product of few rows, [rows, depth] by the transpose of [columns, depth], depth innermost in both, and what follows
// on its elements.
struct ProductNest {
  DType dtype = DType::float32;  // of the factors, the bias and the product
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t x_row = 0, w_column = 0;  // strides
  bool has_bias = false;            // [columns], added before the product is rounded
  bool has_constant = false;        // the right factor is a constant of the plan: nothing in it writes there
  // Over [rows, depth]: what makes the left factor, row by row, where `head` has calls. The one buffer that is written
  // is the factor, which lies nowhere.
  loops::Nest head;
  // Over [rows, columns]. Buffer 0 is the product, which lies nowhere; the one that is written is the last. Without
  // calls the product itself is written.
  loops::Nest tail;
};

// Attention over one query for each of a batch: scores [batches, keys] of query [batches, depth] and key
// [batches, keys, depth], depth innermost; weights of scores, row by row; weights times value [batches, keys, size],
// size innermost. Scores and weights lie nowhere; the result is dense.
struct AttentionNest {
  DType dtype = DType::float32;  // of everything but what else the nest reads
  int64_t batches = 0, keys = 0, depth = 0, size = 0;
  int64_t query_batch = 0, key_batch = 0, key_row = 0, value_batch = 0, value_row = 0;  // strides
  loops::Nest rows;                                                                     // writes one buffer: weights
  size_t scores = 0;                                                                    // which of its buffers
  // Keys of a cache that grows here; 0: none. Key and value are dense then, and made of two dense parts each, the first
  // of so many keys: the kernel reads the parts, and writes the whole for those who read it later.
  int64_t first = 0;
};

struct ByteCopy {
  void* to;
  const void* from;
  size_t bytes;
};

// Functions throw Error. `device` has its number.
struct DeviceMaker {
  // A kernel whose buffers are memory of the device. It may be there later than this returns: Kernel::is_ready. Nests
  // of row operators have rows of at most `longest_row` elements.
  std::shared_ptr<const Kernel> (*make)(const loops::Nest& nest, Device device);
  // Products one after the other, each of the one before it: x of the first, or the buffers that its head reads; then
  // for each weight, bias where there is one, buffers of its tail but for the product and, unless it is the last, for
  // what it writes. May be there later.
  std::shared_ptr<const Kernel> (*make_products)(std::span<const ProductNest> chain, Device device);
  int64_t most_product_rows;
  // Whether the products may be one kernel: they are small, so that most of their time would be that between kernels.
  bool (*is_chain)(std::span<const ProductNest> chain);
  // Whether a product's kernel may make its factor itself by this nest of rows.
  bool (*is_head)(const loops::Nest& rows, const ProductNest& product);
  // Buffers: query, key, what the nest reads beside the scores, value, result; of a cache that grows both parts of key,
  // both of value. May be there later.
  std::shared_ptr<const Kernel> (*make_attention)(const AttentionNest& attention, Device device);
  bool (*is_attention)(const AttentionNest& attention);
  const loops::Machine* machine;  // what costs count
  int64_t longest_row;
  // What `work` asks of the device is recorded and not done; memory that it allocates belongs to the graph, or to the
  // tensors that it leaves. Null, with the reason, where something in it cannot be recorded.
  std::unique_ptr<DeviceGraph> (*record)(Device device, const std::function<void()>& work, std::string& why);
  // The stream of this thread on the device, as an address to compare.
  const void* (*stream)(Device device);
  // All of them, in any order; they do not overlap.
  void (*copy)(std::span<const ByteCopy> copies, Device device);
  // The place of the device's generator in its stream of random numbers.
  uint64_t (*drawn)(Device device);
  void (*set_drawn)(Device device, uint64_t place);
};

// Null: plans are not made for tensors of this device type. Loads no library.
SCONCE_API const DeviceMaker* find_device_maker(DeviceType type);
// It must live for ever; null takes it away.
SCONCE_API void set_device_maker(DeviceType type, const DeviceMaker* maker);

}  // namespace sconce::codegen
