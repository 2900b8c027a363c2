// In-place operations: what they may write, and the history that they leave.
#include "sconce/autograd/meta.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"

namespace sconce::autograd {

void check_inplace(const Tensor& t, bool recorded) {
  if (!recorded) return;
  SCONCE_CHECK(!(t.requires_grad() && is_leaf(t)),
               "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& t, Ref<Node> node) {
  SCONCE_CHECK_AS(not_implemented, !base_of(*t.impl()), "an in-place operation on a view is not recorded yet");
  set_history(t, std::move(node), 0);
}

}  // namespace sconce::autograd
