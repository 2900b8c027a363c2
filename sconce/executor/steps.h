// The kinds of steps that plans have: an operator called as it is, a loop nest, a prepared call with its epilogue.
#pragma once

#include <string>
#include <vector>

#include "sconce/codegen/maker.h"
#include "sconce/dispatch/prepare.h"
#include "sconce/executor/execution_plan.h"
#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce::executor {

// An operator over tensors, boxed.
class CallStep final : public Step {
 public:
  // `args`: which of Frame::args are its own. Results of `dropped` are not kept.
  CallStep(const TapeNode& node, const Tape& tape, size_t args);
  void run(Frame& frame) const override;
  std::string text() const override { return "call"; }
  const char* separator() const override { return " "; }

 private:
  struct Result {
    ValueId value;
    BlockId block;  // kNone: not the first value of its memory
  };
  const Op* op_;
  SmallVector<TensorUse, 4> uses_;
  Numbers result_sizes_;
  std::vector<Result> results_;
  size_t args_;
  bool is_boxed_;                 // moves from its arguments
  std::vector<Tensor> expected_;  // on Meta, one per result; empty: nobody asks
  std::vector<Device> devices_;   // of them
};

class NestStep final : public Step {
 public:
  NestStep(std::shared_ptr<const codegen::Kernel> kernel, loops::Nest nest, std::vector<Place> buffers);
  void run(Frame& frame) const override;
  std::string text() const override { return "loops"; }
  const loops::Nest* nest() const override { return &nest_; }
  const codegen::Kernel* kernel() const override { return kernel_.get(); }

 private:
  std::shared_ptr<const codegen::Kernel> kernel_;
  loops::Nest nest_;
  std::vector<Place> buffers_;
};

// What follows a prepared call on the same elements: loops over [rows, columns], run on blocks while they are in cache.
struct Tail {
  std::shared_ptr<const codegen::Kernel> kernel;  // null: none
  loops::Nest nest;                               // of the kernel
  std::vector<Place> buffers;
  Place scale, shift;  // of each column: a batch norm, before the residual
  Place residual;      // added before the clamp
  int64_t residual_stride = 0;
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();
};

class PreparedStep final : public Step {
 public:
  // `args`: one per schema argument.
  PreparedStep(std::shared_ptr<const PreparedCall> call, const std::vector<Place>& args, Place result, Tail tail);
  void run(Frame& frame) const override;
  std::string text() const override { return call_->text(); }
  const loops::Nest* nest() const override { return tail_.kernel ? &tail_.nest : nullptr; }

 private:
  struct Argument {
    size_t number;
    Place place;
  };
  std::shared_ptr<const PreparedCall> call_;
  std::vector<Argument> args_;  // the tensors
  Place result_;
  Tail tail_;
  Epilogue epilogue_;  // but for addresses
  bool is_plain_;      // there are none
};

// The same elements in another order of dimensions.
class RearrangeStep final : public Step {
 public:
  RearrangeStep(const Tensor& from, const Tensor& to, Place from_place, Place to_place);
  void run(Frame& frame) const override;
  std::string text() const override;

 private:
  Tensor from_, to_;  // on Meta
  Place from_place_, to_place_;
  int64_t images_ = 0, channels_ = 0;  // of a transposition; none: an ordinary copy
  bool to_innermost_ = false;
};

}  // namespace sconce::executor
