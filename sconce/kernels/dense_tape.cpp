#include "sconce/kernels/dense_tape.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/contiguous.h"
#include "sconce/kernels/pointwise_probe.h"
#include "sconce/tensor/key_set.h"

namespace sconce {
namespace {

// Elements of one call alone; several share rooms, which are smaller. As in run_contiguous.
constexpr int64_t kMostElements = 2048;
constexpr size_t kMostCalls = 16;

constexpr uint64_t kRank = 0xffull << TensorImpl::kRankAt;
// What an input must have: the CPU's key alone, dtype and device, contiguous in a block of its own, no wrapped number.
constexpr uint64_t kMatters = 0xffff | (TensorImpl::kSameMask & ~kRank) | TensorImpl::contiguous |
                              TensorImpl::whole_block | TensorImpl::wrapped_number;

int rank_of(const TensorImpl& t) { return static_cast<int>(t.meta >> TensorImpl::kRankAt & 0xff); }

const char* cpu_kernel(const Op& op) {
  return __atomic_load_n(&op.kernels[static_cast<int>(Key::cpu)], __ATOMIC_ACQUIRE);
}

class Listening {
 public:
  explicit Listening(PointwiseProbe& probe) : before_(std::exchange(pointwise_probe, &probe)) {}
  ~Listening() { pointwise_probe = before_; }
  Listening(const Listening&) = delete;

 private:
  PointwiseProbe* before_;
};

}  // namespace

bool DenseTape::fits(int64_t numel) const {
  return numel != 0 && (has_rooms_ ? static_cast<size_t>(numel) * item_size_ <= kRoomBytes : numel <= kMostElements);
}

bool DenseTape::has_its_kernels() const {
  for (const Call& call : calls_) {
    if (cpu_kernel(*call.op) != call.kernel) return false;
  }
  return true;
}

bool DenseTape::run(const Tensor* const* inputs, Tensor* outputs) const {
  const ThreadModes& modes = thread_modes;
  if (modes.include != 0 || storages_moved.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  const uint64_t matters = kMatters & ~(uint64_t{modes.exclude} | modes.exclude_grad);
  const TensorImpl& first = *inputs[0]->impl();
  const int rank = rank_of(first);
  if (!fits(first.numel) || rank > TensorImpl::kInlineRank) return false;

  const char* slots[kMostSlots];
  for (size_t i = 0; i < inputs_; ++i) {
    const TensorImpl& t = *inputs[i]->impl();
    if (((t.meta ^ meta_) & matters) != 0 || ((t.meta ^ first.meta) & kRank) != 0) return false;
    for (int d = 0; d < rank; ++d) {
      if (t.dims[d] != first.dims[d]) return false;
    }
    slots[i] = static_cast<const char*>(t.data);
  }
  if (!has_its_kernels()) return false;
  compute(slots, first.numel, *inputs[0], outputs);
  return true;
}

bool DenseTape::run_known(TensorImpl* const* inputs, uint64_t all, uint64_t any, Tensor* outputs) const {
  const ThreadModes& modes = thread_modes;
  const uint64_t keys = 0xffff & ~(uint64_t{modes.exclude} | modes.exclude_grad);
  if (modes.include != 0 || storages_moved.load(std::memory_order_relaxed) || (all & TensorImpl::whole_block) == 0 ||
      ((any ^ meta_) & keys) != 0 || !fits(inputs[0]->numel) || !has_its_kernels())
    return false;
  const char* slots[kMostSlots];
  for (size_t i = 0; i < inputs_; ++i) slots[i] = static_cast<const char*>(inputs[i]->data);
  compute(slots, inputs[0]->numel, reinterpret_cast<const Tensor&>(inputs[0]), outputs);
  return true;
}

// `slots` has the inputs.
void DenseTape::compute(const char** slots, int64_t numel, const Tensor& like, Tensor* outputs) const {
  for (size_t i = 0; i < outputs_; ++i) {
    outputs[i] = empty_same_shape(like, dtype_);
    slots[output_slots_[i]] = static_cast<const char*>(outputs[i].impl()->data);
  }
  static constexpr int64_t kSteps[kMaxLoopInputs] = {64, 64, 64, 64, 64, 64};
  alignas(64) char rooms[kRooms][kRoomBytes];
  const int64_t groups = (numel + (int64_t{1} << lanes_log2_) - 1) >> lanes_log2_;
  const int level = (cpu_level() - 2) * kComputeTypes;
  for (const Call& call : calls_) {
    if (call.room >= 0) slots[call.result] = rooms[call.room];
    const char* in[kMaxLoopInputs];
    for (size_t k = 0; k < call.count; ++k) in[k] = slots[call.inputs[k]];
    call.loops[level](const_cast<char*>(slots[call.result]), in, kSteps, groups, params_.data() + call.first_param);
  }
}

// ---- making one ----

DenseTape::Builder::Builder(DType dtype, IntList sizes, size_t inputs) : slots_(inputs) {
  is_dense_ = inputs > 0 && inputs < kMostSlots && kDirect[static_cast<size_t>(dtype)] != 0;
  if (!is_dense_) return;
  tape_.reset(new DenseTape());
  tape_->meta_ = empty_tensor(IntList{1}, dtype).impl()->meta;
  tape_->dtype_ = dtype;
  tape_->item_size_ = static_cast<uint8_t>(item_size(dtype));
  tape_->inputs_ = static_cast<uint8_t>(inputs);
  for (size_t bytes = item_size(dtype); bytes < 64; bytes *= 2) ++tape_->lanes_log2_;
  for (size_t i = 0; i < inputs; ++i) twins_.push_back(empty_tensor(sizes, dtype, Device{DeviceType::meta}));
}

bool DenseTape::Builder::call(const Op& op, std::span<const Argument> arguments) {
  const bool is_pointwise = op.has(Trait::pointwise) && !op.has(Trait::inplace) && !op.has(Trait::out);
  is_dense_ = is_dense_ && is_pointwise && op.has_kernel(Key::meta) && op.schema().returns.size() == 1 &&
              thread_modes.include == 0;
  if (!is_dense_) return false;
  std::vector<Value> args;
  for (const Argument& a : arguments)
    args.push_back(a.slot >= 0 ? Value(twins_[static_cast<size_t>(a.slot)]) : a.constant);
  PointwiseProbe seen;
  Value result;
  is_dense_ = false;
  try {
    const ModeGuard plain({}, {Key::autograd, Key::view});
    const Listening listening(seen);
    op.call_boxed(args.data(), &result);
  } catch (const Error&) {
    return false;  // the ordinary call says so
  }
  if (seen.calls != 1 || !result.is_tensor()) return false;
  const Tensor& made = result.to_tensor();
  const DType dtype = tape_->dtype_;
  if (seen.common != dtype || seen.result != dtype || made.dtype() != dtype || !made.is_contiguous() ||
      !(made.sizes() == twins_[0].sizes()))
    return false;
  int32_t inputs[kMaxLoopInputs];
  const PointwiseLoops& loops = *seen.rule->loops;
  for (int k = 0; k < loops.inputs; ++k) {
    const auto from =
        std::find_if(twins_.begin(), twins_.end(), [&](const Tensor& t) { return t.impl() == seen.inputs[k]; });
    if (from == twins_.end()) return false;
    inputs[k] = static_cast<int32_t>(from - twins_.begin());
  }
  twins_.push_back(made);
  is_dense_ = true;
  return add(op, loops, {inputs, loops.inputs}, {seen.params, loops.params});
}

bool DenseTape::Builder::add(const Op& op, const PointwiseLoops& loops, std::span<const int32_t> inputs,
                             std::span<const Param> params) {
  if (!is_dense_) return false;
  const int compute = kDirect[static_cast<size_t>(tape_->dtype_)] - 1;
  const bool divides = (loops.divisor_inputs | loops.divisor_params) != 0 && !is_floating(tape_->dtype_);
  const bool at_all_levels = std::all_of(std::begin(loops.loops), std::end(loops.loops),
                                         [&](const auto& level) { return level[compute] != nullptr; });
  is_dense_ =
      slots_ < kMostSlots && tape_->calls_.size() < kMostCalls && op.has_kernel(Key::cpu) && loops.mask_inputs == 0 &&
      loops.result == LoopResult::common && !divides && at_all_levels && !inputs.empty() &&
      std::all_of(
          inputs.begin(), inputs.end(), [&](int32_t slot) { return slot >= 0 && static_cast<size_t>(slot) < slots_; });
  if (!is_dense_) return false;
  Call call{};
  call.op = &op;
  call.kernel = cpu_kernel(op);
  call.loops = &loops.loops[0][compute];
  call.first_param = static_cast<uint16_t>(tape_->params_.size());
  call.count = static_cast<uint8_t>(inputs.size());
  std::copy(inputs.begin(), inputs.end(), call.inputs);
  tape_->params_.insert(tape_->params_.end(), params.begin(), params.end());
  if (loops.narrows) tape_->params_.push_back(Param::from_int(static_cast<int64_t>(Narrow::none)));
  call.result = static_cast<uint8_t>(slots_++);
  tape_->calls_.push_back(call);
  return true;
}

// Linear scan: a temporary has a room from its call to its last use. A loop may write over what it reads.
bool DenseTape::Builder::give_rooms() {
  std::vector<size_t> last_use(slots_, 0);
  for (size_t i = 0; i < tape_->calls_.size(); ++i) {
    for (size_t k = 0; k < tape_->calls_[i].count; ++k) last_use[tape_->calls_[i].inputs[k]] = i;
  }
  size_t free_from[kRooms] = {};  // the call that may write the room
  for (size_t i = 0; i < tape_->calls_.size(); ++i) {
    Call& call = tape_->calls_[i];
    const std::span outputs(tape_->output_slots_, tape_->outputs_);
    call.room = -1;
    if (std::find(outputs.begin(), outputs.end(), call.result) != outputs.end()) continue;
    const auto room = std::find_if(std::begin(free_from), std::end(free_from), [&](size_t at) { return at <= i; });
    if (room == std::end(free_from)) return false;
    *room = std::max(last_use[call.result], i + 1);  // nobody reads it: until the next call
    call.room = static_cast<int8_t>(room - std::begin(free_from));
    tape_->has_rooms_ = true;
  }
  return true;
}

std::unique_ptr<DenseTape> DenseTape::Builder::finish(std::span<const int32_t> outputs) {
  is_dense_ = is_dense_ && !outputs.empty() && outputs.size() <= kMostOutputs;
  if (!is_dense_) return nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_made = outputs[i] >= tape_->inputs_ && static_cast<size_t>(outputs[i]) < slots_;
    if (!is_made || std::find(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(i), outputs[i]) !=
                        outputs.begin() + static_cast<ptrdiff_t>(i))
      return nullptr;
    tape_->output_slots_[i] = static_cast<uint8_t>(outputs[i]);
  }
  tape_->outputs_ = static_cast<uint8_t>(outputs.size());
  return give_rooms() ? std::move(tape_) : nullptr;
}

}  // namespace sconce
