// Plan: a function compiled for arguments of one signature: a list of steps over memory that was laid out beforehand.
//
// Note [Plans]
// A plan is made of a tape (recorder.h): nodes become steps. Pointwise operators are fused into loop nests, products
// and convolutions with constant weights are prepared (weights packed, epilogues attached), views cost nothing, all
// others are called as the interpreter would call them. Results that do not leave the plan and are not made by an
// ordinary call lie in one arena (arena.h). Results have eager's bits.
// A plan is immutable and shared by threads. What a call needs is a Frame: a plan keeps those of calls that ended.
// When a step throws, nothing outside has been written; the caller lets the interpreter run the call from its
// beginning, which raises the error in the words, and with the lines, of the program.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sconce/executor/calls/call_match.h"
#include "sconce/executor/calls/process_lock.h"
#include "sconce/executor/calls/step_threads.h"
#include "sconce/executor/guards.h"
#include "sconce/executor/tape.h"
#include "sconce/kernels/dense_tape.h"

namespace sconce::loops {
struct Nest;
}
namespace sconce::codegen {
class Kernel;
}

namespace sconce::executor {

// The memory of one call.
struct Frame {
  std::vector<char*> bases;              // of each block: the address of its origin
  std::vector<Tensor> tensors;           // by value, where one is needed
  std::vector<std::vector<Value>> args;  // of each ordinary call, by number
  Ref<Storage> arena;
};

// An address in a frame.
struct Place {
  BlockId block = kNone;
  int64_t offset = 0;
  bool exists() const { return block != kNone; }
  void* in(const Frame& frame) const { return frame.bases[block] + offset; }
};

class Step {
 public:
  virtual ~Step();
  virtual void run(Frame& frame) const = 0;
  // For people: what it is, in one line; nodes of the tape that it computes stand behind it (Plan::step_text).
  virtual std::string text() const = 0;
  // What stands in front of each of these.
  virtual const char* separator() const { return "\n    "; }
  // The loop nest that it is, or that follows its call; null: none.
  virtual const loops::Nest* nest() const { return nullptr; }
  // The kernel of it; null: none.
  virtual const codegen::Kernel* kernel() const { return nullptr; }
};

// A step and what the frame does around it.
struct Scheduled {
  std::unique_ptr<Step> step;
  std::vector<ValueId> allocates;  // new tensors that it writes, and that leave the plan
  std::vector<ValueId> views;      // tensors over memory of other ones, which it wants as such
  std::vector<ValueId> releases;   // tensors that nobody needs behind it
  bool is_plain = false;           // it has none of these
  double work = 0;                 // multiplications of a product or a convolution; 0: not known
  std::vector<NodeId> nodes;       // the calls of the program that it makes
};

// While true, every call of a plan takes the time of its steps (Plan::step_seconds): some 50 ns each. For the whole
// process; off when it starts.
void set_step_timing(bool on);

// Bytes behind a block of an arena that no step may write to.
struct ArenaGap {
  size_t offset, bytes, block_bytes;
};

class PlanGraph;  // of device/plan_graph.h

class Plan {
 public:
  Plan(Tape tape, Guards guards);
  ~Plan();
  Plan(const Plan&) = delete;

  // Whether the plan may run: attributes and constants are what they were.
  bool holds() const { return guards_.hold() && constants_hold(); }
  // Which of them is not, for people.
  std::string why_not() const;
  const Guards& guards() const { return guards_; }
  // `inputs` are the tensors of the signature. Throws what a step throws.
  Value run(std::span<TensorImpl* const> inputs) const;
  Value run(const MatchedTensors& inputs) const;

  // Whether its kernels are there: those of devices are made in the background. A call is interpreted until then.
  bool is_ready() const { return is_ready_.load(std::memory_order_acquire) || look_for_kernels(); }
  // Waits for them. Throws Error where one cannot be made.
  void wait() const;
  Device device() const { return tape_.device; }

  // A plan of few pointwise operators runs small tensors without a frame: looks whether it is one.
  void find_dense();

  bool draws() const { return tape_.draws; }
  size_t guard_count() const { return guards_.size(); }
  const std::vector<Scheduled>& steps() const { return steps_; }
  size_t arena_bytes() const { return arena_bytes_; }
  // Weights that it has packed give their memory back, where they lie in a file as it is: they are there again when
  // somebody reads them (Note [Pages of files]). Returns the bytes. Nobody may write to them meanwhile.
  size_t give_back_originals() const;
  size_t given_back() const { return given_back_; }  // while it was made
  std::string text() const;
  std::string step_text(size_t i) const;
  std::vector<Site> sites(size_t i) const;  // of the program's calls that step i makes
  // Whether step i was found to be faster on one thread.
  bool is_alone(size_t i) const { return step_threads_ && step_threads_->is_decided() && step_threads_->is_alone(i); }
  // Of each step, the least time that it took in calls made with step timing on; empty if there was none.
  std::vector<double> step_seconds() const;

 private:
  friend class Builder;
  friend class PlanGraph;

  // Something that was found once and must not have changed.
  struct KnownConstant {
    Tensor tensor;
    Tensor twin;
    const void* data;
    uint64_t writes;
    bool is_read;    // its elements were, so writes count
    bool is_packed;  // a step has it in its own form
  };
  bool constants_hold() const;
  bool geometry_holds() const;

  bool run_dense(std::span<TensorImpl* const> inputs, Value& made) const;
  Value dense_result(Tensor* made) const;
  Value run_steps(std::span<TensorImpl* const> inputs, bool is_timed) const;

  bool look_for_kernels() const;
  bool is_on_device() const { return tape_.device.type != DeviceType::cpu; }
  void run_steps(Frame& frame) const;
  void run_steps_by_threads(Frame& frame) const;  // Note [Threads of steps]

  std::unique_ptr<Frame> make_frame() const;
  // A frame of the CPU has an arena as long as it lives. One of a device has it for a call, in the order of the call's
  // stream: the next call may be on another one.
  void place_arena(Frame& frame) const;
  void take_arena_away(Frame& frame) const;
  std::unique_ptr<Frame> take_frame() const;
  void give_back(std::unique_ptr<Frame> frame) const;
  void set_view(Frame& frame, ValueId v) const;
  Value result(const Frame& frame, const Output& output) const;
  void run_step(Frame& frame, const Scheduled& scheduled) const;
  void run_timed(Frame& frame) const;

  Tape tape_;
  Guards guards_;
  std::vector<KnownConstant> constants_;
  mutable std::atomic<uint64_t> geometry_epoch_;
  std::vector<Scheduled> steps_;
  std::unique_ptr<StepThreads> step_threads_;  // null on devices
  void make_dense();
  std::unique_ptr<DenseTape> dense_;
  std::vector<uint32_t> frame_args_;    // of each ordinary call: the node
  std::vector<int64_t> arena_offsets_;  // by block; -1: not in the arena
  std::vector<ValueId> standing_;       // values with a tensor from the beginning: of constants, of the arena
  std::vector<ValueId> leaving_;        // values with a tensor that the result has
  size_t arena_bytes_ = 0;
  std::vector<ArenaGap> arena_gaps_;  // of poisoned memory (poison.h)
  size_t given_back_ = 0;
  mutable std::atomic<bool> is_ready_{true};
  std::unique_ptr<PlanGraph> graph_;  // of a device's plan
  mutable std::atomic<Frame*> spare_{nullptr};
  mutable ProcessLock spares_lock_;
  mutable std::vector<std::unique_ptr<Frame>> spares_;
  mutable std::mutex mutex_;  // of the times
  mutable std::vector<double> step_seconds_;
};

class GraphBackend;  // of graph_backend.h

struct PlanSettings {
  GraphBackend* backend = nullptr;  // takes what it wants of the tape
  bool gives_back = false;          // originals of packed weights, one by one
  bool packs_later = false;         // large weights in the first calls of the plan
};
// Makes a plan, or gives nothing and says why.
std::unique_ptr<Plan> make_plan(Tape tape, Guards guards, std::string& why, const PlanSettings& settings = {});

// Of one weight: the bytes that were given back.
size_t give_back_original(const Tensor& weight);

}  // namespace sconce::executor
