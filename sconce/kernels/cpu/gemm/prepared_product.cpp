// Products with a constant right-hand side, prepared for many calls: the matrix is packed once.
#include <fmt/format.h>

#include "sconce/dispatch/prepare.h"
#include "sconce/generated/matmul_kernels.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"

namespace sconce::cpu {
namespace {

// c = a b + bias, with b constant.
class PreparedProduct final : public PreparedCall {
 public:
  // Numbers of the arguments; -1: there is no bias.
  PreparedProduct(const Tensor& a, const Tensor& b, uint32_t a_at, uint32_t b_at, int bias_at)
      : dtype_(a.dtype()),
        k_(a.size(1)),
        a_row_(a.strides()[0]),
        a_column_(a.strides()[1]),
        a_at_(a_at),
        bias_at_(bias_at) {
    rows_ = a.size(0);
    columns_ = row_stride_ = b.size(1);
    constants_read_ = {b_at};
    const MatrixKernels& kernels = matrix_kernels();
    packed_ = packed_weights(
        b, static_cast<uint64_t>(kernels.level), packed_b_bytes(dtype_, k_, columns_, kernels), [&](void* packed) {
          pack_b(dtype_, k_, columns_, {b.data(), b.strides()[0], b.strides()[1]}, packed, kernels);
        });
  }

  void run(const void* const* args, void* result, const Epilogue& epilogue) const override {
    Epilogue with_bias = epilogue;
    if (bias_at_ >= 0) with_bias.bias = args[bias_at_];
    gemm_packed(dtype_, rows_, columns_, k_, {args[a_at_], a_row_, a_column_}, packed_->data(), {result, columns_, 1},
                with_bias);
  }

  std::string text() const override { return fmt::format("packed product {} x {} x {}", rows_, k_, columns_); }

 private:
  DType dtype_;
  int64_t k_, a_row_, a_column_;
  uint32_t a_at_;
  int bias_at_;
  std::shared_ptr<const PackedWeights> packed_;
};

// Not those whose products are summed in another type than they are stored in.
bool serves(const Tensor& a, const Tensor& b, const Tensor& result) {
  return b.defined() && (a.dtype() == DType::float32 || a.dtype() == DType::float64) && result.is_contiguous() &&
         result.numel() > 0 && a.size(1) > 0;
}

bool is_one(const Value& v) { return v.is_number() && !v.is_complex() && v.to_scalar().equals(1); }

}  // namespace

PreparedCall* mm_prepare(const CallFacts& call) {
  const Tensor& a = call.args[0].to_tensor();
  if (!serves(a, call.constants[1], call.result)) return nullptr;
  return new PreparedProduct(a, call.constants[1], 0, 1, -1);
}

PreparedCall* addmm_prepare(const CallFacts& call) {
  const Tensor &bias = call.args[0].to_tensor(), &a = call.args[1].to_tensor();
  if (!serves(a, call.constants[2], call.result) || !is_one(call.args[3]) || !is_one(call.args[4])) return nullptr;
  // Other sums begin with a copy of the addend.
  if (bias.dim() > 1 || bias.numel() != call.result.size(1) || !bias.is_contiguous()) return nullptr;
  return new PreparedProduct(a, call.constants[2], 1, 2, 0);
}

}  // namespace sconce::cpu
