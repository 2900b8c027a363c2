#include "filters.h"

#include <initializer_list>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace torchaudio {

using namespace sconce;

namespace {

// f<float>() or f<double>(); all tensors must have one of the two dtypes, the same.
template <class F>
void compute(const char* name, std::initializer_list<Tensor> tensors, F&& f) {
  const DType dtype = tensors.begin()->dtype();
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(t.dtype() == dtype, "{}: all tensors must have one dtype, got {} and {}", name, dtype_name(dtype),
                 dtype_name(t.dtype()));
  }
  SCONCE_CHECK_AS(not_implemented, dtype == DType::float32 || dtype == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(dtype));
  if (dtype == DType::float64) {
    f.template operator()<double>();
  } else {
    f.template operator()<float>();
  }
}

void check_sizes(const char* name, const Tensor& t, const char* what, IntList expected) {
  SCONCE_CHECK(t.sizes() == expected, "{}: expected {} of shape {}, got {}", name, what, expected, t.sizes());
}

}  // namespace

Tensor lfilter_core_loop(const Tensor& waveform, const Tensor& a_coeff_flipped, const Tensor& padded_output_waveform) {
  constexpr const char* kName = "_lfilter_core_loop";
  SCONCE_CHECK(waveform.dim() == 3, "{}: expected a waveform of shape [batch, channels, samples], got {}", kName,
               waveform.sizes());
  const int64_t batch = waveform.size(0), channels = waveform.size(1), samples = waveform.size(2);
  SCONCE_CHECK(a_coeff_flipped.dim() == 2 && a_coeff_flipped.size(0) == channels && a_coeff_flipped.size(1) > 0,
               "{}: expected coefficients of shape [{}, order], got {}", kName, channels, a_coeff_flipped.sizes());
  const int64_t order = a_coeff_flipped.size(1), padded = samples + order - 1;
  check_sizes(kName, padded_output_waveform, "an output", {batch, channels, padded});
  const Tensor x = waveform.contiguous(), a = a_coeff_flipped.contiguous();
  const Tensor y = padded_output_waveform.contiguous();
  compute(kName, {x, a, y}, [&]<class T>() {
    for (int64_t row = 0; row < batch * channels; ++row) {
      const T *in = x.data<T>() + row * samples, *weight = a.data<T>() + row % channels * order;
      T* out = y.data<T>() + row * padded;
      for (int64_t i = 0; i < samples; ++i) {
        T sum = in[i];
        for (int64_t k = 0; k < order; ++k) sum -= out[i + k] * weight[k];
        out[i + order - 1] = sum;
      }
    }
  });
  if (!y.is_same(padded_output_waveform)) padded_output_waveform.copy_(y);
  return padded_output_waveform;
}

std::tuple<Tensor, Tensor, Tensor> overdrive_core_loop(const Tensor& waveform, const Tensor& temp,
                                                       const Tensor& last_in, const Tensor& last_out,
                                                       const Tensor& output_waveform) {
  constexpr const char* kName = "_overdrive_core_loop";
  SCONCE_CHECK(waveform.dim() == 2, "{}: expected a waveform of shape [channels, samples], got {}", kName,
               waveform.sizes());
  const int64_t channels = waveform.size(0), samples = waveform.size(1);
  check_sizes(kName, temp, "temp", waveform.sizes());
  check_sizes(kName, output_waveform, "output_waveform", waveform.sizes());
  check_sizes(kName, last_in, "last_in", {channels});
  check_sizes(kName, last_out, "last_out", {channels});
  const Tensor x = waveform.contiguous(), driven = temp.contiguous();
  const Tensor in = last_in.contiguous(), out = last_out.contiguous(), y = output_waveform.contiguous();
  compute(kName, {x, driven, in, out, y}, [&]<class T>() {
    for (int64_t c = 0; c < channels; ++c) {
      T before = in.data<T>()[c], kept = out.data<T>()[c];
      for (int64_t i = c * samples; i < (c + 1) * samples; ++i) {
        const T now = driven.data<T>()[i];
        kept = now - before + T(0.995) * kept;
        before = now;
        y.data<T>()[i] = x.data<T>()[i] * T(0.5) + kept * T(0.75);
      }
      in.data<T>()[c] = before;
      out.data<T>()[c] = kept;
    }
  });
  if (!in.is_same(last_in)) last_in.copy_(in);
  if (!out.is_same(last_out)) last_out.copy_(out);
  if (!y.is_same(output_waveform)) output_waveform.copy_(y);
  return {last_in, last_out, output_waveform};
}

}  // namespace torchaudio
