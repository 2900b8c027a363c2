// Connectionist temporal classification. A target of L labels is read with blanks around every label, 2L + 1 states;
// alpha[t][s] is the log probability of all ways to be in state s at time t, beta that of all ways on from there.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/tensor/element.h"

namespace sconce {
namespace {

struct Sequences {
  int64_t steps, batch, classes;
  std::vector<int64_t> targets;  // of all items, one after the other
  std::vector<int64_t> first;    // where those of an item begin
};

void check_arguments(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
                     int64_t blank) {
  SCONCE_CHECK(log_probs.dim() == 3, "ctc_loss: log_probs must be [T, N, C], got {}", log_probs.sizes());
  SCONCE_CHECK(log_probs.numel() > 0, "log_probs tensor must not be empty");
  SCONCE_CHECK(is_floating(log_probs.dtype()) && !is_reduced_float(log_probs.dtype()),
               "\"ctc_loss_cpu\" not implemented for '{}'", dtype_legacy_name(log_probs.dtype()));
  SCONCE_CHECK(targets.dtype() == DType::int64 || targets.dtype() == DType::int32,
               "Expected targets to be Long or Int, but got {}", dtype_legacy_name(targets.dtype()));
  const int64_t batch = log_probs.sizes()[1];
  SCONCE_CHECK(0 <= blank && blank < log_probs.sizes()[2], "blank must be in label range");
  SCONCE_CHECK(static_cast<int64_t>(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
  SCONCE_CHECK(static_cast<int64_t>(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
  for (const int64_t n : target_lengths)
    SCONCE_CHECK(n >= 0, "Expected target_lengths to have value at least 0, but got value {}", n);
  for (const int64_t n : input_lengths) {
    SCONCE_CHECK(n >= 0, "Expected input_lengths to have value at least 0, but got value {}", n);
    SCONCE_CHECK(n <= log_probs.sizes()[0], "Expected input_lengths to have value at most {}, but got value {}",
                 log_probs.sizes()[0], n);
  }
  if (targets.dim() == 1) {
    int64_t total = 0;
    for (const int64_t n : target_lengths) total += n;
    SCONCE_CHECK(targets.numel() == total, "Expected tensor to have size {} at dimension 0, but got size {}", total,
                 targets.numel());
  } else {
    const int64_t most = target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
    SCONCE_CHECK(targets.dim() == 2 && targets.sizes()[0] == batch && targets.sizes()[1] >= most,
                 "Expected targets of size [{}, at least {}], but got {}", batch, most, targets.sizes());
  }
}

Sequences sequences(const Tensor& log_probs, const Tensor& targets, IntList target_lengths) {
  Sequences s{log_probs.sizes()[0], log_probs.sizes()[1], log_probs.sizes()[2], {}, {}};
  const Tensor all = contiguous_tensor(to_dtype(targets, DType::int64));
  int64_t flat = 0;
  for (int64_t b = 0; b < s.batch; ++b) {
    const int64_t length = target_lengths[static_cast<size_t>(b)];
    const int64_t* from = all.data<int64_t>() + (targets.dim() == 1 ? flat : b * targets.sizes()[1]);
    s.first.push_back(flat);
    for (int64_t i = 0; i < length; ++i) {
      SCONCE_CHECK(0 <= from[i] && from[i] < s.classes, "ctc_loss: target {} is not in the range of {} classes",
                   from[i], s.classes);
      s.targets.push_back(from[i]);
    }
    flat += length;
  }
  return s;
}

// The label of a state: blanks stand between the labels.
struct Labels {
  const int64_t* target;
  int64_t blank;
  int64_t operator()(int64_t state) const { return state % 2 == 0 ? blank : target[state / 2]; }
  // May a way come from two states before?
  bool skips(int64_t state) const { return state % 2 == 1 && state >= 3 && target[state / 2] != target[state / 2 - 1]; }
};

constexpr double kNever = -std::numeric_limits<double>::infinity();

template <class T>
double log_add(T a, T b, T c) {
  const T top = std::max(a, std::max(b, c));
  if (top == -std::numeric_limits<T>::infinity()) return static_cast<double>(top);
  return static_cast<double>(std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top)) + top);
}

}  // namespace

namespace any_device {

std::array<OutSpec, 2> _ctc_loss_spec(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                                      IntList target_lengths, int64_t blank, bool) {
  check_arguments(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t most = target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end());
  return {OutSpec{Dims({log_probs.sizes()[1]}), log_probs.dtype()},
          OutSpec{Dims({log_probs.sizes()[1], log_probs.sizes()[0], 2 * most + 1}), log_probs.dtype()}};
}

}  // namespace any_device

namespace cpu {

void _ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
               int64_t blank, bool, const Tensor& loss, const Tensor& log_alpha) {
  const Sequences s = sequences(log_probs, targets, target_lengths);
  const Tensor logs = contiguous_tensor(log_probs);
  const int64_t states_wide = log_alpha.sizes()[2];
  for_float(log_probs.dtype(), [&]<class T>() {
    const T never = static_cast<T>(kNever);
    parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const auto at = static_cast<size_t>(b);
        const int64_t steps = input_lengths[at], states = 2 * target_lengths[at] + 1;
        const Labels label{s.targets.data() + s.first[at], blank};
        const T* row = logs.data<T>() + b * s.classes;
        T* alpha = log_alpha.data<T>() + b * s.steps * states_wide;
        std::fill(alpha, alpha + s.steps * states_wide, never);
        if (steps == 0) {
          loss.data<T>()[b] = target_lengths[at] == 0 ? T(0) : -never;
          continue;
        }
        alpha[0] = row[blank];
        if (states > 1) alpha[1] = row[label(1)];
        for (int64_t t = 1; t < steps; ++t) {
          const T *before = alpha + (t - 1) * states_wide, *now = row + t * s.batch * s.classes;
          T* to = alpha + t * states_wide;
          for (int64_t state = 0; state < states; ++state) {
            const T one = state >= 1 ? before[state - 1] : never, two = label.skips(state) ? before[state - 2] : never;
            to[state] = static_cast<T>(log_add<T>(before[state], one, two)) + now[label(state)];
          }
        }
        const T* last = alpha + (steps - 1) * states_wide;
        loss.data<T>()[b] = -static_cast<T>(log_add<T>(last[states - 1], states > 1 ? last[states - 2] : never, never));
      }
    });
  });
}

void _ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                        IntList target_lengths, const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                        int64_t blank, bool zero_infinity, const Tensor& out) {
  check_arguments(log_probs, targets, input_lengths, target_lengths, blank);
  const Sequences s = sequences(log_probs, targets, target_lengths);
  const Tensor logs = contiguous_tensor(log_probs), alphas = contiguous_tensor(to_dtype(log_alpha, log_probs.dtype()));
  const Tensor losses = contiguous_tensor(to_dtype(neg_log_likelihood, log_probs.dtype()));
  const Tensor given = contiguous_tensor(to_dtype(grad, log_probs.dtype()));
  SCONCE_CHECK(losses.numel() == s.batch && given.numel() == s.batch && alphas.dim() == 3 &&
                   alphas.sizes()[0] == s.batch && alphas.sizes()[1] == s.steps,
               "ctc_loss_backward: sizes of grad {}, neg_log_likelihood {} or log_alpha {} do not fit log_probs {}",
               grad.sizes(), neg_log_likelihood.sizes(), log_alpha.sizes(), log_probs.sizes());
  const int64_t states_wide = alphas.sizes()[2];
  for (const int64_t n : target_lengths)
    SCONCE_CHECK(2 * n + 1 <= states_wide, "ctc_loss_backward: log_alpha has too few states");
  for_float(log_probs.dtype(), [&]<class T>() {
    const T never = static_cast<T>(kNever);
    parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> beta(static_cast<size_t>(states_wide)), next(static_cast<size_t>(states_wide)),
          sums(static_cast<size_t>(s.classes));
      for (int64_t b = begin; b < end; ++b) {
        const auto at = static_cast<size_t>(b);
        const int64_t steps = input_lengths[at], states = 2 * target_lengths[at] + 1, step = s.batch * s.classes;
        const Labels label{s.targets.data() + s.first[at], blank};
        const T* row = logs.data<T>() + b * s.classes;
        const T* alpha = alphas.data<T>() + b * s.steps * states_wide;
        T* to = out.data<T>() + b * s.classes;
        const T loss = losses.data<T>()[b], scale = given.data<T>()[b];
        for (int64_t t = 0; t < s.steps; ++t) std::fill(to + t * step, to + t * step + s.classes, T(0));
        if (zero_infinity && loss == -never) continue;
        for (int64_t t = steps - 1; t >= 0; --t) {
          const T* now = row + t * step;
          for (int64_t state = 0; state < states; ++state) {
            T onward;
            if (t == steps - 1) {
              onward = state >= states - 2 ? T(0) : never;
            } else {
              const T one = state + 1 < states ? next[state + 1] : never;
              const T two = state + 2 < states && label.skips(state + 2) ? next[state + 2] : never;
              onward = static_cast<T>(log_add<T>(next[state], one, two));
            }
            beta[state] = onward + now[label(state)];
          }
          std::fill(sums.begin(), sums.end(), never);
          for (int64_t state = 0; state < states; ++state) {
            const T both = alpha[t * states_wide + state] + beta[state];
            T& sum = sums[static_cast<size_t>(label(state))];
            const T top = std::max(sum, both);
            sum = top == never ? never : std::log(std::exp(sum - top) + std::exp(both - top)) + top;
          }
          T* gradient = to + t * step;
          for (int64_t c = 0; c < s.classes; ++c)
            gradient[c] = (std::exp(now[c]) - std::exp(sums[static_cast<size_t>(c)] + loss - now[c])) * scale;
          std::swap(beta, next);
        }
      }
    });
  });
}

}  // namespace cpu
}  // namespace sconce
