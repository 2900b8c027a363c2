#include "sconce/dispatch/op.h"

#include <algorithm>

#include "sconce/dispatch/argument_keys.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/printing/op_errors.h"
#include "sconce/dispatch/records/op_family.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/backend.h"

namespace sconce {

KeySet argument_keys(const Op& op, const Value* args, size_t count) {
  KeySet keys;
  const Value* device = nullptr;
  for (const Value* v = args; v != args + count; ++v) {
    if (v->is_tensor()) {
      keys |= v->to_tensor().keys();
    } else if (v->is_list()) {
      if (!v->to_list().is_tensors()) continue;
      for (const Tensor& t : v->to_list().tensors()) {
        if (t.defined()) keys |= t.keys();
      }
    } else if (v->is_device() && !device) {
      device = v;
    }
  }
  if (!keys.empty()) return keys;
  if (!device || !counts_of(op).makes_tensor) return Key::cpu;
  find_backend(
      device->to_device().type);  // the first tensor of a device may be made by an operator: see backend_library.h
  return backend_key(device->to_device().type);
}

const Schema& Op::schema() const {
  if (const Schema* known = __atomic_load_n(&parsed, __ATOMIC_ACQUIRE)) return *known;
  const Schema* mine = new Schema(parse_schema(schema_text()));
  const Schema* expected = nullptr;
  if (__atomic_compare_exchange_n(&parsed, &expected, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return *mine;
  delete mine;  // another thread was first
  return *expected;
}

const char* Op::schema_text() const {
  if (family) family->unpack(*family->schemas);
  return info.schema;
}

const OpTexts& Op::texts() const {
  if (family) family->unpack(*family->texts);
  return info.texts;
}

std::string Op::origin() const {
  if (!family) return info.texts.origin ? info.texts.origin : "";
  return std::string(family->file) + ":" + std::to_string(family->records[this - family->ops].line);
}

std::string Op::qualified_name() const {
  std::string name = info.name;
  if (info.overload[0]) (name += ".") += info.overload;
  return name;
}

void Op::call_boxed(Value* args, Value* returns) const {
  redispatch_boxed(active_keys(argument_keys(*this, args, counts_of(*this).arguments)), args, returns);
}

void Op::redispatch_boxed(KeySet keys, Value* args, Value* returns) const {
  const char* kernel = kernel_for(*this, keys);
  try {
    if (is_boxed(kernel)) {
      boxed_kernel(kernel)(*this, keys, args, returns);
    } else {
      SCONCE_ASSERT(box != nullptr);
      box(kernel, keys, args, returns);
    }
  } catch (Error& error) {
    name_call(error, *this, args);
    throw;
  }
}

const char* Op::set_kernel(Key key, const char* kernel) {
  const int slot = static_cast<int>(key);
  const uint16_t bit = KeySet(key).bits();
  const char* before = keys_with_kernel().has(key) ? __atomic_load_n(&kernels[slot], __ATOMIC_ACQUIRE) : nullptr;
  if (!kernel) kernel = fallback_kernel(key);
  if (kernel) {
    __atomic_store_n(&kernels[slot], kernel, __ATOMIC_RELEASE);
    __atomic_fetch_or(&mask, bit, __ATOMIC_RELEASE);
  } else {
    // The address stays: a call that has read the mask may be about to use it.
    __atomic_fetch_and(&mask, static_cast<uint16_t>(~bit), __ATOMIC_RELEASE);
  }
  return before;
}

}  // namespace sconce
