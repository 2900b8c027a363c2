#include "sconce/executor/steps.h"

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/executor/probe.h"
#include "sconce/executor/signature.h"
#include "sconce/kernels/cpu/conv/conv_layout.h"
#include "sconce/kernels/cpu/conv/convolution.h"
#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::executor {

// ---- operators ----

namespace {

SCONCE_VARIANT(whole_planes, "plan.rearrange.planes",
               "images between planes and channels innermost, transposed by vectors");

// Whether a result is what the tape says; nothing looks at those that are undefined there.
bool gives(const Tensor& t, const Tensor& expected, Device device) {
  return !expected.defined() ||
         (t.defined() && is_plain(t) && same_geometry(t, expected) && t.device().type == device.type);
}

}  // namespace

CallStep::CallStep(const TapeNode& node, const Tape& tape, size_t args)
    : op_(node.op),
      uses_(node.uses),
      result_sizes_(node.result_sizes),
      args_(args),
      is_boxed_(node.op->box == nullptr) {
  for (const ValueId r : node.results) {
    const bool is_first = r != kNone && tape.blocks[tape.block_of(r)].first == r;
    results_.push_back({r, is_first ? tape.block_of(r) : kNone});
    if (!tape.check_results) continue;
    expected_.push_back(r == kNone ? Tensor() : tape.twin(r));
    devices_.push_back(r == kNone ? Device() : tape.values[r].device);
  }
}

void CallStep::run(Frame& frame) const {
  std::vector<Value>& own = frame.args[args_];
  for (const TensorUse& use : uses_) {
    const Tensor& t = frame.tensors[use.value];
    if (use.item < 0)
      own[use.arg] = Value(t);
    else
      own[use.arg].to_list().tensor_items()[static_cast<size_t>(use.item)] = t;
  }
  Value returns[kMostReturns];
  if (is_boxed_) {
    std::vector<Value> copies = own;
    op_->call_boxed(copies.data(), returns);
  } else {
    op_->call_boxed(own.data(), returns);
  }
  for (const TensorUse& use : uses_) {
    if (use.item < 0)
      own[use.arg] = Value();
    else
      own[use.arg].to_list().tensor_items()[static_cast<size_t>(use.item)] = {};
  }
  size_t at = 0;
  const auto keep = [&](const Tensor& t) {
    SCONCE_CHECK(expected_.empty() || (at < expected_.size() && gives(t, expected_[at], devices_[at])),
                 "{} gives another tensor than the compiled file says", op_->qualified_name());
    const Result& r = results_[at++];
    if (r.value == kNone) return;
    frame.tensors[r.value] = t;
    if (r.block != kNone) frame.bases[r.block] = static_cast<char*>(t.data());
  };
  for (size_t i = 0; i < result_sizes_.size(); ++i) {
    if (result_sizes_[i] == kNone) {
      keep(returns[i].to_optional_tensor());
    } else {
      for (const Tensor& t : returns[i].to_list().tensors()) keep(t);
    }
  }
  SCONCE_CHECK(expected_.empty() || at == expected_.size(), "{} gives {} tensors, {} in the compiled file",
               op_->qualified_name(), at, expected_.size());
}

// ---- nests ----

namespace {

// Addresses of a step's buffers; more than a nest may have are not there.
struct Addresses {
  void* data[loops::kMaxBuffers];
  Addresses(const std::vector<Place>& places, const Frame& frame) {
    for (size_t i = 0; i < places.size(); ++i) data[i] = places[i].in(frame);
  }
};

}  // namespace

NestStep::NestStep(std::shared_ptr<const codegen::Kernel> kernel, loops::Nest nest, std::vector<Place> buffers)
    : kernel_(std::move(kernel)), nest_(std::move(nest)), buffers_(std::move(buffers)) {
  SCONCE_ASSERT(buffers_.size() <= loops::kMaxBuffers);
}

void NestStep::run(Frame& frame) const {
  const Addresses addresses(buffers_, frame);
  kernel_->run(addresses.data);
}

// ---- prepared calls ----

namespace {
constexpr size_t kMostArguments = 16;
}

PreparedStep::PreparedStep(std::shared_ptr<const PreparedCall> call, const std::vector<Place>& args, Place result,
                           Tail tail)
    : call_(std::move(call)), result_(result), tail_(std::move(tail)) {
  SCONCE_ASSERT(tail_.buffers.size() <= loops::kMaxBuffers && args.size() <= kMostArguments);
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].exists()) args_.push_back({i, args[i]});
  }
  epilogue_.lo = tail_.lo;
  epilogue_.hi = tail_.hi;
  is_plain_ = !tail_.kernel && !tail_.scale.exists() && !tail_.residual.exists();
}

void PreparedStep::run(Frame& frame) const {
  const void* args[kMostArguments] = {};
  for (const Argument& a : args_) args[a.number] = a.place.in(frame);
  if (is_plain_) return call_->run(args, result_.in(frame), epilogue_);
  Epilogue epilogue = epilogue_;
  if (tail_.scale.exists()) {
    epilogue.scale = tail_.scale.in(frame);
    epilogue.shift = tail_.shift.in(frame);
  }
  if (tail_.residual.exists()) {
    epilogue.residual = tail_.residual.in(frame);
    epilogue.residual_stride = tail_.residual_stride;
  }
  if (!tail_.kernel) return call_->run(args, result_.in(frame), epilogue);
  struct Context {
    const codegen::Kernel& kernel;
    Addresses addresses;
  } context{*tail_.kernel, Addresses(tail_.buffers, frame)};
  epilogue.post = [](void* given, void*, int64_t, int64_t, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    const auto& c = *static_cast<const Context*>(given);
    c.kernel.run_block(c.addresses.data, row, column, rows, columns);
  };
  epilogue.post_context = &context;
  call_->run(args, result_.in(frame), epilogue);
}

// ---- rearranging ----

RearrangeStep::RearrangeStep(const Tensor& from, const Tensor& to, Place from_place, Place to_place)
    : from_(from), to_(to), from_place_(from_place), to_place_(to_place) {
  // Vector transposes serve images whose planes are dense.
  if (from.numel() == 0 || !rearranges(from.dtype())) return;
  to_innermost_ = is_planar(from) && has_channels_innermost(to);
  if (!to_innermost_ && !(has_channels_innermost(from) && is_planar(to))) return;
  images_ = from.size(0);
  channels_ = from.size(1);
}

void RearrangeStep::run(Frame& frame) const {
  if (whole_planes(channels_ != 0)) {
    const void* from = from_place_.in(frame);
    void* to = to_place_.in(frame);
    const int64_t pixels = from_.numel() / images_ / channels_;
    if (to_innermost_)
      return planar_to_innermost(from_.dtype(), images_, channels_, pixels, from, from_.strides()[0], to);
    return innermost_to_planar(from_.dtype(), images_, channels_, pixels, from, to, to_.strides()[0]);
  }
  run_copy({to_.sizes().data(), to_.sizes().size()}, {to_place_.in(frame), to_.dtype(), to_.strides().data()},
           {from_place_.in(frame), from_.dtype(), from_.strides().data()});
}

std::string RearrangeStep::text() const { return "rearrange " + geometry_text(from_) + " to " + geometry_text(to_); }

}  // namespace sconce::executor
