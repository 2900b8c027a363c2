// The operators of a lite library: one list, that of its selection. In place of dispatch/registry.cpp,
// dispatch/binding/op_counts.cpp and dispatch/budget/terms_of.cpp.
#include "sconce/dispatch/registry.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/lite/op_shape.h"
#include "sconce/lite/selected.h"

namespace sconce {
namespace {

constinit std::atomic<const char*> fallbacks[kKeys] = {};

}  // namespace

const Op* find_op(std::string_view name, std::string_view overload) {
  for (const Op& op : lite::selected_ops) {
    if (name == op.info.name && overload == op.info.overload) return &op;
  }
  return nullptr;
}

const Op* find_op(std::string_view qualified_name) {
  for (const Op& op : lite::selected_ops) {
    if (!qualified_name.starts_with(op.info.name)) continue;
    std::string_view rest = qualified_name.substr(std::strlen(op.info.name));
    const bool has_overload = rest.starts_with('.');
    if (has_overload) rest.remove_prefix(1);
    if ((has_overload || rest.empty()) && rest == op.info.overload) return &op;
  }
  return nullptr;
}

std::vector<const Op*> find_overloads(std::string_view name) {
  std::vector<const Op*> found;
  for (const Op& op : lite::selected_ops) {
    if (name == op.info.name) found.push_back(&op);
  }
  return found;
}

const char* mark_boxed(BoxedKernel kernel) {
#if defined(__wasm__)
  // Not of the heap, whose addresses may have the mark's bit. Fallbacks of keys alone come here.
  static BoxedKernel cells[kKeys];
  BoxedKernel* const cell = std::find_if(cells, cells + kKeys - 1, [&](BoxedKernel c) { return !c || c == kernel; });
  *cell = kernel;
  return reinterpret_cast<const char*>(reinterpret_cast<intptr_t>(cell) + kBoxedMark);
#else
  return SCONCE_BOXED_KERNEL(kernel);
#endif
}

const char* fallback_kernel(Key key) { return fallbacks[static_cast<int>(key)].load(std::memory_order_acquire); }

void set_fallback(Key key, BoxedKernel kernel) {
  const char* marked = kernel ? mark_boxed(kernel) : nullptr;
  const char* before = fallbacks[static_cast<int>(key)].exchange(marked, std::memory_order_acq_rel);
  for (Op& op : lite::selected_ops) {
    const bool own =
        op.has_kernel(key) && __atomic_load_n(&op.kernels[static_cast<int>(key)], __ATOMIC_ACQUIRE) != before;
    if (!own) op.set_kernel(key, marked);
  }
}

const OpTerms& terms_of(const Op& op) {
  static constexpr OpTerms kOther{nullptr, false, false};  // a method of a class of C++
  const auto place = static_cast<size_t>(&op - lite::selected_ops.data());
  return place < lite::selected_ops.size() ? lite::selected_terms[place] : kOther;
}

OpCounts counts_of(const Op& op) {
  const lite::OpShape shape(op);
  return {shape.arguments, shape.returns, shape.makes_tensor};
}

}  // namespace sconce
