#include "sconce/executor/device/plan_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "sconce/base/logs.h"

namespace sconce::executor {
namespace {

constexpr int kCallsBefore = 2;  // that load modules and choose algorithms, which cannot be recorded
constexpr size_t kFewestSteps = 3;
// A step's launch takes 2 us of the host, a copy moves 2 MB in 1 us: see docs/cuda.md for what was measured.
constexpr double kCopiedBytesOfStep = 4e6;

size_t extent_of(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return static_cast<size_t>(last + 1) * t.item_size();
}

void log(const std::string& text) {
  if (is_logged(LogTag::plans)) fmt::print(stderr, "[plans] {}\n", text);
}

}  // namespace

PlanGraph::~PlanGraph() { graph_.reset(); }

std::unique_ptr<PlanGraph> PlanGraph::make(const Plan& plan) {
  const Tape& tape = plan.tape_;
  const codegen::DeviceMaker* maker = codegen::find_device_maker(tape.device.type);
  if (!maker || tape.draws || plan.steps_.size() < kFewestSteps) return nullptr;
  for (const TapeValue& v : tape.values) {
    if (!(v.device == tape.device)) return nullptr;
  }
  std::unique_ptr<PlanGraph> made(new PlanGraph);
  made->maker_ = maker;
  double copied = 0;
  const auto add = [&](std::vector<ValueId>& list, ValueId v) {
    if (std::find(list.begin(), list.end(), v) != list.end()) return false;
    list.push_back(v);
    copied += static_cast<double>(extent_of(tape.twin(v)));
    return true;
  };
  for (size_t i = 0; i < tape.inputs.size(); ++i) {
    if (add(made->inputs_, tape.inputs[i])) made->places_.push_back(i);
  }
  made->addresses_.resize(made->inputs_.size());
  for (const ValueId v : tape.outputs()) {
    const TapeBlock& block = tape.blocks[tape.block_of(v)];
    if (block.first != v) return nullptr;
    if (block.kind == TapeBlock::Kind::made) add(made->results_, v);
  }
  if (copied > kCopiedBytesOfStep * static_cast<double>(plan.steps_.size())) return nullptr;
  return made;
}

bool PlanGraph::record(const Plan& plan, std::span<TensorImpl* const> inputs) {
  const Tape& tape = plan.tape_;
  std::unique_ptr<Frame> frame = plan.make_frame();
  const auto work = [&] {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const ValueId v = inputs_[i];
      const Tensor& twin = tape.twin(v);
      frame->tensors[v] = addresses_[i].is_steady
                              ? Tensor(Ref<TensorImpl>::share(inputs[places_[i]]))
                              : empty_strided_tensor(twin.sizes(), twin.strides(), twin.dtype(), tape.device);
      frame->bases[tape.block_of(v)] = static_cast<char*>(frame->tensors[v].data());
    }
    plan.place_arena(*frame);
    plan.run_steps(*frame);
  };
  graph_ = maker_->record(tape.device, work, why_);
  if (!graph_) return false;
  for (const ValueId v : results_) {
    if (frame->tensors[v].defined()) continue;
    why_ = "a result is not there";
    graph_.reset();
    return false;
  }
  // The graph knows where steady inputs lie; who has them may let them go.
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (addresses_[i].is_steady) frame->tensors[inputs_[i]] = {};
  }
  frame_ = std::move(frame);
  returned_ = std::make_unique<Frame>();
  returned_->tensors.resize(tape.values.size());
  for (const ValueId v : tape.outputs()) {
    if (tape.is_constant(v)) returned_->tensors[v] = frame_->tensors[v];
  }
  why_ = fmt::format("a graph of {} nodes", graph_->nodes());
  return true;
}

void PlanGraph::replay(const Plan& plan, std::span<TensorImpl* const> inputs, Value& made) {
  const Tape& tape = plan.tape_;
  copies_.clear();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const ValueId v = inputs_[i];
    Tensor given(Ref<TensorImpl>::share(inputs[places_[i]]));
    const size_t bytes = extent_of(given);
    if (bytes > 0 && !addresses_[i].is_steady) copies_.push_back({frame_->tensors[v].data(), given.data(), bytes});
    returned_->tensors[v] = std::move(given);
  }
  if (!copies_.empty()) maker_->copy(copies_, tape.device);
  graph_->launch();
  copies_.clear();
  for (const ValueId v : results_) {
    const Tensor &from = frame_->tensors[v], &twin = tape.twin(v);
    Tensor to = empty_strided_tensor(twin.sizes(), twin.strides(), twin.dtype(), tape.device);
    if (const size_t bytes = extent_of(twin)) copies_.push_back({to.data(), from.data(), bytes});
    returned_->tensors[v] = std::move(to);
  }
  maker_->copy(copies_, tape.device);
  made = plan.result(*returned_, tape.output);
  for (const ValueId v : inputs_) returned_->tensors[v] = {};
  for (const ValueId v : results_) returned_->tensors[v] = {};
}

bool PlanGraph::look_at(std::span<TensorImpl* const> inputs) {
  bool stayed = true;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Address& address = addresses_[i];
    const void* now = Tensor(Ref<TensorImpl>::share(inputs[places_[i]])).data();
    if (address.last && address.last != now) {
      stayed &= !address.is_steady;
      address.is_steady = false;
    }
    address.last = now;
  }
  return stayed;
}

bool PlanGraph::run(const Plan& plan, std::span<TensorImpl* const> inputs, Value& made) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_refused_) return false;
  const void* stream = maker_->stream(plan.device());
  if (!look_at(inputs) && graph_) graph_.reset();  // an input has moved: it is copied from now on
  if (!graph_) {
    if (++calls_ <= kCallsBefore) return false;
    is_refused_ = !record(plan, inputs);
    log(is_refused_ ? "no graph: " + why_ : why_ + " was recorded");
    if (is_refused_) return false;
    stream_ = stream;
  }
  if (stream != stream_) return false;
  replay(plan, inputs, made);
  return true;
}

std::string PlanGraph::text() {
  const std::lock_guard lock(mutex_);
  return graph_ ? why_ : "no graph: " + why_;
}

}  // namespace sconce::executor
