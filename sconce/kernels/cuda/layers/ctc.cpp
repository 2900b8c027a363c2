// Connectionist temporal classification on CUDA devices (text/losses/ctc.cuh).
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/loss_cuda_kernels.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/losses/ctc_arguments.cuh"

Tensor numbers_on(const std::vector<int64_t>& numbers, Device device) {
  const Tensor here = empty_tensor({static_cast<int64_t>(numbers.size())}, DType::int64);
  std::copy(numbers.begin(), numbers.end(), here.data<int64_t>());
  return sconce::to(here, device, DType::int64);
}

// What both kernels read; the tensors live as long as this.
struct Items {
  Tensor logs, targets, first, lengths, inputs;
  CtcArguments a{};

  Items(const Tensor& log_probs, const Tensor& given, IntList input_lengths, IntList target_lengths, int64_t blank) {
    const Device device = log_probs.device();
    logs = dense(log_probs);
    targets = dense(sconce::to(given, DType::int64));
    std::vector<int64_t> begins;
    int64_t flat = 0;
    for (size_t b = 0; b < target_lengths.size(); ++b) {
      begins.push_back(given.dim() == 1 ? flat : static_cast<int64_t>(b) * given.size(1));
      flat += target_lengths[b];
    }
    first = numbers_on(begins, device);
    lengths = numbers_on(target_lengths.vec(), device);
    inputs = numbers_on(input_lengths.vec(), device);
    a.logs = logs.data();
    a.targets = static_cast<const i64*>(targets.data());
    a.first = static_cast<const i64*>(first.data());
    a.lengths = static_cast<const i64*>(lengths.data());
    a.inputs = static_cast<const i64*>(inputs.data());
    a.steps = log_probs.size(0);
    a.batch = log_probs.size(1);
    a.classes = log_probs.size(2);
    a.blank = blank;
    a.word = error_word(device);
    a.number = operator_number("ctc_loss");
  }
  void run(const char* entry) const {
    const Device device = logs.device();
    const DType dtype = logs.dtype();
    const Kernel& kernel = find_kernel(
        device, fmt::format("ctc/{}", static_cast<int>(dtype)),
        [&] {
          std::string out =
              vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32);
          for (const char* file : {"errors", "ctc_arguments", "ctc"}) out += text_file(file);
          return out;
        },
        entry);
    Shape shape;
    shape.grid_x = static_cast<unsigned>(a.batch);
    shape.block_x = 256;
    launch(device, kernel, shape, &a, sizeof a, "ctc_loss");
  }
};

}  // namespace

void _ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
               int64_t blank, bool, const Tensor& loss, const Tensor& log_alpha) {
  Items items(log_probs, targets, input_lengths, target_lengths, blank);
  items.a.loss = loss.data();
  items.a.alpha = log_alpha.data();
  items.a.states = log_alpha.size(2);
  items.run("ctc");
}

void _ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                        IntList target_lengths, const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                        int64_t blank, bool zero_infinity, const Tensor& out) {
  const int64_t batch = log_probs.size(1), steps = log_probs.size(0);
  const Tensor losses = dense(sconce::to(neg_log_likelihood, log_probs.dtype()));
  const Tensor given = dense(sconce::to(grad, log_probs.dtype())),
               alphas = dense(sconce::to(log_alpha, log_probs.dtype()));
  SCONCE_CHECK(losses.numel() == batch && given.numel() == batch && alphas.dim() == 3 && alphas.size(0) == batch &&
                   alphas.size(1) == steps && static_cast<int64_t>(input_lengths.size()) == batch &&
                   static_cast<int64_t>(target_lengths.size()) == batch,
               "ctc_loss_backward: sizes of grad {}, neg_log_likelihood {} or log_alpha {} do not fit log_probs {}",
               grad.sizes(), neg_log_likelihood.sizes(), log_alpha.sizes(), log_probs.sizes());
  for (const int64_t n : target_lengths)
    SCONCE_CHECK(n >= 0 && 2 * n + 1 <= alphas.size(2), "ctc_loss_backward: log_alpha has too few states");
  for (const int64_t n : input_lengths)
    SCONCE_CHECK(n >= 0 && n <= steps, "Expected input_lengths to have value at most {}, but got value {}", steps, n);
  Items items(log_probs, targets, input_lengths, target_lengths, blank);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  items.a.states = alphas.size(2);
  const Tensor room =
      empty_tensor({batch, 2 * items.a.states + items.a.classes}, log_probs.dtype(), log_probs.device());
  items.a.loss = losses.data();
  items.a.alpha = alphas.data();
  items.a.grad = given.data();
  items.a.out = made.data();
  items.a.room = room.data();
  items.a.zero_infinity = zero_infinity ? 1 : 0;
  items.run("ctc_backward");
  if (!made.is_same(out)) sconce::copy_(out, made);
}

}  // namespace sconce::cuda
