#include "sconce/executor/execution_plan.h"

#include <algorithm>
#include <chrono>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/thread_limit.h"
#include "sconce/base/variants/variants.h"
#include "sconce/base/workers_awake.h"
#include "sconce/codegen/maker.h"
#include "sconce/executor/device/plan_graph.h"
#include "sconce/executor/probe.h"
#include "sconce/executor/write_back.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/memory/geometry_changes.h"
#include "sconce/tensor/memory/mapped_files.h"
#include "sconce/tensor/memory/poison.h"
#include "sconce/tensor/memory/write_count.h"

namespace sconce::executor {

namespace {

SCONCE_VARIANT(dense_plan, "plan.dense",
               "pointwise operators over contiguous tensors of one shape: small calls without a plan's frame");

constinit std::atomic<bool> timing{false};

constexpr size_t kDenseInputs = 12, kDenseOutputs = 4, kDenseNodes = 16;
}  // namespace

Step::~Step() = default;

void set_step_timing(bool on) { timing.store(on); }

Plan::Plan(Tape tape, Guards guards)
    : tape_(std::move(tape)), guards_(std::move(guards)), geometry_epoch_(geometry_changes.load()) {}
Plan::~Plan() { delete spare_.load(); }

// ---- constants ----

bool Plan::geometry_holds() const {
  const uint64_t now = geometry_changes.load(std::memory_order_acquire);
  for (const KnownConstant& c : constants_) {
    const Tensor &t = c.tensor, &twin = c.twin;
    if (t.data() != c.data || t.dtype() != twin.dtype() || !(t.sizes() == twin.sizes()) ||
        !(t.strides() == twin.strides()))
      return false;
  }
  geometry_epoch_.store(now, std::memory_order_relaxed);
  return true;
}

bool Plan::constants_hold() const {
  const bool moved = storages_moved.load(std::memory_order_relaxed);
  if (moved || geometry_changes.load(std::memory_order_relaxed) != geometry_epoch_.load(std::memory_order_relaxed))
      [[unlikely]] {
    if (!geometry_holds()) return false;
  }
  for (const KnownConstant& c : constants_) {
    if (c.is_read && write_count(c.tensor) != c.writes) return false;
    if (tape_.records && c.tensor.requires_grad()) return false;
  }
  return true;
}

std::string Plan::why_not() const {
  if (std::string failed = guards_.failed(); !failed.empty()) return failed;
  for (const KnownConstant& c : constants_) {
    const std::string text = "a tensor " + geometry_text(c.twin) + " outside of the arguments";
    if (c.is_read && write_count(c.tensor) != c.writes) return text + " was written";
    if (c.tensor.data() != c.data) return text + " has moved";
    if (geometry_text(c.tensor) != geometry_text(c.twin)) return text + " is " + geometry_text(c.tensor) + " now";
  }
  return "everything is as it was";
}

size_t give_back_original(const Tensor& weight) {
  if (!weight.is_contiguous()) return 0;
  return give_back_pages(weight.data(), static_cast<size_t>(weight.numel()) * weight.item_size());
}

size_t Plan::give_back_originals() const {
  size_t given = 0;
  for (const KnownConstant& c : constants_) {
    if (c.is_packed) given += give_back_original(c.tensor);
  }
  return given;
}

// ---- frames ----

void Plan::set_view(Frame& frame, ValueId v) const {
  const TapeValue& value = tape_.values[v];
  const TapeBlock& block = tape_.blocks[value.block];
  const Tensor& base = frame.tensors[block.first];
  const auto item = static_cast<int64_t>(value.twin.item_size());
  const int64_t start = static_cast<const char*>(base.data()) - static_cast<const char*>(base.storage()->data);
  frame.tensors[v] = make_tensor_unchecked(Ref<Storage>::share(base.storage()), value.twin.dtype(), value.twin.sizes(),
                                           value.twin.strides(), (start + value.offset) / item);
}

std::unique_ptr<Frame> Plan::make_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->bases.resize(tape_.blocks.size());
  frame->tensors.resize(tape_.values.size());
  for (BlockId b = 0; b < tape_.blocks.size(); ++b) {
    const TapeBlock& block = tape_.blocks[b];
    if (block.kind == TapeBlock::Kind::constant) {
      frame->tensors[block.first] = block.constant;
      frame->bases[b] = static_cast<char*>(block.constant.data());
    }
  }
  for (const ValueId v : standing_) {
    if (arena_offsets_[tape_.block_of(v)] < 0) set_view(*frame, v);
  }
  if (!is_on_device()) place_arena(*frame);
  for (const NodeId n : frame_args_) {
    const TapeNode& node = tape_.nodes[n];
    std::vector<Value> args = node.args;
    for (Value& v : args) {
      if (v.is_list()) v = Value(v.to_list().copy());
    }
    frame->args.push_back(std::move(args));
  }
  return frame;
}

void Plan::place_arena(Frame& frame) const {
  if (arena_bytes_ != 0) frame.arena = make_storage(arena_bytes_, tape_.device);
  for (const ArenaGap& gap : arena_gaps_)
    memory_poison()->fill(static_cast<char*>(frame.arena->data) + gap.offset, gap.bytes);
  for (BlockId b = 0; b < tape_.blocks.size(); ++b) {
    if (arena_offsets_[b] >= 0) frame.bases[b] = static_cast<char*>(frame.arena->data) + arena_offsets_[b];
  }
  for (const ValueId v : standing_) {
    const TapeValue& value = tape_.values[v];
    if (arena_offsets_[value.block] < 0) continue;
    const int64_t bytes = arena_offsets_[value.block] + value.offset;
    frame.tensors[v] =
        make_tensor_unchecked(Ref<Storage>::share(frame.arena.get()), value.twin.dtype(), value.twin.sizes(),
                              value.twin.strides(), bytes / static_cast<int64_t>(value.twin.item_size()));
  }
}

void Plan::take_arena_away(Frame& frame) const {
  for (const ValueId v : standing_) {
    if (arena_offsets_[tape_.block_of(v)] >= 0) frame.tensors[v] = {};
  }
  frame.arena = {};
}

std::unique_ptr<Frame> Plan::take_frame() const {
  if (Frame* spare = spare_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Frame>(spare);
  if (const Held lock(spares_lock_); lock) {
    if (!spares_.empty()) {
      std::unique_ptr<Frame> frame = std::move(spares_.back());
      spares_.pop_back();
      return frame;
    }
  }
  return make_frame();
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  // Large arenas go back to the allocator, which keeps them for whoever comes next: a function with plans for many
  // sizes needs the memory of one. Making a frame takes some microseconds, and a call that uses so much memory
  // milliseconds.
  constexpr size_t kLargestKept = size_t{4} << 20;
  if (memory_poison()) return;  // the next call has fresh memory
  if (is_on_device())
    take_arena_away(*frame);
  else if (arena_bytes_ > kLargestKept)
    return;
  Frame* none = nullptr;
  if (spare_.compare_exchange_strong(none, frame.get(), std::memory_order_release, std::memory_order_relaxed)) {
    static_cast<void>(frame.release());
    return;
  }
  if (const Held lock(spares_lock_); lock) spares_.push_back(std::move(frame));
}

// ---- calls ----

Value Plan::result(const Frame& frame, const Output& output) const {
  switch (output.kind) {
    case Output::Kind::tensor:
      return Value(Tensor(frame.tensors[output.value]));
    case Output::Kind::constant:
      return output.constant;
    case Output::Kind::list: {
      Ref<List> list = make_ref<List>(output.type);
      for (const Output& item : output.items) list->append(result(frame, item));
      return Value(std::move(list));
    }
    case Output::Kind::tuple: {
      std::vector<Value> items;
      items.reserve(output.items.size());
      for (const Output& item : output.items) items.push_back(result(frame, item));
      return Value(make_ref<Tuple>(std::move(items), output.type));
    }
    case Output::Kind::dict: {
      Ref<Dict> dict = make_ref<Dict>(output.type, output.value_type);
      for (size_t i = 0; i < output.items.size(); i += 2)
        dict->set(result(frame, output.items[i]), result(frame, output.items[i + 1]));
      return Value(std::move(dict));
    }
  }
  return {};
}

void Plan::run_step(Frame& f, const Scheduled& s) const {
  for (const ValueId v : s.allocates) {
    const Tensor& twin = tape_.values[v].twin;
    f.tensors[v] = empty_strided_tensor(twin.sizes(), twin.strides(), twin.dtype(), tape_.device);
    f.bases[tape_.values[v].block] = static_cast<char*>(f.tensors[v].data());
  }
  for (const ValueId v : s.views) set_view(f, v);
  Budget::poll_active();
  s.step->run(f);
  for (const ValueId v : s.releases) f.tensors[v] = {};
}

void Plan::run_timed(Frame& f) const {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  seconds.reserve(steps_.size());
  for (const Scheduled& s : steps_) {
    const ThreadLimit limit(is_alone(seconds.size()) ? 1 : num_threads());
    const Clock::time_point start = Clock::now();
    run_step(f, s);
    if (is_on_device()) backend_of(tape_.device).synchronize(tape_.device);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const std::lock_guard lock(mutex_);
  if (step_seconds_.empty()) step_seconds_ = seconds;
  for (size_t i = 0; i < seconds.size(); ++i) step_seconds_[i] = std::min(step_seconds_[i], seconds[i]);
}

std::vector<double> Plan::step_seconds() const {
  const std::lock_guard lock(mutex_);
  return step_seconds_;
}

void Plan::find_dense() {
  make_dense();
  dense_plan(dense_ != nullptr);
}

void Plan::make_dense() {
  const bool is_tensor = tape_.output.kind == Output::Kind::tensor;
  const bool is_tuple = tape_.output.kind == Output::Kind::tuple &&
                        std::all_of(tape_.output.items.begin(), tape_.output.items.end(),
                                    [](const Output& item) { return item.kind == Output::Kind::tensor; });
  if (tape_.inputs.empty() || tape_.inputs.size() > kDenseInputs || tape_.nodes.size() > kDenseNodes ||
      tape_.check_results || !tape_.write_backs.empty() || !(is_tensor || is_tuple))
    return;
  const Tensor& first = tape_.twin(tape_.inputs[0]);
  const auto is_alike = [&](ValueId v) {
    const Tensor& t = tape_.twin(v);
    return t.is_contiguous() && same_geometry(t, first) && !t.is_wrapped_number();
  };
  std::vector<int32_t> slots(tape_.values.size(), -1);
  int32_t next = 0;
  for (const ValueId v : tape_.inputs) {
    if (!is_alike(v) || slots[v] >= 0) return;
    slots[v] = next++;
  }
  DenseTape::Builder builder(first.dtype(), first.sizes(), tape_.inputs.size());
  std::vector<int32_t> from;
  for (const TapeNode& node : tape_.nodes) {
    const PointwiseCall* call = node.pointwise.get();
    if (call == nullptr || node.taken || !node.writes.empty() || node.results.size() != 1 || node.results[0] == kNone ||
        call->common != first.dtype() || call->result != first.dtype() || !is_alike(node.results[0]))
      return;
    from.clear();
    for (const ValueId v : call->inputs) from.push_back(slots[v]);
    if (!builder.add(*node.op, *call->loops, from, call->params)) return;
    slots[node.results[0]] = next++;
  }
  std::vector<int32_t> outputs;
  for (const ValueId v : tape_.outputs()) outputs.push_back(slots[v]);
  if (outputs.size() <= kDenseOutputs) dense_ = builder.finish(outputs);
}

Value Plan::dense_result(Tensor* made) const {
  if (tape_.output.kind == Output::Kind::tensor) return Value(std::move(made[0]));
  std::vector<Value> items;
  items.reserve(dense_->outputs());
  for (size_t i = 0; i < dense_->outputs(); ++i) items.emplace_back(std::move(made[i]));
  return Value(make_ref<Tuple>(std::move(items), tape_.output.type));
}

bool Plan::run_dense(std::span<TensorImpl* const> inputs, Value& made) const {
  const Tensor* in[kDenseInputs];
  for (size_t i = 0; i < inputs.size(); ++i) in[i] = reinterpret_cast<const Tensor*>(&inputs[i]);
  Tensor out[kDenseOutputs];
  if (!dense_->run(in, out)) return false;
  made = dense_result(out);
  return true;
}

bool Plan::look_for_kernels() const {
  for (const Scheduled& s : steps_) {
    if (const codegen::Kernel* kernel = s.step->kernel(); kernel && !kernel->is_ready()) return false;
  }
  is_ready_.store(true, std::memory_order_release);
  return true;
}

void Plan::wait() const {
  for (const Scheduled& s : steps_) {
    if (const codegen::Kernel* kernel = s.step->kernel()) kernel->wait();
  }
  is_ready_.store(true, std::memory_order_release);
}

void Plan::run_steps(Frame& f) const {
  for (const Scheduled& s : steps_) {
    if (s.is_plain)
      s.step->run(f);
    else
      run_step(f, s);
  }
}

void Plan::run_steps_by_threads(Frame& f) const {
  const auto run_one = [&](const Scheduled& s, bool is_alone) {
    if (!is_alone) return s.is_plain ? s.step->run(f) : run_step(f, s);
    const ThreadLimit one(1);
    s.is_plain ? s.step->run(f) : run_step(f, s);
  };
  StepThreads& threads = *step_threads_;
  const auto run_decided = [&] {
    for (size_t i = 0; i < steps_.size(); ++i) run_one(steps_[i], threads.is_alone(i));
  };
  if (threads.keeps_decision()) [[likely]]
    return run_decided();
  StepThreads::Turn turn(threads);
  if (!turn) return threads.is_decided() ? run_decided() : run_steps(f);
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Clock::time_point start = Clock::now();
    run_one(steps_[i], turn.is_alone(i));
    turn.add(i, std::chrono::duration<double>(Clock::now() - start).count());
  }
}

Value Plan::run(std::span<TensorImpl* const> inputs) const {
  const bool is_timed = timing.load(std::memory_order_relaxed);
  if (Value made; dense_ && !is_timed && run_dense(inputs, made)) return made;
  return run_steps(inputs, is_timed);
}

Value Plan::run(const MatchedTensors& inputs) const {
  const bool is_timed = timing.load(std::memory_order_relaxed);
  if (dense_ && !is_timed) {
    Tensor out[kDenseOutputs];
    if (dense_->run_known(inputs.tensors, inputs.all, inputs.any, out)) return dense_result(out);
  }
  return run_steps({inputs.tensors, inputs.count}, is_timed);
}

Value Plan::run_steps(std::span<TensorImpl* const> inputs, bool is_timed) const {
  if (Value made; graph_ && !is_timed && graph_->run(*this, inputs, made)) return made;
  std::unique_ptr<Frame> frame = take_frame();
  Frame& f = *frame;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = tape_.inputs[i];
    f.tensors[v] = Tensor(Ref<TensorImpl>::share(inputs[i]));
    f.bases[tape_.values[v].block] = static_cast<char*>(f.tensors[v].data());
  }
  SCONCE_CHECK(tape_.write_backs.empty() || are_apart(tape_, f.tensors),
               "a plan: a tensor that is written shares memory with another one");
  // A frame whose step threw is not used again: tensors of the call may be in it.
  if (is_timed) [[unlikely]] {
    if (is_on_device()) place_arena(f);
    run_timed(f);
  } else if (is_on_device()) {
    place_arena(f);
    run_steps(f);
  } else {
    const WorkersAwake awake;
    if (step_threads_ && num_threads() > 1)
      run_steps_by_threads(f);
    else
      run_steps(f);
  }
  for (const WriteBack& back : tape_.write_backs) {
    copy_tensor(f.tensors[back.outside], f.tensors[back.inside]);
    f.tensors[back.outside].bump_version();
  }
  for (const ArenaGap& gap : arena_gaps_)
    memory_poison()->check(static_cast<char*>(f.arena->data) + gap.offset, gap.bytes, gap.block_bytes,
                           "a block of a plan's arena");
  Value made = result(f, tape_.output);
  for (const ValueId v : tape_.inputs) f.tensors[v] = {};
  for (const ValueId v : leaving_) f.tensors[v] = {};
  give_back(std::move(frame));
  return made;
}

std::string Plan::text() const {
  std::string all;
  for (size_t i = 0; i < steps_.size(); ++i) all += step_text(i) + "\n";
  return all;
}

std::string Plan::step_text(size_t i) const {
  const Scheduled& s = steps_[i];
  std::string text = s.step->text();
  for (const NodeId n : s.nodes) text += s.step->separator() + tape_.node_text(n);
  return text;
}

std::vector<Site> Plan::sites(size_t i) const {
  std::vector<Site> found;
  for (const NodeId n : steps_[i].nodes) found.push_back(tape_.nodes[n].site);
  return found;
}

}  // namespace sconce::executor
