// ctc_loss: lengths as lists or tensors, items without a batch, reductions.
#include <tuple>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

std::vector<int64_t> lengths(const Tensor& t, const char* name) {
  SCONCE_CHECK(is_integral(t.dtype()), "{} must be integral", name);
  SCONCE_CHECK(t.device().type == DeviceType::cpu, "{} must be on the CPU", name);
  return integers_of(t);
}

Tensor on_host(const Tensor& t) { return t.device().type == DeviceType::cpu ? t : to(t, Device(), t.dtype()); }

}  // namespace

std::tuple<Tensor, Tensor> _ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                                            const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
  return _ctc_loss(log_probs, targets, IntList(lengths(input_lengths, "input_lengths")),
                   IntList(lengths(target_lengths, "target_lengths")), blank, zero_infinity);
}

Tensor _ctc_loss_backward_Tensor(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                 const Tensor& input_lengths, const Tensor& target_lengths,
                                 const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                                 bool zero_infinity) {
  return _ctc_loss_backward(grad, log_probs, targets, IntList(lengths(input_lengths, "input_lengths")),
                            IntList(lengths(target_lengths, "target_lengths")), neg_log_likelihood, log_alpha, blank,
                            zero_infinity);
}

Tensor ctc_loss_IntList(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
                        int64_t blank, int64_t reduction, bool zero_infinity) {
  const bool batched = log_probs.dim() == 3;
  const Tensor logs = batched ? log_probs : unsqueeze(log_probs, 1);
  const Tensor wanted = batched || targets.dim() == 1 ? targets : unsqueeze(targets, 0);
  const auto [raw, alpha] = _ctc_loss(logs, wanted, input_lengths, target_lengths, blank, zero_infinity);
  Tensor loss = raw;
  if (zero_infinity) loss = where(eq(loss, std::numeric_limits<double>::infinity()), zeros_like(loss), loss);
  if (reduction == 1) {
    std::vector<int64_t> counts;
    for (const int64_t length : target_lengths) counts.push_back(std::max<int64_t>(length, 1));
    return mean(div(loss, to_dtype(tensor_of_integers(counts, loss.device()), loss.dtype())));
  }
  if (reduction == 2) return sum(loss);
  return batched ? loss : squeeze(loss, 0);
}

Tensor ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  return ctc_loss_IntList(log_probs, targets, IntList(lengths(on_host(input_lengths), "input_lengths")),
                          IntList(lengths(on_host(target_lengths), "target_lengths")), blank, reduction, zero_infinity);
}

}  // namespace sconce::any_device
