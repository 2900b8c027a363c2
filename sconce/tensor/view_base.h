// View tracking: a tensor knows which base it is a view of, and its autograd state.
//
// Note [The autograd slot]
// Every view remembers its base (the tensor that is not a view itself), because an in-place operation on
// either must become part of the other's history. Most tensors never meet autograd, so this must cost nearly
// nothing: TensorImpl::autograd is
//   0                     nothing: no view, no gradient
//   a base, marked        a view that autograd has not touched: an owning TensorImpl* with bit 0 set, ViewOrigin in
//                         bits 1 to 3 (TensorImpl is aligned to 64 bytes) and the version that the view has seen,
//                         modulo 65536, in bits 48 to 63 (addresses have 48 bits)
//   an AutogradMeta*      the tensor takes part in autograd; a view's base is in there
// Views of inference tensors remember nothing. A view requires grad if its base does. Its history is looked up when
// it is needed (autograd::grad_fn): the one that it was made with, or a new one that autograd makes if something
// was written since.
//
// Note [Views and threads]
// Threads may read one view at once, and the first use of one whose base was written since makes its history anew. So
// the slot is read once per query (autograd_slot), and changes from a base to an AutogradMeta by one store, the base
// staying alive; a history is complete before the version says that it is the present one; TensorImpl::meta, which
// every call reads, is left as it is (ViewMeta::recorded).
#pragma once

#include <atomic>

#include "sconce/tensor/tensor.h"

namespace sconce {

// How a view came to be, which decides whether it may be written in place while gradients are recorded.
enum class ViewOrigin : uint8_t {
  plain,
  no_grad,    // made while no gradients were recorded
  multiple,   // one of several views that one operator returned (split, unbind)
  inference,  // of a tensor, made in inference mode
  custom,     // returned by a custom function
};

// AutogradMeta of a tensor that takes part in autograd. The base is null if the tensor is not a view.
struct ViewMeta : AutogradMeta {
  Ref<TensorImpl> base;
  ViewOrigin origin = ViewOrigin::plain;
  // Of a view: the version when its history was made. Read and written by saw_version and set_seen_version.
  uint32_t version = 0;
  // Of a view: it has a history of its own, also where TensorImpl::meta does not say that it requires grad.
  std::atomic<bool> recorded{false};
};

inline constexpr uint64_t kBaseBits = 0x0000'ffff'ffff'ffc0;

inline uint64_t autograd_slot(const TensorImpl& t) {
  return std::atomic_ref(const_cast<uint64_t&>(t.autograd)).load(std::memory_order_acquire);
}
inline bool holds_base(uint64_t slot) { return slot & 1; }
// Of a slot that holds a base, and of one that is not 0 and does not.
inline TensorImpl* base_in(uint64_t slot) {
  return reinterpret_cast<TensorImpl*>(static_cast<uintptr_t>(slot & kBaseBits));
}
inline ViewMeta* meta_in(uint64_t slot) { return reinterpret_cast<ViewMeta*>(static_cast<uintptr_t>(slot)); }
// Null if the tensor has none yet.
inline ViewMeta* view_meta(const TensorImpl& t) {
  const uint64_t slot = autograd_slot(t);
  return holds_base(slot) ? nullptr : meta_in(slot);
}
// Null if the tensor is not a view, or a view of an inference tensor.
inline TensorImpl* base_of(const TensorImpl& t) {
  const uint64_t slot = autograd_slot(t);
  if (holds_base(slot)) return base_in(slot);
  return slot ? meta_in(slot)->base.get() : nullptr;
}
inline ViewOrigin view_origin(const TensorImpl& t) {
  const uint64_t slot = autograd_slot(t);
  if (holds_base(slot)) return static_cast<ViewOrigin>(slot >> 1 & 7);
  return slot ? meta_in(slot)->origin : ViewOrigin::plain;
}
SCONCE_API void set_view_origin(TensorImpl& t, ViewOrigin origin);
// True if nothing was written to the memory of this view since its history was made.
SCONCE_API bool saw_version(const TensorImpl& t);
// The history in the slot is that of the present version.
SCONCE_API void set_seen_version(ViewMeta& meta, const TensorImpl& t);

// Makes `view`, which has nothing in its slot and lies in base's storage, a view of `base` (or of its base). It
// requires grad if the base does.
void become_view(TensorImpl& view, TensorImpl& base);
// The views that one operator returned at once.
void mark_multiple(TensorList views);

// Makes a tensor without other owners a leaf that requires grad (others: autograd::set_requires_grad). Throws if its
// dtype has no derivatives.
SCONCE_API void start_requiring_grad(const Tensor& t);

// The name of a tensor's grad_fn, which to_string prints; empty for leaves. Autograd answers (Note [Connections]); null
// where there is none.
using HistoryName = std::string (*)(const Tensor& t);
extern const HistoryName history_name;

// Puts `meta` into the slot: it takes over base and origin of a view. Owned by the tensor from now on.
SCONCE_API void attach_meta(TensorImpl& t, ViewMeta* meta);
// Empties the slot.
SCONCE_API void drop_autograd(TensorImpl& t) noexcept;

}  // namespace sconce
