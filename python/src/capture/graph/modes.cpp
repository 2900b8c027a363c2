#include "capture/graph/modes.h"

#include "autocast.h"
#include "interop/torch_function.h"
#include "sconce/autograd/autocast_mode.h"
#include "sconce/autograd/graph/inference_saves.h"
#include "sconce/dispatch/binding/autocast.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::python::capture {

Modes Modes::current() {
  return {grad_enabled(),
          inference_mode_state(),
          autograd::autocast_enabled(),
          autograd::autocast_cache_enabled(),
          sconce::autocast_dtype(),
          autocast_clears(),
          torch_function_disabled_depth(),
          sconce::default_dtype(),
          autograd::saves_inference_tensors()};
}

void Modes::restore() const {
  if (inference_mode_state() != inference) restore_inference_mode(inference);
  if (grad_enabled() != grad) set_grad_enabled(grad);
  set_torch_function_disabled_depth(overrides_off);
  if (sconce::default_dtype() != default_dtype) set_default_dtype(default_dtype);
  autograd::set_saves_inference_tensors(saves_inference);
  if (same_autocast(current())) return;
  autograd::set_autocast(autocast, autocast_dtype);
  autograd::set_autocast_cache(autocast_cache);
  if (!autocast) autograd::clear_autocast_cache();
}

}  // namespace sconce::python::capture
