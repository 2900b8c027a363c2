// Cross entropy of rows and classes on CUDA devices (text/losses/cross_entropy.cuh).
#include <iterator>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/loss_cuda_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/losses/cross_entropy_arguments.cuh"

struct Variant {
  DType dtype;
  int threads, width;
  bool backward;
  int rows() const { return threads == 32 ? 8 : 1; }
};

std::string source_of(const Variant& v) {
  std::string out =
      vocabulary(false, 0, false) + compute_lines(v.dtype == DType::float64 ? Compute::f64 : Compute::f32);
  out += fmt::format("using T = {};\n#define THREADS {}\n#define TY {}\n#define WIDTH {}\n{}", stored_type(v.dtype),
                     v.threads, v.rows(), v.width, v.backward ? "#define BACKWARD 1\n" : "");
  for (const char* file : {"block", "errors", "cross_entropy_arguments", "cross_entropy"}) out += text_file(file);
  return out;
}

void run(const CrossEntropyArguments& a, DType dtype, bool backward, Device device) {
  if (a.rows == 0 || a.columns == 0) return;
  const auto item = static_cast<int64_t>(item_size(dtype));
  const auto aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  Variant v{dtype, a.columns <= 1024 ? 32 : a.columns <= 8192 ? 256 : 512, static_cast<int>(16 / item), backward};
  if (a.columns % v.width != 0 || !aligned(a.x) || (backward && !aligned(a.out))) v.width = 1;
  fmt::memory_buffer key;
  fmt::format_to(std::back_inserter(key), "cross_entropy/{}/{}.{}{}", static_cast<int>(dtype), v.threads, v.width,
                 backward ? "b" : "");
  const Kernel& kernel = find_kernel(
      device, {key.data(), key.size()}, [&v] { return source_of(v); },
      backward ? "cross_entropy_backward" : "cross_entropy");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((a.rows + v.rows() - 1) / v.rows());
  shape.block_x = static_cast<unsigned>(v.threads);
  shape.block_y = static_cast<unsigned>(v.rows());
  launch(device, kernel, shape, &a, sizeof a, backward ? "cross_entropy_rows_backward" : "cross_entropy_rows");
}

}  // namespace

void sconce_cross_entropy_rows(const Tensor& self, const Tensor& target, int64_t ignore_index, const Tensor& loss,
                               const Tensor& logsumexp) {
  check_cross_entropy(target);
  SCONCE_CHECK(is_floating(self.dtype()), "cross_entropy_rows: expected floating point rows, got {}",
               dtype_legacy_name(self.dtype()));
  const Tensor x = dense(self), wanted = dense(target);
  CrossEntropyArguments a{};
  a.x = x.data();
  a.target = static_cast<const i64*>(wanted.data());
  a.loss = loss.data();
  a.level = logsumexp.data();
  a.rows = self.size(0);
  a.columns = self.size(1);
  a.ignored = ignore_index;
  a.word = error_word(self.device());
  a.number = operator_number("cross_entropy_loss");
  run(a, self.dtype(), false, self.device());
}

void sconce_cross_entropy_rows_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                        const Tensor& logsumexp, int64_t ignore_index, const Tensor& out) {
  const int64_t rows = self.size(0);
  check_cross_entropy_backward(self, grad, target, logsumexp);
  const Tensor x = dense(self), wanted = dense(sconce::to(target, DType::int64));
  const Tensor g = dense(sconce::to(grad, self.dtype())), level = dense(sconce::to(logsumexp, self.dtype()));
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  CrossEntropyArguments a{};
  a.x = x.data();
  a.target = static_cast<const i64*>(wanted.data());
  a.level = level.data();
  a.grad = g.data();
  a.out = made.data();
  a.rows = rows;
  a.columns = self.size(1);
  a.ignored = ignore_index;
  run(a, self.dtype(), true, self.device());
  if (!made.is_same(out)) sconce::copy_(out, made);
}

}  // namespace sconce::cuda
