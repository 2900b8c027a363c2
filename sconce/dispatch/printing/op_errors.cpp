#include "sconce/dispatch/printing/op_errors.h"

#include "sconce/dispatch/binding/load_device.h"
#include "sconce/dispatch/printing/tensor_text.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {
namespace {

// "self: float32[3, 4], other: int64[5], alpha=1". A kernel may have moved arguments away: those are left out.
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

}  // namespace

void name_call(Error& error, const Op& op, const Value* args) {
  if (error.op().empty() && !is_internal(op)) error.set_op(op.qualified_name(), describe(op, args));
}

void Op::no_kernel(KeySet keys) const {
  std::string present;
  for (int k = 0; k < kKeys; ++k) {
    const Key key = static_cast<Key>(k);
    // Views and limited dtypes are looked at in every operator, or in none.
    if (!has_kernel(key) || key == Key::view || key == Key::limited || key == Key::math_bits || kFormatKeys.has(key))
      continue;
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
