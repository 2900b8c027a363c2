#include "sconce/codegen/cuda/nest_kernel.h"

#include <mutex>
#include <set>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/codegen/cuda/compiled_text.h"
#include "sconce/codegen/cuda/nest_text.h"
#include "sconce/kernels/cuda/pointwise_engine.h"

namespace sconce::cuda {

const char* names_of_calls(std::span<const loops::LoopCall> calls) {
  std::string text;
  for (const loops::LoopCall& call : calls) {
    constexpr const char* kRows[] = {"convert", "softmax", "log_softmax", "layer_norm", "rms_norm"};
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        call.loops ? call.loops->name : kRows[static_cast<int>(call.row)]);
  }
  static auto& mutex = *new std::mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(std::move(text)).first->c_str();
}

namespace {

#include "sconce/codegen/cuda/text/nest_arguments.cuh"

using loops::LoopCall;
using loops::Nest;
using loops::Source;

static_assert(loops::kMaxBuffers == 12 && sizeof(NestArguments) <= 4096 && sizeof(RowNestArguments) <= 4096);

int64_t elements_of(const Nest& nest) {
  int64_t n = 1;
  for (const int64_t s : nest.sizes) n *= s;
  return n;
}

[[noreturn]] void refuse_blocks() { fail("nest: a kernel of a device runs as a whole"); }

bool is_aligned(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(bytes) == 0;
}

// Two kernels: for buffers whose addresses are multiples of a pack, and, when it is first needed, for others.
template <class Schedule>
class Variants {
 public:
  Variants(const Nest& nest, Device device, Schedule (*schedule)(const Nest&, bool))
      : nest_(nest), device_(device), schedule_(schedule) {
    packed_ = variant(true);
    packed_.compiled->begin();
  }
  struct Variant {
    Schedule schedule;
    std::shared_ptr<CompiledText> compiled;
    std::vector<Number> numbers;
  };
  const Variant& packed() const { return packed_; }
  // For these addresses.
  const Variant& find(void* const* buffers) const {
    const int width = packed_.schedule.width;
    bool fits = true;
    for (size_t k = 0; k < nest_.buffers.size(); ++k)
      fits &= is_aligned(buffers[k],
                         std::min<int64_t>(16, static_cast<int64_t>(item_size(nest_.buffers[k].dtype)) * width));
    if (fits || width == 1) return packed_;
    const std::lock_guard lock(mutex_);
    if (!loose_.compiled) loose_ = variant(false);
    return loose_;
  }

 private:
  Variant variant(bool packed) const {
    const Schedule schedule = schedule_(nest_, packed);
    NestText text = nest_text(nest_, schedule);
    return {schedule, std::make_shared<CompiledText>(device_, std::move(text.source), text.entry),
            std::move(text.numbers)};
  }
  const Nest nest_;
  const Device device_;
  Schedule (*const schedule_)(const Nest&, bool);
  Variant packed_;
  mutable std::mutex mutex_;
  mutable Variant loose_;
};

// What both kinds of nests have in common.
template <class Schedule>
class NestKernel : public codegen::Kernel {
 public:
  NestKernel(const Nest& nest, Device device, Schedule (*schedule)(const Nest&, bool))
      : codegen::Kernel(false),
        nest_(nest),
        device_(device),
        name_(names_of_calls(nest.calls)),
        variants_(nest, device, schedule) {}
  void run_block(void* const*, int64_t, int64_t, int64_t, int64_t) const override { refuse_blocks(); }
  bool is_ready() const override { return variants_.packed().compiled->find() != nullptr; }
  void wait() const override { variants_.packed().compiled->wait(); }
  std::string to_string() const override { return variants_.packed().compiled->source(); }

 protected:
  const Nest nest_;
  const Device device_;
  const char* const name_;
  const Variants<Schedule> variants_;
};

class PointwiseNest final : public NestKernel<PointwiseSchedule> {
 public:
  PointwiseNest(const Nest& nest, Device device) : NestKernel(nest, device, schedule_pointwise) {}

  void run(void* const* buffers) const override {
    const auto& variant = variants_.find(buffers);
    const PointwiseSchedule& s = variant.schedule;
    const Layout& l = s.layout;
    NestArguments a;
    for (size_t k = 0; k < nest_.buffers.size(); ++k) {
      a.data[k] = buffers[k];
      for (int d = 0; d < l.rank; ++d) a.stride[k][d] = l.stride[k][d];
    }
    a.elements = l.elements();
    a.packs = l.rank == 1 ? (a.elements + s.width - 1) / s.width : a.elements / s.width;
    for (int d = 0; d < l.rank; ++d) {
      const int64_t size = d == 0 ? (l.size[0] + s.width - 1) / s.width : l.size[d];
      a.size[d] = static_cast<u32>(size);
      const Division division = division_by(a.size[d]);
      a.magic[d] = division.magic;
      a.shift[d] = division.shift;
    }
    std::copy(variant.numbers.begin(), variant.numbers.end(), a.numbers);
    const int64_t of_block = int64_t{kNestThreads} * s.unroll;
    Shape shape;
    shape.grid_x = static_cast<unsigned>((a.packs + of_block - 1) / of_block);
    shape.block_x = kNestThreads;
    shape.is_dependent = true;
    launch(device_, variant.compiled->wait(), shape, &a, sizeof a, name_);
  }
};

class RowNest final : public NestKernel<RowSchedule> {
 public:
  RowNest(const Nest& nest, Device device) : NestKernel(nest, device, schedule_rows) {}

  void run(void* const* buffers) const override {
    const auto& variant = variants_.find(buffers);
    const RowSchedule& s = variant.schedule;
    RowNestArguments a;
    for (size_t k = 0; k < nest_.buffers.size(); ++k) {
      a.data[k] = buffers[k];
      a.row[k] = nest_.buffers[k].strides[0];
    }
    a.rows = nest_.sizes[0];
    a.columns = nest_.sizes[1];
    std::copy(variant.numbers.begin(), variant.numbers.end(), a.numbers);
    Shape shape;
    shape.grid_x = static_cast<unsigned>((a.rows + s.ty - 1) / s.ty);
    shape.block_x = static_cast<unsigned>(s.threads);
    shape.block_y = static_cast<unsigned>(s.ty);
    shape.is_dependent = true;
    launch(device_, variant.compiled->wait(), shape, &a, sizeof a, name_);
  }
};

// Each call by eager's kernel, a temporary for each result.
class OpByOp final : public codegen::Kernel {
 public:
  OpByOp(const Nest& nest, Device device) : codegen::Kernel(false), nest_(nest), device_(device) {
    int64_t stride = 1;
    dense_.resize(nest.sizes.size());
    for (size_t d = nest.sizes.size(); d-- > 0; stride *= nest.sizes[d]) dense_[d] = stride;
    for (size_t c = 0; c < nest.calls.size(); ++c) {
      int stored = -1;
      for (const loops::Store& s : nest.stores) {
        if (s.call == c) stored = s.buffer;
      }
      direct_.push_back(stored);
    }
  }
  void run_block(void* const*, int64_t, int64_t, int64_t, int64_t) const override { refuse_blocks(); }
  std::string to_string() const override { return "op by op\n" + loops::to_string(nest_); }

  void run(void* const* buffers) const override {
    const std::span<const int64_t> sizes(nest_.sizes.data(), nest_.sizes.size());
    if (elements_of(nest_) == 0) return;
    // A result that is stored is made where it is stored, unless a later call reads what may lie there.
    std::vector<Scratch> made;
    std::vector<Operand> results;
    for (size_t c = 0; c < nest_.calls.size(); ++c) {
      const LoopCall& call = nest_.calls[c];
      Operand in[kMaxLoopInputs];
      for (size_t k = 0; k < call.inputs.size(); ++k) {
        const Source s = call.inputs[k];
        const loops::Buffer* b = s.kind == Source::buffer ? &nest_.buffers[s.number] : nullptr;
        in[k] = b ? Operand{buffers[s.number], b->dtype, b->strides.data()} : results[s.number];
      }
      const bool is_last = c + 1 == nest_.calls.size();
      Operand out;
      if (is_last && direct_[c] >= 0) {
        const auto at = static_cast<size_t>(direct_[c]);
        out = {buffers[at], call.result, nest_.buffers[at].strides.data()};
      } else {
        made.push_back(scratch(device_, static_cast<size_t>(elements_of(nest_)) * item_size(call.result)));
        out = {made.back().data(), call.result, dense_.data()};
      }
      if (call.is_conversion()) {
        copy(sizes, out, in[0], device_);
      } else {
        pointwise({*call.loops, call.common, sizes, out, {in, call.inputs.size()}, call.params.data(), 0}, device_);
      }
      results.push_back(out);
    }
    for (const loops::Store& s : nest_.stores) {
      const loops::Buffer& b = nest_.buffers[s.buffer];
      const Operand to{buffers[s.buffer], b.dtype, b.strides.data()};
      if (results[s.call].data != to.data) copy(sizes, to, results[s.call], device_);
    }
  }

 private:
  const Nest nest_;
  const Device device_;
  Dims dense_;
  std::vector<int> direct_;  // by call: the buffer that it is stored into
};

// Whether dimensions merge to as many as kernels have.
bool can_walk(const Nest& nest) {
  try {
    schedule_pointwise(nest, false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::shared_ptr<const codegen::Kernel> make_nest_kernel(const Nest& nest, Device device) {
  loops::check(nest);
  if (has_rows(nest)) return std::make_shared<RowNest>(nest, device);
  const bool is_off = codegen::chosen_maker() == codegen::Maker::off;
  if (is_off || nest.calls.size() == 1 || elements_of(nest) == 0 || !can_walk(nest))
    return std::make_shared<OpByOp>(nest, device);
  return std::make_shared<PointwiseNest>(nest, device);
}

}  // namespace sconce::cuda
