#include "sconce/tensor/view_base.h"

#include "sconce/base/error.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce {

void set_view_origin(TensorImpl& t, ViewOrigin origin) {
  if (holds_base(t)) {
    t.autograd = (t.autograd & ~uintptr_t{0xe}) | static_cast<uintptr_t>(origin) << 1;
  } else if (t.autograd) {
    reinterpret_cast<ViewMeta*>(t.autograd)->origin = origin;
  }
}

void become_view(TensorImpl& view, TensorImpl& base) {
  view.meta |= TensorImpl::is_view | (base.meta & TensorImpl::inference);
  if (base.extra && base.extra->version_storage) [[unlikely]] {
    if (!view.extra) view.extra = new Extra;
    view.extra->version_storage = base.extra->version_storage;
  }
  const ThreadModes& modes = thread_modes;
  if (view.meta & TensorImpl::inference) return;
  TensorImpl* root = (base.meta & TensorImpl::is_view) ? base_of(base) : &base;
  if (!root) return;
  ViewOrigin origin = modes.inference      ? ViewOrigin::inference
                      : modes.exclude_grad ? ViewOrigin::no_grad
                                           : ViewOrigin::plain;
  if (root != &base && view_origin(base) != ViewOrigin::plain) origin = view_origin(base);
  retain(root);
  view.autograd = reinterpret_cast<uintptr_t>(root) | 1 | static_cast<uintptr_t>(origin) << 1;
}

void mark_multiple(TensorList views) {
  for (const Tensor& v : views) {
    if (view_origin(*v.impl()) == ViewOrigin::plain) set_view_origin(*v.impl(), ViewOrigin::multiple);
  }
}

void attach_meta(TensorImpl& t, ViewMeta* meta) {
  if (holds_base(t)) {
    meta->origin = view_origin(t);
    meta->base = Ref<TensorImpl>::adopt(base_of(t));
  }
  t.autograd = reinterpret_cast<uintptr_t>(meta);
}

void drop_autograd(TensorImpl& t) noexcept {
  const uintptr_t held = std::exchange(t.autograd, 0);
  if (held & 1)
    release(reinterpret_cast<TensorImpl*>(held & ~uintptr_t{63}));
  else
    delete reinterpret_cast<AutogradMeta*>(held);
}

bool Tensor::base_requires_grad() const {
  const TensorImpl* base = base_of(*impl_);
  if (!base || !(base->meta & TensorImpl::requires_grad)) return false;
  const ViewOrigin origin = view_origin(*impl_);
  return origin == ViewOrigin::plain || origin == ViewOrigin::multiple;
}

void Tensor::check_inference_write() const {
  SCONCE_CHECK(thread_modes.inference,
               "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
               "normal tensor before doing inplace update.");
}

}  // namespace sconce
