#include "sconce/tensor/view_base.h"

#include "sconce/tensor/memory/geometry_changes.h"

#include <atomic>

#include "sconce/base/error.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce {
namespace {

constexpr int kVersionAt = 48;

// The storage that counts the writes to a tensor's memory.
uint32_t version_now(const TensorImpl& t) {
  const Storage* counter = t.extra && t.extra->version_storage ? t.extra->version_storage.get() : t.storage;
  return std::atomic_ref(const_cast<uint32_t&>(counter->version)).load(std::memory_order_relaxed);
}

bool can_require_grad(const TensorImpl& t) {
  const auto dtype = static_cast<DType>(t.meta >> TensorImpl::kDTypeAt & 0xff);
  return is_floating(dtype) || is_complex(dtype);
}

}  // namespace

void set_view_origin(TensorImpl& t, ViewOrigin origin) {
  if (holds_base(t.autograd)) {
    t.autograd = (t.autograd & ~uint64_t{0xe}) | static_cast<uint64_t>(origin) << 1;
  } else if (t.autograd) {
    meta_in(t.autograd)->origin = origin;
  }
}

bool saw_version(const TensorImpl& t) {
  const uint32_t now = version_now(t);
  const uint64_t slot = autograd_slot(t);
  if (holds_base(slot)) return slot >> kVersionAt == (now & 0xffff);
  return std::atomic_ref(meta_in(slot)->version).load(std::memory_order_acquire) == now;
}

void set_seen_version(ViewMeta& meta, const TensorImpl& t) {
  std::atomic_ref(meta.version).store(version_now(t), std::memory_order_release);
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
  if ((root->meta & TensorImpl::requires_grad) && can_require_grad(view)) view.meta |= TensorImpl::requires_grad;
  ViewOrigin origin = modes.inference      ? ViewOrigin::inference
                      : modes.exclude_grad ? ViewOrigin::no_grad
                                           : ViewOrigin::plain;
  if (root != &base && origin == ViewOrigin::plain) origin = view_origin(base);
  retain(root);
  view.autograd = reinterpret_cast<uintptr_t>(root) | 1 | static_cast<uint64_t>(origin) << 1 |
                  static_cast<uint64_t>(version_now(view)) << kVersionAt;
}

void mark_multiple(TensorList views) {
  if (thread_modes.exclude_grad) return;
  for (const Tensor& v : views) set_view_origin(*v.impl(), ViewOrigin::multiple);
}

void start_requiring_grad(const Tensor& t) {
  SCONCE_CHECK(can_require_grad(*t.impl()), "Only Tensors of floating point and complex dtype can require gradients");
  if (t.impl()->python && !(t.impl()->meta & TensorImpl::requires_grad))
    grad_flag_changes.fetch_add(1, std::memory_order_relaxed);
  t.impl()->meta |= TensorImpl::requires_grad;
}

void attach_meta(TensorImpl& t, ViewMeta* meta) {
  if (holds_base(t.autograd)) {
    meta->origin = view_origin(t);
    const uint32_t now = version_now(t);
    meta->version = now - static_cast<uint16_t>(now - static_cast<uint32_t>(t.autograd >> kVersionAt));
    meta->base = Ref<TensorImpl>::adopt(base_of(t));
  }
  std::atomic_ref(t.autograd).store(reinterpret_cast<uintptr_t>(meta), std::memory_order_release);
}

void drop_autograd(TensorImpl& t) noexcept {
  const uint64_t held = std::exchange(t.autograd, 0);
  if (held & 1)
    release(base_in(held));
  else
    delete reinterpret_cast<AutogradMeta*>(static_cast<uintptr_t>(held));
}

bool Tensor::base_requires_grad() const {
  const TensorImpl* base = base_of(*impl_);
  if (!base || !can_require_grad(*impl_)) return false;
  if (base->meta & TensorImpl::requires_grad) return true;
  const ViewMeta* meta = view_meta(*impl_);
  return meta && meta->recorded.load(std::memory_order_relaxed);
}

void Tensor::check_inference_write() const {
  SCONCE_CHECK(thread_modes.inference,
               "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
               "normal tensor before doing inplace update.");
  impl_->storage->bump_version();  // programs cannot ask for it, write_count.h does
}

}  // namespace sconce
