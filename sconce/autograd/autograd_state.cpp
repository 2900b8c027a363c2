#include "sconce/autograd/autograd_state.h"

#include "sconce/autograd/hook_lists.h"

namespace sconce::autograd {

AutogradState::AutogradState() = default;
AutogradState::~AutogradState() {
  if (retained) forget_tensor(*retained);
}

AutogradState& make_state(const Tensor& t) {
  if (AutogradState* known = state_of(t)) return *known;
  auto* made = new AutogradState;
  attach_meta(*t.impl(), made);
  return *made;
}

}  // namespace sconce::autograd
