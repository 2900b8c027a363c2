// Direct threading of pointwise operators: a list of loops with their numbers, found once, that runs on small
// contiguous tensors of one shape and dtype without dispatch, promotion or a frame. For calls in which these cost more
// than the arithmetic. The loops are those that eager takes for such tensors, so that results have eager's bits.
//
//   DenseTape::Builder b(inputs);                  x, y: float32 [8]
//   b.call(*add, {0, 1, Scalar 1})                 slot 2, a temporary
//   b.call(*relu, {2})                             slot 3
//   auto tape = b.finish({3});                     tape->run({x, y}, {&result}): one allocation, two loops
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/dispatch/op.h"
#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

class SCONCE_API DenseTape {
 public:
  class Builder;

  // Whether the tape ran: the inputs (as many as the builder was given) are contiguous, of one shape, of the dtype that
  // the tape is for, small, not observed by autograd or a mode of the thread, and no operator has got another kernel
  // since. Otherwise nothing has happened, and the ordinary calls are due. Throws where memory ends.
  bool run(const Tensor* const* inputs, Tensor* outputs) const;
  // The same for inputs of which the caller knows that sizes, strides and dtype are those that the builder was given.
  // `all`, `any`: what all, or some, have in TensorImpl::meta.
  bool run_known(TensorImpl* const* inputs, uint64_t all, uint64_t any, Tensor* outputs) const;
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_; }

 private:
  DenseTape() = default;
  bool fits(int64_t numel) const;
  bool has_its_kernels() const;
  void compute(const char** slots, int64_t numel, const Tensor& like, Tensor* outputs) const;

  static constexpr size_t kRooms = 4;         // temporaries
  static constexpr size_t kRoomBytes = 2048;  // of each
  static constexpr size_t kMostOutputs = 4;
  static constexpr size_t kMostSlots = 24;  // inputs, then results of calls
  struct Call {
    const Op* op;
    const char* kernel;  // of the CPU, when the tape was made
    const Loop* loops;   // [level][compute]: at the level of the machine, for the dtype of the tape
    uint16_t first_param;
    uint8_t count;
    uint8_t inputs[kMaxLoopInputs];  // slots
    uint8_t result;                  // its slot
    int8_t room;                     // of the result; -1: an output
  };
  std::vector<Call> calls_;
  std::vector<Param> params_;
  uint8_t output_slots_[kMostOutputs] = {};
  uint8_t inputs_ = 0, outputs_ = 0;
  bool has_rooms_ = false;
  uint8_t lanes_log2_ = 0, item_size_ = 0;
  DType dtype_{};
  uint64_t meta_ = 0;  // of an input, without its rank and what does not matter
};

// Makes a tape, call by call.
class SCONCE_API DenseTape::Builder {
 public:
  // An argument: an input, the result of an earlier call, or a constant.
  struct Argument {
    int32_t slot = -1;
    Value constant;
  };
  // Of so many inputs, in slots 0, 1 ...: contiguous tensors on the CPU like those that the tape will run on.
  Builder(DType dtype, IntList sizes, size_t inputs);
  // The call of an operator, one argument per schema argument; its result has the next slot. It is made on Meta tensors
  // to learn which loop it is (pointwise_probe.h). False when it is not one loop over tensors of the inputs' shape and
  // dtype: then there is no tape.
  bool call(const Op& op, std::span<const Argument> arguments);
  // The same for a call of which that is known. `inputs`: slots.
  bool add(const Op& op, const PointwiseLoops& loops, std::span<const int32_t> inputs, std::span<const Param> params);
  // Null when there is no tape. Each output is the result of a call, and stands once.
  std::unique_ptr<DenseTape> finish(std::span<const int32_t> outputs);

 private:
  bool give_rooms();

  std::unique_ptr<DenseTape> tape_;
  std::vector<Tensor> twins_;  // on Meta, by slot; while calls are made
  size_t slots_ = 0;
  bool is_dense_ = true;
};

}  // namespace sconce
