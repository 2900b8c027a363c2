// Graph replay: a plan of a device as one recorded graph (CUDA graphs), so that a call asks the driver once, not once
// for every kernel.
//
// Note [Graphs of plans]
// After some calls the steps are run once more while a DeviceMaker records them, over a frame of their own: copies of
// the inputs, an arena, results. A later call copies its inputs there, runs the graph, and copies the results into new
// tensors. Inputs that have had one address in all calls so far are read where they lie; if one moves, the graph is
// recorded anew, with a copy of it. Not recorded: plans of few steps or of tensors so large that the copies would cost
// more than they save, plans that draw random numbers, that have tensors of the CPU, that return views, and those whose
// steps wait for the device. The memory is one, so calls on another stream than the one that it was recorded for, and
// those that come while another thread is at it, run step by step. SCONCE_CUDA_GRAPHS=off records nothing.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sconce/codegen/device_maker.h"
#include "sconce/executor/execution_plan.h"

namespace sconce::executor {

class PlanGraph {
 public:
  ~PlanGraph();

  // Null where the plan is none that may be recorded.
  static std::unique_ptr<PlanGraph> make(const Plan& plan);

  // False: the call runs step by step.
  bool run(const Plan& plan, std::span<TensorImpl* const> inputs, Value& made);

  // "a graph of 12 nodes", or why there is none; for people.
  std::string text();

 private:
  PlanGraph() = default;
  bool record(const Plan& plan, std::span<TensorImpl* const> inputs);
  // False: an input that was steady is no more.
  bool look_at(std::span<TensorImpl* const> inputs);
  void replay(const Plan& plan, std::span<TensorImpl* const> inputs, Value& made);

  std::mutex mutex_;
  const codegen::DeviceMaker* maker_ = nullptr;
  int calls_ = 0;
  bool is_refused_ = false;
  std::string why_ = "not recorded yet";
  std::vector<ValueId> inputs_, results_;  // what is copied, each once
  std::vector<size_t> places_;             // of inputs_: which argument
  struct Address {
    const void* last = nullptr;
    bool is_steady = true;
  };
  std::vector<Address> addresses_;  // of inputs_
  const void* stream_ = nullptr;    // that it was recorded for
  std::unique_ptr<Frame> frame_, returned_;
  std::unique_ptr<codegen::DeviceGraph> graph_;  // goes before the frame: it works on its memory
  std::vector<codegen::ByteCopy> copies_;
};

}  // namespace sconce::executor
