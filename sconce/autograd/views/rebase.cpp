// History of in-place operations: which tensors they may write, and the grad_fn that they leave.
#include <atomic>

#include "sconce/autograd/autograd_state.h"
#include "sconce/autograd/variable.h"
#include "sconce/autograd/views/copy_slices.h"
#include "sconce/autograd/views/view_history.h"
#include "sconce/base/error.h"
#include "sconce/tensor/memory/geometry_changes.h"

namespace sconce::autograd {

void check_inplace(const Tensor& t, bool recorded) {
  if (!recorded) return;
  if (TensorImpl* base = base_of(*t.impl())) {
    check_view_write(t, false);
    const Tensor root(Ref<TensorImpl>::share(base));
    SCONCE_CHECK(!(t.requires_grad() && is_leaf(root)),
                 "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  SCONCE_CHECK(!(t.requires_grad() && is_leaf(t)),
               "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& t, Ref<Node> node, uint32_t slot, uint32_t self) {
  TensorImpl* base = base_of(*t.impl());
  // Another owner of the memory may be a view that does not know yet that it requires grad.
  if (t.impl()->storage->count.owners() > (base ? 2 : 1)) watch_views();
  if (!base) return set_history(t, std::move(node), slot);
  const Tensor root(Ref<TensorImpl>::share(base));
  set_history(root, make_ref<CopySlices>(root, t, std::move(node), self), 0);
  if (t.impl()->python) grad_flag_changes.fetch_add(1, std::memory_order_relaxed);
  t.impl()->meta |= TensorImpl::requires_grad;  // its own history is made when it is asked for
  // A history made between the write and this call (check_inplace of a custom function asks for it) leads past `node`.
  if (saw_version(*t.impl())) std::atomic_ref(make_state(t).version).store(t.version() - 1, std::memory_order_release);
}

}  // namespace sconce::autograd
