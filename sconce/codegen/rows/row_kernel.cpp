#include "sconce/codegen/rows/row_kernel.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/codegen/blocks.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/norm/norm_kernels.h"
#include "sconce/kernels/cpu/norm/softmax_kernels.h"

namespace sconce::codegen {
namespace {

using loops::LoopCall;
using loops::Nest;
using loops::RowOp;
using loops::Source;

constexpr int64_t kBlockElements = 8192;  // of the rows that go through the stages together: 32 KB of float32

// Memory of some rows: of a buffer of the nest, or scratch.
struct Place {
  bool scratch = false;
  int number = -1;
};

struct Stage {
  std::shared_ptr<const Kernel> kernel;  // null: a row operator
  std::vector<Place> places;             // of the kernel's buffers
  RowOp op = RowOp::none;
  DType dtype = DType::float32;  // of the operator; 16-bit floats are computed in float32
  double eps = 0;
  Place in, out;
  int weight = -1, bias = -1;  // buffers
};

DType compute_of(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

// Cuts a nest at its row operators.
class Cutter {
 public:
  Cutter(const Nest& nest, Maker maker) : nest_(nest), maker_(maker), homes_(nest.calls.size()) {}

  void run() {
    size_t begin = 0;
    for (size_t k = 0; k < nest_.calls.size(); ++k) {
      if (!nest_.calls[k].is_row()) continue;
      add_pointwise(begin, k, k);
      add_row(k);
      begin = k + 1;
    }
    add_last(begin);
  }

  std::vector<Stage> stages;
  std::vector<int64_t> items;  // bytes of an element of each scratch row

 private:
  // A nest under construction, with the places of its buffers.
  struct Part {
    Nest nest;
    std::vector<Place> places;
    std::vector<int> calls;  // of the whole nest: the number here, or -1
  };

  Part new_part() const {
    Part part;
    part.nest.sizes = nest_.sizes;
    part.calls.assign(nest_.calls.size(), -1);
    return part;
  }

  int new_scratch(DType dtype) {
    items.push_back(static_cast<int64_t>(item_size(dtype)));
    return static_cast<int>(items.size() - 1);
  }

  size_t buffer_of(Part& part, Place place, DType dtype, bool written) {
    if (!written) {
      for (size_t k = 0; k < part.places.size(); ++k) {
        if (part.places[k].scratch == place.scratch && part.places[k].number == place.number &&
            !part.nest.buffers[k].written)
          return k;
      }
    }
    const Dims strides = place.scratch ? Dims{nest_.sizes[1], 1} : nest_.buffers[place.number].strides;
    part.nest.buffers.push_back({dtype, strides, written});
    part.places.push_back(place);
    return part.nest.buffers.size() - 1;
  }

  // What a source of the whole nest is in a part.
  Source source(Part& part, Source s) {
    if (s.kind == Source::buffer) {
      return loops::from_buffer(buffer_of(part, {false, s.number}, nest_.buffers[s.number].dtype, false));
    }
    if (part.calls[s.number] >= 0) return loops::from_call(static_cast<size_t>(part.calls[s.number]));
    const LoopCall& call = nest_.calls[s.number];
    const DType kept = call.is_row() ? compute_of(call.result) : call.result;
    const Source from = loops::from_buffer(buffer_of(part, {true, homes_[s.number]}, kept, false));
    if (kept == call.result) return from;
    // A row operator's result of 16 bits is rounded where it is first read.
    part.calls[s.number] = add_conversion(part, from, call.result);
    return loops::from_call(static_cast<size_t>(part.calls[s.number]));
  }

  static int add_conversion(Part& part, Source from, DType to) {
    LoopCall call = loops::make_conversion(to);
    call.inputs.push_back(from);
    part.nest.calls.push_back(call);
    return static_cast<int>(part.nest.calls.size() - 1);
  }

  void add_calls(Part& part, size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      LoopCall call = nest_.calls[k];
      for (Source& s : call.inputs) s = source(part, s);
      part.nest.calls.push_back(call);
      part.calls[k] = static_cast<int>(part.nest.calls.size() - 1);
    }
  }

  void store(Part& part, int call, Place place, DType dtype) {
    const size_t buffer = buffer_of(part, place, dtype, true);
    part.nest.stores.push_back({static_cast<uint16_t>(call), static_cast<uint16_t>(buffer)});
  }

  bool is_read_from(size_t call, size_t later) const {
    for (size_t k = later; k < nest_.calls.size(); ++k) {
      for (const Source& s : nest_.calls[k].inputs) {
        if (s == loops::from_call(call)) return true;
      }
    }
    return std::any_of(nest_.stores.begin(), nest_.stores.end(), [&](const loops::Store& s) { return s.call == call; });
  }

  void finish(Part& part) {
    if (part.nest.stores.empty()) return;
    Stage stage;
    stage.kernel = make(part.nest, maker_);
    stage.places = std::move(part.places);
    stages.push_back(std::move(stage));
  }

  // Calls [begin, end), what later stages read of them, and the row of the operator `row`, dense in its compute dtype.
  void add_pointwise(size_t begin, size_t end, size_t row) {
    Part part = new_part();
    add_calls(part, begin, end);
    for (size_t k = begin; k < end; ++k) {
      if (!is_read_from(k, row)) continue;
      homes_[k] = new_scratch(nest_.calls[k].result);
      store(part, part.calls[k], {true, homes_[k]}, nest_.calls[k].result);
    }
    const LoopCall& op = nest_.calls[row];
    const DType compute = compute_of(op.common);
    const Source in = op.inputs[0];
    if (in.kind == Source::buffer) {
      const loops::Buffer& b = nest_.buffers[in.number];
      const bool dense = b.strides[1] == 1 && (b.strides[0] == nest_.sizes[1] || nest_.sizes[0] == 1);
      if (b.dtype == compute && op.common == compute && dense) {
        row_in_ = {false, in.number};
        return finish(part);
      }
    } else if (nest_.calls[in.number].result == compute && op.common == compute) {
      row_in_ = {true, homes_[in.number]};
      return finish(part);
    }
    Source from = source(part, in);
    if (compute != op.common) from = loops::from_call(static_cast<size_t>(add_conversion(part, from, op.common)));
    const int converted = add_conversion(part, from, compute);
    row_in_ = {true, new_scratch(compute)};
    store(part, converted, row_in_, compute);
    finish(part);
  }

  void add_row(size_t k) {
    const LoopCall& call = nest_.calls[k];
    Stage stage;
    stage.op = call.row;
    stage.dtype = call.common;
    stage.eps = call.params.empty() ? 0 : call.params[0].real;
    stage.in = row_in_;
    homes_[k] = new_scratch(compute_of(call.result));
    stage.out = {true, homes_[k]};
    if (call.inputs.size() > 1) stage.weight = call.inputs[1].number;
    if (call.inputs.size() > 2) stage.bias = call.inputs[2].number;
    stages.push_back(stage);
  }

  // The calls behind the last row operator, and everything that is stored.
  void add_last(size_t begin) {
    if (writes_result_itself(begin)) return;
    Part part = new_part();
    add_calls(part, begin, nest_.calls.size());
    for (const loops::Store& s : nest_.stores) {
      const DType dtype = nest_.calls[s.call].result;
      Source from = source(part, loops::from_call(s.call));
      const int call = from.kind == Source::call ? from.number : add_conversion(part, from, dtype);
      store(part, call, {false, s.buffer}, dtype);
    }
    finish(part);
  }

  // The last row operator's result is all that is stored, dense, as it is: no copy is needed. Its row must be scratch,
  // because the buffer could be the same memory.
  bool writes_result_itself(size_t begin) {
    if (begin != nest_.calls.size() || nest_.stores.size() != 1 || nest_.stores[0].call + size_t{1} != begin)
      return false;
    Stage& last = stages.back();
    const loops::Buffer& b = nest_.buffers[nest_.stores[0].buffer];
    if (b.dtype != compute_of(b.dtype) || b.strides[1] != 1 || b.strides[0] != nest_.sizes[1]) return false;
    if (!last.in.scratch && last.op != RowOp::layer_norm) return false;
    last.out = {false, nest_.stores[0].buffer};
    return true;
  }

  const Nest& nest_;
  const Maker maker_;
  std::vector<int> homes_;  // scratch rows of calls
  Place row_in_;
};

class RowKernel final : public Kernel {
 public:
  RowKernel(const Nest& nest, Maker maker) : Kernel(false), nest_(nest) {
    Cutter cutter(nest, maker);
    cutter.run();
    stages_ = std::move(cutter.stages);
    items_ = std::move(cutter.items);
    for (size_t k = 0; k < nest.buffers.size(); ++k) row_strides_[k] = block_access(nest, k).row_stride;
    block_ = std::clamp<int64_t>(kBlockElements / std::max<int64_t>(1, nest.sizes[1]), 1, 64);
  }

  void run(void* const* buffers) const override {
    const int64_t rows = nest_.sizes[0], columns = nest_.sizes[1];
    if (rows == 0 || columns == 0) return;
    parallel_for((rows + block_ - 1) / block_, grain_for(8 * block_ * columns), [&](int64_t begin, int64_t end) {
      Scratch scratch;
      char* memory[kMostScratch];
      for (size_t k = 0; k < items_.size(); ++k) memory[k] = scratch.take<char>(block_ * columns * items_[k]);
      char* statistics = scratch.take<char>(2 * block_ * 8);
      Parameters parameters[kMostStages];
      for (size_t k = 0; k < stages_.size(); ++k) {
        const DType compute = compute_of(stages_[k].dtype);
        parameters[k] = {parameter(scratch, buffers, stages_[k].weight, compute),
                         parameter(scratch, buffers, stages_[k].bias, compute)};
      }
      for (int64_t r = begin * block_; r < std::min(rows, end * block_); r += block_) {
        char* at[loops::kMaxBuffers];
        for (size_t k = 0; k < nest_.buffers.size(); ++k) at[k] = static_cast<char*>(buffers[k]) + r * row_strides_[k];
        const int64_t count = std::min(block_, rows - r);
        for (size_t k = 0; k < stages_.size(); ++k) run_stage(stages_[k], at, memory, parameters[k], statistics, count);
      }
    });
  }

  void run_block(void* const*, int64_t row, int64_t column, int64_t rows, int64_t columns) const override {
    check_block(nest_, false, row, column, rows, columns);
  }

  std::string to_string() const override {
    constexpr const char* kNames[] = {"", "softmax", "log_softmax", "layer_norm", "rms_norm"};
    std::string out;
    const auto place = [](Place p) { return (p.scratch ? "row" : "b") + std::to_string(p.number); };
    for (const Stage& s : stages_) {
      if (!s.kernel) {
        out += place(s.out) + " = " + kNames[static_cast<int>(s.op)] + " " + place(s.in) + "\n";
        continue;
      }
      out += "nest of";
      for (const Place& p : s.places) out += " " + place(p);
      out += "\n" + s.kernel->to_string();
    }
    return out;
  }

  static constexpr size_t kMostScratch = 2 * loops::kMaxCalls;  // a call's result, and a row operator's row

 private:
  static constexpr size_t kMostStages = 2 * loops::kMaxCalls + 1;

  // The weight and the bias of a stage, in the dtype that it computes in; null where there is none.
  struct Parameters {
    const void *weight, *bias;
  };

  const void* parameter(Scratch& scratch, void* const* buffers, int buffer, DType to) const {
    if (buffer < 0) return nullptr;
    const DType from = nest_.buffers[static_cast<size_t>(buffer)].dtype;
    if (from == to) return buffers[buffer];
    const int64_t n = nest_.sizes[1];
    char* converted = scratch.take<char>(n * static_cast<int64_t>(item_size(to)));
    convert(converted, to, buffers[buffer], from, n);
    return converted;
  }

  void run_stage(const Stage& s, char* const* buffers, char* const* memory, const Parameters& parameters,
                 char* statistics, int64_t rows) const {
    const int64_t n = nest_.sizes[1];
    const auto data = [&](Place p) { return p.scratch ? memory[p.number] : buffers[p.number]; };
    if (s.kernel) {
      void* list[loops::kMaxBuffers];
      for (size_t k = 0; k < s.places.size(); ++k) list[k] = data(s.places[k]);
      return s.kernel->run_block(list, 0, 0, rows, n);
    }
    const int twice = s.dtype == DType::float64;
    const void* in[] = {data(s.in)};
    const SoftmaxKernels& softmax = softmax_kernels(twice);
    const LogSoftmaxKernels& log_softmax = log_softmax_kernels(twice);
    switch (s.op) {
      case RowOp::softmax:
        return softmax.rows(data(s.out), in, rows, n);
      case RowOp::log_softmax:
        if (is_reduced_float(s.dtype)) return log_softmax_16(s.dtype == DType::float16)(data(s.out), in, rows, n);
        return log_softmax.rows(data(s.out), in, rows, n);
      case RowOp::layer_norm:
        return norm_kernels(twice).layer_norm(data(s.out), in[0], parameters.weight, parameters.bias, rows, n, s.eps,
                                              is_reduced_float(s.dtype), statistics, statistics + block_ * 8);
      default:
        return norm_kernels(twice).rms_norm(data(s.out), in[0], parameters.weight, rows, n, s.eps, statistics);
    }
  }

  Nest nest_;
  std::vector<Stage> stages_;
  std::vector<int64_t> items_;
  int64_t row_strides_[loops::kMaxBuffers] = {};
  int64_t block_;
};

}  // namespace

bool has_row_calls(const Nest& nest) {
  return std::any_of(nest.calls.begin(), nest.calls.end(), [](const LoopCall& call) { return call.is_row(); });
}

std::shared_ptr<const Kernel> make_row_kernel(const Nest& nest, Maker maker) {
  SCONCE_CHECK(nest_has_blocks(nest), "nest: rows of sizes {} whose columns are not adjacent in every buffer",
               IntList(nest.sizes));
  return std::make_shared<RowKernel>(nest, maker);
}

}  // namespace sconce::codegen
