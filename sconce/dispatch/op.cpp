#include "sconce/dispatch/op.h"

#include <algorithm>

#include "sconce/dispatch/argument_keys.h"
#include "sconce/dispatch/binding/load_device.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/records/op_family.h"
#include "sconce/dispatch/registry.h"
#include "sconce/dispatch/tensor_text.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {
namespace {

// "self: float32[3, 4], other: int64[5], alpha=1". A kernel may have moved arguments away: those are left out.
#ifdef SCONCE_SMALL  // which has no schemas of most operators
std::string_view describe(const Op&, const Value*) { return {}; }
#else
std::string describe(const Op& op, const Value* args) {
  const Schema& schema = op.schema();
  std::string out;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    const Value& v = args[i];
    if (v.is_none() && !is_subtype(none_type(), argument.type)) continue;
    if (!out.empty()) out += ", ";
    out += argument.name;
    if (v.is_tensor()) {
      out += ": ";
      append_tensor_text(out, v.to_tensor());
    } else if (v.is_list() && v.to_list().is_tensors()) {
      out += ": [";
      for (const Tensor& t : v.to_list().tensors()) {
        if (out.back() != '[') out += ", ";
        append_tensor_text(out, t);
      }
      out += "]";
    } else {
      std::string text = v.is_device() ? to_string(v.to_device()) : v.is_object() ? v.type()->to_string() : v.repr();
      constexpr size_t kLongest = 80;
      if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
      out += "=" + text;
    }
  }
  return out;
}
#endif

}  // namespace

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
    if (error.op().empty() && !is_internal(*this)) error.set_op(qualified_name(), describe(*this, args));
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

void Op::no_kernel(KeySet keys) const {
  std::string present;
  for (int k = 0; k < kKeys; ++k) {
    const Key key = static_cast<Key>(k);
    // Views and limited dtypes are looked at in every operator, or in none.
    if (!has_kernel(key) || key == Key::view || key == Key::limited || kFormatKeys.has(key)) continue;
    if (kernels[k] == fallback_kernel(key)) continue;  // a device's refusal, or what watches every operator
    if (kernels[k] == SCONCE_BOXED_KERNEL(load_device)) continue;
    if (!present.empty()) present += ", ";
    present += key_name(key);
  }
  const int wanted = (keys & kBackendKeys).highest();
  if (present.empty()) fail_as(ErrorKind::not_implemented, "{}: has no kernel at all", qualified_name());
  std::string why;
  if (wanted == static_cast<int>(Key::cuda)) why = why_no_backend(DeviceType::cuda);
  fail_as(ErrorKind::not_implemented,
          why.empty() ? "{}: no kernel for {}{}; there are kernels for {}"
                      : "{}: no kernel for {} ({}); there are kernels for {}",
          qualified_name(), wanted < 0 ? "a call without a backend" : key_name(static_cast<Key>(wanted)), why, present);
}

}  // namespace sconce
