#include "sconce/codegen/cuda/attention_kernel.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/codegen/cuda/compiled_text.h"
#include "sconce/codegen/cuda/nest_kernel.h"
#include "sconce/codegen/cuda/nest_text.h"
#include "sconce/kernels/cuda/matmul/narrow_product.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/codegen/cuda/text/nest_arguments.cuh"

#include "sconce/codegen/cuda/text/attention_nest_arguments.cuh"

using codegen::AttentionNest;

static_assert(sizeof(AttentionNestArguments) <= 4096);

constexpr int64_t kMostKeys = 1024;  // rows that eager's kernels hold in a warp; each thread has one
static_assert(kMostKeys <= kElementThreads);

int key_width(const AttentionNest& n) {
  const int width = narrow_width(n.dtype, n.depth, 0, n.key_row);
  return n.query_batch % width == 0 && n.key_batch % width == 0 ? width : 1;
}
int value_width(const AttentionNest& n) {
  const int width = narrow_width(n.dtype, n.size, 0, n.value_row);
  return n.value_batch % width == 0 ? width : 1;
}

// Blocks that write the keys of one of the batch anew: two packs for each thread, where those are enough.
constexpr int64_t kMostParts = 8;
int64_t parts_of(const AttentionNest& n) {
  const int64_t bytes = n.keys * std::max(n.depth, n.size) * static_cast<int64_t>(item_size(n.dtype));
  constexpr int64_t kOfBlock = int64_t{kElementThreads} * 2 * 16;
  return std::clamp<int64_t>((bytes + kOfBlock - 1) / kOfBlock, 1, kMostParts);
}

std::string source_of(const AttentionNest& n) {
  const int width = key_width(n);
  return operator_texts(n.rows.calls) + std::string(text_file("block")) +
         std::string(text_file("narrow_product_arguments")) + std::string(text_file("nest_arguments")) +
         std::string(text_file("attention_nest_arguments")) + narrow_product_lines(n.dtype, 1, width, {}) +
         std::string(text_file("narrow_product")) +
         element_function(n.rows, schedule_rows(n.rows, false), "weights_row", n.scores) +
         fmt::format(
             "#undef WIDTH\n#define WIDTH {}\n#define KEYS {}\n#define DEPTH {}\n#define LANES {}\n#define SIZE {}\n"
             "#define VALUE_WIDTH {}\n#define FIRST {}\n#define BATCHES {}\n#define PARTS {}\n",
             width, n.keys, n.depth, std::bit_ceil(static_cast<uint64_t>(n.depth / width)), n.size, value_width(n),
             n.first, n.first == 0 ? 0 : n.batches, n.first == 0 ? 0 : parts_of(n)) +
         std::string(text_file("attention_nest"));
}

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

class AttentionKernel final : public codegen::Kernel {
 public:
  AttentionKernel(const AttentionNest& nest, Device device)
      : codegen::Kernel(false),
        nest_(nest),
        device_(device),
        compiled_(std::make_shared<CompiledText>(device, source_of(nest), "attention_nest")) {
    compiled_->begin();
  }
  void run_block(void* const*, int64_t, int64_t, int64_t, int64_t) const override {
    fail("attention: a kernel of a device runs as a whole");
  }
  bool is_ready() const override { return compiled_->find() != nullptr; }
  void wait() const override { compiled_->wait(); }
  std::string to_string() const override { return compiled_->source(); }

  void run(void* const* buffers) const override {
    const size_t read = nest_.rows.buffers.size() - 2;  // beside the scores
    void *const query = buffers[0], *const key = buffers[1], *const value = buffers[2 + read],
                *const out = buffers[3 + read];
    bool fits = is_aligned(query) && is_aligned(key) && is_aligned(value);
    AttentionNestArguments a;
    for (size_t i = 0; i < 4 && nest_.first > 0; ++i) {
      void* const part = buffers[4 + read + i];
      (i < 2 ? a.key_part : a.value_part)[i % 2] = part;
      fits &= is_aligned(part);
    }
    if (!fits) return run_each(buffers);
    a.query = query;
    a.key = key;
    a.value = value;
    a.out = out;
    a.query_batch = nest_.query_batch;
    a.key_batch = nest_.key_batch;
    a.key_row = nest_.key_row;
    a.value_batch = nest_.value_batch;
    a.value_row = nest_.value_row;
    a.out_batch = nest_.size;
    size_t at = 2;
    for (size_t k = 0; k < nest_.rows.buffers.size(); ++k) {
      a.rows.row[k] = nest_.rows.buffers[k].strides[0];
      a.rows.data[k] = k == nest_.scores || nest_.rows.buffers[k].written ? nullptr : buffers[at++];
    }
    a.rows.rows = nest_.batches;
    a.rows.columns = nest_.keys;
    Shape shape;
    shape.grid_x = static_cast<unsigned>(nest_.first > 0 ? (1 + 2 * parts_of(nest_)) * nest_.batches : nest_.batches);
    shape.block_x = kElementThreads;
    shape.is_dependent = true;
    launch(device_, compiled_->wait(), shape, &a, sizeof a, "attention of one query");
  }

 private:
  // As eager does: addresses that packs cannot be read from.
  void run_each(void* const* buffers) const {
    const size_t item = item_size(nest_.dtype), read = nest_.rows.buffers.size() - 2;
    if (nest_.first > 0) grow(buffers, read);
    const auto bytes = static_cast<size_t>(nest_.batches * nest_.keys) * item;
    const Scratch scores = scratch(device_, bytes), weights = scratch(device_, bytes);
    Product p{.dtype = nest_.dtype,
              .batches = nest_.batches,
              .m = 1,
              .n = nest_.keys,
              .k = nest_.depth,
              .a = {buffers[0], nest_.depth, 1, nest_.query_batch},
              .b = {buffers[1], 1, nest_.key_row, nest_.key_batch},
              .out = {scores.data(), nest_.keys, 1, nest_.keys}};
    multiply(p, device_, "bmm");
    std::vector<void*> of_rows;
    size_t at = 2;
    for (size_t k = 0; k < nest_.rows.buffers.size(); ++k)
      of_rows.push_back(k == nest_.scores               ? scores.data()
                        : nest_.rows.buffers[k].written ? weights.data()
                                                        : buffers[at++]);
    make_nest_kernel(nest_.rows, device_)->run(of_rows.data());
    p.n = nest_.size;
    p.k = nest_.keys;
    p.a = {weights.data(), nest_.keys, 1, nest_.keys};
    p.b = {buffers[2 + read], nest_.value_row, 1, nest_.value_batch};
    p.out = {buffers[3 + read], nest_.size, 1, nest_.size};
    multiply(p, device_, "bmm");
  }

  void grow(void* const* buffers, size_t read) const {
    std::vector<codegen::ByteCopy> copies;
    for (const bool keys : {true, false}) {
      const auto line = static_cast<int64_t>(item_size(nest_.dtype)) * (keys ? nest_.depth : nest_.size);
      auto* const whole = static_cast<char*>(buffers[keys ? 1 : 2 + read]);
      for (int64_t batch = 0; batch < nest_.batches; ++batch) {
        for (const size_t part : {0u, 1u}) {
          const int64_t lines = part == 0 ? nest_.first : nest_.keys - nest_.first;
          auto* const from = static_cast<const char*>(buffers[4 + read + (keys ? 0 : 2) + part]);
          copies.push_back({whole + (batch * nest_.keys + (part == 0 ? 0 : nest_.first)) * line,
                            from + batch * lines * line, static_cast<size_t>(lines * line)});
        }
      }
    }
    codegen::find_device_maker(DeviceType::cuda)->copy(copies, device_);
  }

  const AttentionNest nest_;
  const Device device_;
  const std::shared_ptr<CompiledText> compiled_;
};

}  // namespace

bool is_attention(const AttentionNest& n) {
  if (!is_narrow(n.dtype, 1, 1, 1) || n.keys > kMostKeys || n.keys == 0 || n.size == 0 || n.size > 256 ||
      n.batches > 65535)
    return false;
  const auto is_softmax = [](const loops::LoopCall& call) {
    return call.row == loops::RowOp::softmax || call.row == loops::RowOp::log_softmax;
  };
  const auto is_row = [](const loops::LoopCall& call) { return call.is_row(); };
  const auto& calls = n.rows.calls;
  if (std::count_if(calls.begin(), calls.end(), is_row) != 1 ||
      std::count_if(calls.begin(), calls.end(), is_softmax) != 1)
    return false;
  const auto item = static_cast<int64_t>(item_size(n.dtype));
  if (n.first > 0 && (n.depth * item % 16 != 0 || n.size * item % 16 != 0)) return false;
  const int width = key_width(n);
  return width > 1 && value_width(n) > 1 && n.depth <= 32 * width && narrow_share(1, n.keys, n.depth, width).split == 1;
}

std::shared_ptr<const codegen::Kernel> make_attention_kernel(const AttentionNest& attention, Device device) {
  return std::make_shared<AttentionKernel>(attention, device);
}

}  // namespace sconce::cuda
