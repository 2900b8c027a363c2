#include "sconce/autograd/autocast_mode.h"

#include <memory>
#include <unordered_map>

#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/dispatch/binding/autocast.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/copy.h"

namespace sconce::autograd {
namespace {

// By the weight, which the entry keeps alive: its address means no other tensor meanwhile.
using Cache = std::unordered_map<const TensorImpl*, std::pair<Tensor, Tensor>>;
thread_local constinit Cache* cache = nullptr;  // a plain pointer: nothing is destroyed when a thread ends
thread_local constinit bool cache_enabled = true;

thread_local bool takes_meta = false;

bool is_eligible(const Tensor& t) {
  return t.defined() && (t.device().type == DeviceType::cpu || (takes_meta && t.device().type == DeviceType::meta)) &&
         is_floating(t.dtype()) && t.dtype() != DType::float64;
}

Tensor converted(const Tensor& t, DType to) {
  if (!is_eligible(t) || t.dtype() == to) return t;
  const bool weight = to == autocast_dtype() && t.dtype() == DType::float32 && t.requires_grad() && is_leaf(t);
  if (!weight || !cache_enabled) return _to_copy(t, to);
  if (cache == nullptr) cache = new Cache;
  const auto found = cache->find(t.impl());
  if (found != cache->end()) return found->second.second;
  const Tensor lower = _to_copy(t, to);
  cache->emplace(t.impl(), std::pair(t, lower));
  return lower;
}

template <class F>
void each_tensor(const Value& v, const F& f) {
  if (v.is_tensor()) {
    f(v.to_tensor());
  } else if (v.is_list() && v.to_list().is_tensors()) {
    for (const Tensor& t : v.to_list().tensors()) f(t);
  }
}

Value converted(const Value& v, DType to) {
  if (v.is_tensor()) return converted(v.to_tensor(), to);
  if (!v.is_list()) return v;
  bool any = false;
  each_tensor(v, [&](const Tensor& t) { any = any || (is_eligible(t) && t.dtype() != to); });
  if (!any) return v;
  Ref<List> list = make_ref<List>(v.to_list().element_type());
  for (const Value& item : v.to_list().values()) list->append(converted(item, to));
  return list;
}

template <AutocastPolicy policy>
void cast(const Op& op, KeySet keys, Value* args, Value* returns) {
  const ModeGuard inside({}, Key::autocast);  // operators that the kernel calls have what they need
  const size_t count = op.schema().arguments.size();
  DType to = policy == AutocastPolicy::full ? DType::float32 : autocast_dtype();
  if (policy == AutocastPolicy::widest) {
    for (size_t i = 0; i < count; ++i) {
      each_tensor(args[i], [&](const Tensor& t) {
        if (is_eligible(t) && t.dtype() == DType::float32) to = DType::float32;
      });
    }
  }
  for (size_t i = 0; i < count; ++i) args[i] = converted(args[i], to);
  op.redispatch_boxed(keys - Key::autocast, args, returns);
}

const char* kernel_of(AutocastPolicy policy) {
  switch (policy) {
    case AutocastPolicy::none:
      return nullptr;
    case AutocastPolicy::lower:
      return SCONCE_BOXED_KERNEL(cast<AutocastPolicy::lower>);
    case AutocastPolicy::full:
      return SCONCE_BOXED_KERNEL(cast<AutocastPolicy::full>);
    case AutocastPolicy::widest:
      return SCONCE_BOXED_KERNEL(cast<AutocastPolicy::widest>);
  }
  return nullptr;
}

void register_kernels() {
  static Once once;
  once([] {
    for (const Op* op : all_ops()) {
      if (const char* kernel = kernel_of(autocast_policy(op->qualified_name())))
        const_cast<Op*>(op)->set_kernel(Key::autocast, kernel);
    }
  });
}

}  // namespace

void set_autocast(bool enabled, DType dtype) {
  SCONCE_CHECK(dtype == DType::bfloat16 || dtype == DType::float16,
               "In CPU autocast, but the target dtype is not supported: {}", dtype_name(dtype));
  if (enabled) register_kernels();
  set_autocast_dtype(dtype);
  const uint16_t bit = KeySet(Key::autocast).bits();
  thread_modes.include = static_cast<uint16_t>(enabled ? thread_modes.include | bit : thread_modes.include & ~bit);
}
AutocastOfMeta::AutocastOfMeta() : before_(std::exchange(takes_meta, true)) {}
AutocastOfMeta::~AutocastOfMeta() { takes_meta = before_; }
bool autocast_enabled() { return (thread_modes.include & KeySet(Key::autocast).bits()) != 0; }

void set_autocast_cache(bool enabled) { cache_enabled = enabled; }
bool autocast_cache_enabled() { return cache_enabled; }
void clear_autocast_cache() { const std::unique_ptr<Cache> old(std::exchange(cache, nullptr)); }

}  // namespace sconce::autograd
