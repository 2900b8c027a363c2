// Nest: the loop IR. One loop nest over `sizes` whose body is a list of pointwise operators, run element by element:
// what stands between its first loads and its last stores never is a tensor.
//
//   nest [2, 3]
//     b0 f32 (3, 1)                  buffers: dtype and strides; `written` is marked
//     b1 f32 (0, 1)
//     b2 f32 (3, 1) written
//     %0 : f32 = mul.Tensor(b0, b1)  calls, in order: the operator as eager runs it
//     %1 : f32 = relu(%0)
//     b2 = %1                        stores
//
// A call is one operator as it ran: its loops (those of eager), the dtype that it computes in, the dtype of its result.
// Equal bits follow from that: a maker (codegen/maker.h) runs the same arithmetic with the same roundings, only not in
// the same memory. 16-bit floats, for one, are rounded after every call, because eager does.
//
// A nest owns nothing but its lists; operators and loops are static data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/base/small_vector.h"
#include "sconce/dispatch/entry.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/tensor/dtype.h"

namespace sconce::loops {

// What a call reads: an element of a buffer, or the result of an earlier call.
struct Source {
  enum Kind : uint8_t { buffer, call };
  Kind kind = buffer;
  uint16_t number = 0;
  friend bool operator==(const Source&, const Source&) = default;
};
inline Source from_buffer(size_t number) { return {Source::buffer, static_cast<uint16_t>(number)}; }
inline Source from_call(size_t number) { return {Source::call, static_cast<uint16_t>(number)}; }

// An operator over whole rows: the last of two sizes. It ends a stage of a nest: what reads its result comes after it
// has seen the row. Eager's kernels run, on some rows at a time.
enum class RowOp : uint8_t { none, softmax, log_softmax, layer_norm, rms_norm };

// One pointwise operator as it ran; or, without loops, a row operator, or a copy of its one input, converted to
// `result`. A row operator reads its row; the norms, then, a weight and a bias where there are any: buffers of strides
// (0, 1). Its one parameter is eps (softmax has none).
struct LoopCall {
  const Op* op = nullptr;                 // whose schema numbers the arguments of the steps
  const PointwiseCase* rule = nullptr;    // the case of op->info.entry that was taken
  const PointwiseLoops* loops = nullptr;  // rule->loops
  DType common = DType::float32;          // computed in: see iterate.h
  DType result = DType::float32;          // stored as
  SmallVector<Source, kMaxLoopInputs> inputs;
  SmallVector<Param, 2> params;  // loops->params of them, as eager hands them to the loops

  RowOp row = RowOp::none;

  bool is_row() const { return row != RowOp::none; }
  bool is_conversion() const { return loops == nullptr && !is_row(); }
};

// A call of these loops; the case is found by them. Throws Error when `op` has no such case.
SCONCE_API LoopCall make_call(const Op& op, const PointwiseLoops& loops, DType common, DType result);
SCONCE_API LoopCall make_conversion(DType result);
SCONCE_API LoopCall make_row_call(RowOp op, DType dtype, double eps = 0);

struct Buffer {
  DType dtype = DType::float32;
  Dims strides;  // in elements, one for each of Nest::sizes; 0: the same element is read again
  bool written = false;
};

struct Store {
  uint16_t call, buffer;
};

struct Nest {
  Dims sizes;
  std::vector<Buffer> buffers;
  std::vector<LoopCall> calls;
  std::vector<Store> stores;  // at most one for a buffer

  SCONCE_API int64_t numel() const;
};

inline constexpr int kMaxCalls = 64;    // of a nest: what a tile program keeps in the L1 cache
inline constexpr int kMaxBuffers = 12;  // and the streams of memory that processors follow

// Whether a call may be part of a nest. Not: integer divisions, which raise an error for a zero; loops that are missing
// for this dtype; quantised and complex32 operands. The executor runs those one by one.
SCONCE_API bool fusible(const LoopCall& call);

// Throws Error unless the numbers in a nest fit each other: sources that exist, strides for every size, calls with as
// many inputs as their loops have, stores into buffers of the result's dtype, no more than kMaxCalls and kMaxBuffers.
SCONCE_API void check(const Nest& nest);

SCONCE_API std::string to_string(const Nest& nest);

// The position of a schema's argument among the inputs or the parameters of the loops.
struct ArgumentPlace {
  enum Kind : uint8_t { none, input, param } kind = none;
  uint8_t number = 0;
};
// One for each argument of the schema. Empty when the record does not tell.
SmallVector<ArgumentPlace, 16> argument_places(const LoopCall& call);

// The steps that compute `common`; null when they are not known.
const Expression* expression_of(const LoopCall& call);

}  // namespace sconce::loops
