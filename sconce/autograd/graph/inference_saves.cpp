#include "sconce/autograd/graph/inference_saves.h"

#include <utility>

namespace sconce::autograd {
namespace {

thread_local constinit bool allowed_here = false;

}  // namespace

bool saves_inference_tensors() noexcept { return allowed_here; }
bool set_saves_inference_tensors(bool allowed) noexcept { return std::exchange(allowed_here, allowed); }

Tensor without_inference(const Tensor& t) {
  if (!(t.impl()->meta & TensorImpl::inference)) return t;
  Tensor made = shallow_copy(t);
  made.impl()->meta &= ~TensorImpl::inference;
  return made;
}

}  // namespace sconce::autograd
