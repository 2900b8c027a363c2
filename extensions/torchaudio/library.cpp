// torchaudio's operators for Sconce; the registry loads them when a program calls torchaudio::_lfilter_core_loop, ...
#include "sconce/dispatch/library.h"
#include "filters.h"

SCONCE_LIBRARY(torchaudio, m) {
  using namespace torchaudio;
  using sconce::Key;
  m.def(
      "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> "
      "Tensor(a!)",
      "A filter with feedback, sample by sample.");
  m.impl("_lfilter_core_loop", Key::cpu, &lfilter_core_loop);
  m.def(
      "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) "
      "output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
      "The loop of torchaudio's overdrive effect.");
  m.impl("_overdrive_core_loop", Key::cpu, &overdrive_core_loop);
}
