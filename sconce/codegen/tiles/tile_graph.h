// TileGraph: a nest lowered to values of a tile, in SSA form. Conversions of dtypes, which a call implies, are values
// of their own here, and equal ones are one value: what is converted twice is converted once.
#pragma once

#include <cstdint>
#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/loops/nest.h"
#include "sconce/tensor/dtype.h"

namespace sconce::codegen {

// The elements of a tile, dense, of one dtype.
struct TileValue {
  enum Kind : uint8_t { buffer, convert, call } kind;
  DType dtype;
  uint16_t number = 0;   // of the buffer, or of the call
  Compute compute = {};  // of a call
  bool uniform = false;  // one element, repeated for 64 bytes
  SmallVector<uint16_t, kMaxLoopInputs> inputs = {};
};

struct TileStore {
  uint16_t value, buffer;
};

struct TileGraph {
  std::vector<TileValue> values;  // inputs come before what reads them
  std::vector<TileStore> stores;
};

// `uniform_buffers`: bit k says that buffer k is one element throughout a tile; what is computed of such is, too.
TileGraph lower(const loops::Nest& nest, uint32_t uniform_buffers);

// The type that the loops of a call compute in at this CPU's level; bools without loops go by int32.
Compute compute_of(const loops::LoopCall& call);
DType compute_dtype(Compute compute);
int lanes_of(Compute compute);  // elements of a group

}  // namespace sconce::codegen
