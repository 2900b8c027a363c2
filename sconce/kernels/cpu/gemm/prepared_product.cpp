// Products with a constant right-hand side, prepared for many calls: the matrix is packed once, or read as it is.
#include <limits>

#include <fmt/format.h>

#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/prepare.h"
#include "sconce/generated/matmul_kernels.h"
#include "sconce/kernels/cpu/gemm/gemm.h"
#include "sconce/kernels/cpu/gemm/packed_weights.h"
#include "sconce/kernels/cpu/gemm/provider.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(as_dots, "gemm.prepared.dots",
               "a planned product of few short rows with a matrix that is contiguous along k");

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
        bias_at_(bias_at),
        kernels_(matrix_kernels()),
        b_(b, static_cast<uint64_t>(kernels_.level), packed_b_bytes(dtype_, k_, b.size(1), kernels_),
           [dtype = dtype_, b, &kernels = kernels_](void* packed) {
             pack_b(dtype, b.size(0), b.size(1), {b.data(), b.strides()[0], b.strides()[1]}, packed, kernels);
           }) {
    rows_ = a.size(0);
    columns_ = row_stride_ = b.size(1);
    constants_read_ = {b_at};
  }

  void run(const void* const* args, void* result, const Epilogue& epilogue) const override {
    Epilogue with_bias = epilogue;
    if (bias_at_ >= 0) with_bias.bias = args[bias_at_];
    const ConstMatrix a{args[a_at_], a_row_, a_column_};
    if (const void* packed = b_.get())
      return gemm_packed(dtype_, rows_, columns_, k_, a, packed, {result, columns_, 1}, with_bias, kernels_);
    const Tensor& b = b_.weight();
    gemm(dtype_, rows_, columns_, k_, a, {b.data(), b.strides()[0], b.strides()[1]}, {result, columns_, 1}, with_bias,
         kernels_);
  }

  bool may_overwrite_residual() const override { return sconce::may_overwrite_residual(dtype_, rows_, columns_, k_); }
  std::string text() const override { return fmt::format("packed product {} x {} x {}", rows_, k_, columns_); }

 private:
  DType dtype_;
  int64_t k_, a_row_, a_column_;
  uint32_t a_at_;
  int bias_at_;
  const MatrixKernels& kernels_;
  LazyWeights b_;
};

// The same for few short rows and a b that lies along k, without packing: such products are summed as dot products
// (Note [Order of sums]), which read b as it is. 64 x 64 takes two thirds of the time that it takes with packed panels;
// long dot products read too many places at once.
template <class T>
class PreparedDots final : public PreparedCall {
 public:
  static bool serves(const Tensor& a, const Tensor& b) {
    constexpr int64_t kLongest = 256, kMostWork = 512 * 1024;  // more is for several threads
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    return sum_order(m, n, k) == SumOrder::by_lanes && m <= few_rows && k <= kLongest && m * n * k < kMostWork &&
           a.strides()[1] == 1 && b.strides()[0] == 1;
  }

  // Nothing is kept of b but its address: a write to its elements is seen.
  PreparedDots(const Tensor& a, const Tensor& b, uint32_t a_at, int bias_at)
      : b_(b), table_(table()), a_at_(a_at), bias_at_(bias_at) {
    rows_ = a.size(0);
    columns_ = row_stride_ = b.size(1);
    args_.few_count = rows_;
    args_.many_count = columns_;
    args_.k = a.size(1);
    args_.few_stride = a.strides()[0];
    args_.many = b.data();
    args_.many_stride = b.strides()[1];
    args_.many_storage = GemmStorage::native;
    args_.c_few = columns_;
    args_.c_many = args_.bias_many = args_.scale_many = args_.residual_many = 1;
  }

  void run(const void* const* args, void* result, const Epilogue& epilogue) const override {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    DotArgs<T> dots = args_;
    dots.few = static_cast<const T*>(args[a_at_]);
    dots.c = static_cast<T*>(result);
    if (bias_at_ >= 0) dots.bias = static_cast<const T*>(args[bias_at_]);
    dots.scale = static_cast<const T*>(epilogue.scale);
    dots.shift = static_cast<const T*>(epilogue.shift);
    dots.residual = static_cast<const T*>(epilogue.residual);
    dots.residual_few = epilogue.residual_stride;
    dots.lo = static_cast<T>(epilogue.lo);
    dots.hi = static_cast<T>(epilogue.hi);
    dots.clamp = epilogue.lo > -infinity || epilogue.hi < infinity;
    dots.accumulate = epilogue.accumulate;
    table_.dot(dots);
    if (epilogue.post)
      epilogue.post(epilogue.post_context, result, columns_, 1, epilogue.first_row, 0, rows_, columns_);
  }

  std::string text() const override { return fmt::format("product {} x {} x {}", rows_, args_.k, columns_); }

 private:
  static const GemmTable<T>& table() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *matrix_kernels().f32;
    } else {
      return *matrix_kernels().f64;
    }
  }

  Tensor b_;
  const GemmTable<T>& table_;
  uint32_t a_at_;
  int bias_at_;
  DotArgs<T> args_{};  // but for what a call has
};

// Not those whose products are summed in another type than they are stored in, or by a library with orders of its own.
bool serves(const Tensor& a, const Tensor& b, const Tensor& result) {
  return b.defined() && !uses_onednn() && (a.dtype() == DType::float32 || a.dtype() == DType::float64) &&
         result.is_contiguous() && result.numel() > 0 && a.size(1) > 0;
}

PreparedCall* prepared(const Tensor& a, const Tensor& b, uint32_t a_at, uint32_t b_at, int bias_at) {
  if (!as_dots(PreparedDots<float>::serves(a, b))) return new PreparedProduct(a, b, a_at, b_at, bias_at);
  if (a.dtype() == DType::float32) return new PreparedDots<float>(a, b, a_at, bias_at);
  return new PreparedDots<double>(a, b, a_at, bias_at);
}

bool is_one(const Value& v) { return v.is_number() && !v.is_complex() && v.to_scalar().equals(1); }

}  // namespace

PreparedCall* mm_prepare(const CallFacts& call) {
  const Tensor& a = call.args[0].to_tensor();
  if (!serves(a, call.constants[1], call.result)) return nullptr;
  return prepared(a, call.constants[1], 0, 1, -1);
}

PreparedCall* addmm_prepare(const CallFacts& call) {
  const Tensor &bias = call.args[0].to_tensor(), &a = call.args[1].to_tensor();
  if (!serves(a, call.constants[2], call.result) || !is_one(call.args[3]) || !is_one(call.args[4])) return nullptr;
  // Other sums begin with a copy of the addend.
  if (bias.dim() > 1 || bias.numel() != call.result.size(1) || !bias.is_contiguous()) return nullptr;
  return prepared(a, call.constants[2], 1, 2, 0);
}

}  // namespace sconce::cpu
