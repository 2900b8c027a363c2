#include "sconce/autograd/zero_grad.h"

#include "sconce/autograd/variable.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/creation.h"

namespace sconce::autograd {

void zero_grad(const Tensor& t, bool set_to_none) {
  const Tensor before = grad(t);
  if (!before.defined()) return;
  if (set_to_none) {
    set_grad(t, {});
  } else if (before.requires_grad()) {
    set_grad(t, zeros_like(before));
  } else {
    zero_(before);
  }
}

}  // namespace sconce::autograd
