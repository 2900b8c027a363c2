#include "sconce/dispatch/registry.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sconce/base/once.h"
#include "sconce/dispatch/custom/custom_op.h"
#include "sconce/dispatch/custom/extensions.h"

namespace sconce {
namespace {

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

struct Registry {
  std::shared_mutex mutex;
  std::vector<Op*> ops;
  std::unordered_map<std::string_view, std::vector<Op*>, NameHash, std::equal_to<>> by_name;  // names live in the ops
  std::atomic<const char*> fallbacks[kKeys] = {};

  void add(Op& op) {
    for (int k = 0; k < kKeys; ++k) {
      const Key key = static_cast<Key>(k);
      if (const char* kernel = fallbacks[k].load(std::memory_order_relaxed); kernel && !op.has_kernel(key)) {
        op.set_kernel(key, kernel);
      }
    }
    ops.push_back(&op);
    try {
      by_name[op.info.name].push_back(&op);
    } catch (...) {
      ops.pop_back();
      if (const auto found = by_name.find(op.info.name); found != by_name.end() && found->second.empty())
        by_name.erase(found);
      throw;
    }
  }
  // Forgets all operators but the first `count`.
  void shrink(size_t count) noexcept {
    for (; ops.size() > count; ops.pop_back()) {
      const auto found = by_name.find(ops.back()->info.name);
      std::erase(found->second, ops.back());
      if (found->second.empty()) by_name.erase(found);
    }
  }
  Op* find(std::string_view name, std::string_view overload) const {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return nullptr;
    for (Op* op : found->second) {
      if (op->info.overload == overload) return op;
    }
    return nullptr;
  }
};

// Never destroyed: static destructors may still call operators.
Registry& bare_registry() {
  static Registry& registry = *new Registry;
  return registry;
}

// All or none: when there is no memory for it, the next call begins anew.
void register_all() {
  Registry& r = bare_registry();
  const size_t before = r.ops.size();
  try {
    register_generated_ops();
  } catch (...) {
    const std::unique_lock lock(r.mutex);
    r.shrink(before);
    throw;
  }
}

Registry& registry() {
  static Once once;
  once(register_all);
  return bare_registry();
}

// All overloads of a name; none if it is not defined.
std::vector<Op*> known_overloads(std::string_view name) {
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  const auto found = r.by_name.find(name);
  return found == r.by_name.end() ? std::vector<Op*>() : found->second;
}

// The operator is not defined: perhaps an extension that ships with Sconce has it.
bool extension_defines(std::string_view name) {
  if (name.starts_with("aten::") || name.starts_with("prim::")) return false;
  const std::string_view space = name.substr(0, name.find("::") + 2);
  Registry& r = registry();
  {
    const std::shared_lock lock(r.mutex);
    for (const Op* op : r.ops) {
      if (std::string_view(op->info.name).starts_with(space)) return false;
    }
  }
  return load_extension_of(name);
}

}  // namespace

const Op* find_op(std::string_view name, std::string_view overload) {
  Registry& r = registry();
  {
    const std::shared_lock lock(r.mutex);
    if (const Op* op = r.find(name, overload)) return op;
    if (r.by_name.count(name) != 0) return nullptr;
  }
  if (!extension_defines(name)) return nullptr;
  const std::shared_lock lock(r.mutex);
  return r.find(name, overload);
}

const Op* find_op(std::string_view qualified_name) {
  const size_t space = qualified_name.find("::");
  const size_t dot = qualified_name.find('.', space == std::string_view::npos ? 0 : space + 2);
  if (dot == std::string_view::npos) return find_op(qualified_name, "");
  return find_op(qualified_name.substr(0, dot), qualified_name.substr(dot + 1));
}

std::vector<const Op*> find_overloads(std::string_view name) {
  std::vector<Op*> known = known_overloads(name);
  if (known.empty() && extension_defines(name)) known = known_overloads(name);
  return {known.begin(), known.end()};
}

std::vector<const Op*> all_ops() {
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  return {r.ops.begin(), r.ops.end()};
}

void add_ops(std::span<Op> ops) {
  Registry& r = bare_registry();
  const std::unique_lock lock(r.mutex);
  for (Op& op : ops) r.add(op);
}

void order_overloads(std::span<const OverloadOrder> orders) {
  Registry& r = bare_registry();
  const std::unique_lock lock(r.mutex);
  for (const OverloadOrder& order : orders) {
    const auto found = r.by_name.find(order.name);
    if (found == r.by_name.end()) continue;
    std::vector<Op*> left = found->second, sorted;
    const auto take = [&](std::string_view overload) {
      for (Op*& op : left) {
        if (!op || op->info.overload != overload) continue;
        sorted.push_back(op);
        op = nullptr;
      }
    };
    for (size_t at = 0; at < order.overloads.size();) {
      const size_t end = std::min(order.overloads.find(' ', at), order.overloads.size());
      const std::string_view word = order.overloads.substr(at, end - at);
      take(word == "default" ? std::string_view() : word);
      at = end + 1;
    }
    for (Op* op : left) {
      if (op) sorted.push_back(op);
    }
    found->second = std::move(sorted);
  }
}

void add_custom_ops(std::span<std::unique_ptr<CustomOp>> ops) {
  Registry& r = registry();
  const std::unique_lock lock(r.mutex);
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpInfo& info = ops[i]->info;
    bool exists = r.find(info.name, info.overload) != nullptr;
    for (size_t j = 0; j < i; ++j) exists |= ops[j]->qualified_name() == ops[i]->qualified_name();
    SCONCE_CHECK_AS(value, !exists, "operator '{}' is already defined", ops[i]->qualified_name());
  }
  const size_t before = r.ops.size();
  try {
    for (std::unique_ptr<CustomOp>& op : ops) r.add(*op);
  } catch (...) {
    r.shrink(before);
    throw;
  }
  for (std::unique_ptr<CustomOp>& op : ops) static_cast<void>(op.release());  // they stay for ever
}

Op& define_op(std::string_view schema, OpInfo info) {
  std::unique_ptr<CustomOp> op = std::make_unique<CustomOp>(schema, info);
  Op& made = *op;
  add_custom_ops({&op, 1});
  return made;
}

#if defined(__wasm__)
const char* mark_boxed(BoxedKernel kernel) {
  // Not of the heap, whose addresses may have the mark's bit.
  static BoxedKernel cells[4096];
  static size_t used = 0;
  size_t i = 0;
  while (i < used && cells[i] != kernel) ++i;
  SCONCE_CHECK(i < std::size(cells), "more than {} boxed kernels were registered", std::size(cells));
  if (i == used) cells[used++] = kernel;
  return reinterpret_cast<const char*>(reinterpret_cast<intptr_t>(&cells[i]) + kBoxedMark);
}
#else
const char* mark_boxed(BoxedKernel kernel) { return SCONCE_BOXED_KERNEL(kernel); }
#endif

const char* fallback_kernel(Key key) {
  return bare_registry().fallbacks[static_cast<int>(key)].load(std::memory_order_acquire);
}

void set_fallback(Key key, BoxedKernel kernel) {
  Registry& r = registry();
  const std::unique_lock lock(r.mutex);
  const char* marked = kernel ? mark_boxed(kernel) : nullptr;
  const char* before = r.fallbacks[static_cast<int>(key)].exchange(marked, std::memory_order_acq_rel);
  for (Op* op : r.ops) {
    const bool own =
        op->has_kernel(key) && __atomic_load_n(&op->kernels[static_cast<int>(key)], __ATOMIC_ACQUIRE) != before;
    if (!own) op->set_kernel(key, marked);
  }
}

}  // namespace sconce
