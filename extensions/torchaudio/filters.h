// Filters whose output goes back into them, a sample after the other.
#pragma once

#include <tuple>

#include "sconce/tensor/tensor.h"

namespace torchaudio {

using sconce::Tensor;

// y[t] = x[t] - sum over k of a[k] y[t + k - order], with a from the oldest to the newest: [batch, channels, samples],
// [channels, order], and the output, which begins with order - 1 samples of the past.
Tensor lfilter_core_loop(const Tensor& waveform, const Tensor& a_coeff_flipped, const Tensor& padded_output_waveform);
// Half of the sound and three quarters of `temp` without its slow part, [channels, samples]; the last samples of each
// channel go in and come out.
std::tuple<Tensor, Tensor, Tensor> overdrive_core_loop(const Tensor& waveform, const Tensor& temp,
                                                       const Tensor& last_in, const Tensor& last_out,
                                                       const Tensor& output_waveform);

}  // namespace torchaudio
