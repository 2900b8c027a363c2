#include "sconce/codegen/op_by_op.h"

#include <memory>

#include "sconce/codegen/blocks.h"
#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::codegen {
namespace {

using loops::LoopCall;
using loops::Nest;
using loops::Source;

class OpByOp final : public Kernel {
 public:
  explicit OpByOp(const Nest& nest) : Kernel(nest_has_blocks(nest)), nest_(nest) {}

  void run(void* const* buffers) const override { run(buffers, nest_.sizes); }

  void run_block(void* const* buffers, int64_t row, int64_t column, int64_t rows, int64_t columns) const override {
    check_block(nest_, has_blocks(), row, column, rows, columns);
    void* at[loops::kMaxBuffers];
    for (size_t k = 0; k < nest_.buffers.size(); ++k) {
      const TileAccess access = block_access(nest_, k);
      at[k] = static_cast<char*>(buffers[k]) + row * access.row_stride + column * access.column_stride;
    }
    run(at, {rows, columns});
  }

  std::string to_string() const override { return "op by op\n" + loops::to_string(nest_); }

 private:
  void run(void* const* buffers, const Dims& sizes) const {
    int64_t numel = 1;
    for (const int64_t s : sizes) numel *= s;
    if (numel == 0) return;
    Dims dense(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) dense[d] = stride;
    std::vector<std::unique_ptr<char[]>> results;
    const std::span<const int64_t> extent(sizes.data(), sizes.size());
    for (const LoopCall& call : nest_.calls) {
      Operand in[kMaxLoopInputs];
      for (size_t k = 0; k < call.inputs.size(); ++k) {
        const Source s = call.inputs[k];
        if (s.kind == Source::call) {
          in[k] = {results[s.number].get(), nest_.calls[s.number].result, dense.data()};
        } else {
          const loops::Buffer& b = nest_.buffers[s.number];
          in[k] = {buffers[s.number], b.dtype, b.strides.data()};
        }
      }
      results.emplace_back(new char[static_cast<size_t>(numel) * item_size(call.result)]);
      const Operand out{results.back().get(), call.result, dense.data()};
      if (call.is_conversion()) {
        run_copy(extent, out, in[0]);
      } else {
        run_pointwise(*call.loops, call.common, extent, out, {in, call.inputs.size()}, call.params.data());
      }
    }
    for (const loops::Store& s : nest_.stores) {
      const loops::Buffer& b = nest_.buffers[s.buffer];
      run_copy(extent, {buffers[s.buffer], b.dtype, b.strides.data()}, {results[s.call].get(), b.dtype, dense.data()});
    }
  }

  Nest nest_;
};

}  // namespace

std::shared_ptr<const Kernel> make_op_by_op(const Nest& nest) { return std::make_shared<OpByOp>(nest); }

}  // namespace sconce::codegen
