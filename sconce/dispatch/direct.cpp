#include "sconce/dispatch/direct.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/printing/tensor_text.h"
#include "sconce/dispatch/registry.h"

namespace sconce {

namespace {

const Tensor& tensor_of(const void* argument) { return *static_cast<const Tensor*>(argument); }

bool is_tensor(DirectArgument kind) {
  return kind == DirectArgument::tensor || kind == DirectArgument::optional_tensor;
}

KeySet device_keys(const DirectCall& call) {
  for (size_t i = 0; i < call.count; ++i) {
    if (call.kinds[i] == DirectArgument::device) return keys_of(*static_cast<const Device*>(call.arguments[i]));
    if (call.kinds[i] == DirectArgument::optional_device)
      return keys_of(*static_cast<const std::optional<Device>*>(call.arguments[i]));
  }
  return Key::cpu;
}

// Of the tensors; where there are none, of the first device.
KeySet keys_of_all(const DirectCall& call) {
  KeySet keys;
  bool has_tensors = false, has_optional = false;
  for (size_t i = 0; i < call.count; ++i) {
    const void* argument = call.arguments[i];
    if (call.kinds[i] == DirectArgument::tensor) {
      keys |= keys_of(tensor_of(argument));
      has_tensors = true;
    } else if (call.kinds[i] == DirectArgument::optional_tensor) {
      keys |= keys_of_optional(tensor_of(argument));
      has_optional = true;
    } else if (call.kinds[i] == DirectArgument::tensors) {
      keys |= keys_of(*static_cast<const TensorList*>(argument));
      has_optional = true;
    }
  }
  return has_tensors ? keys : has_optional ? or_cpu(keys) : device_keys(call);
}

// The record to call instead of the kernel, for keys with a format or a limited dtype; null: the kernel takes them.
// Throws Error: it does not, and no record was selected that does.
SCONCE_COLD const Op* record_for(const DirectCall& call, KeySet keys) {
  const DirectTerms& terms = call.terms;
  const uint8_t wanted = static_cast<uint8_t>((keys.has(Key::sparse) ? kTakesSparse : 0) |
                                              (keys.has(Key::quantized) ? kTakesQuantized : 0));
  if ((wanted & ~terms.formats) != 0) {
    if (const Op* op = find_op(terms.name)) return op;
    fail_as(ErrorKind::not_implemented, "{} is not selected for {} tensors", terms.name,
            keys.has(Key::sparse) ? "sparse" : "quantised");
  }
  for (size_t i = 0; i < call.count; ++i) {
    if (!is_tensor(call.kinds[i]) || !tensor_of(call.arguments[i]).defined()) continue;
    const DType dtype = tensor_of(call.arguments[i]).dtype();
    SCONCE_CHECK_AS(not_implemented, (limited_set(dtype) & ~terms.dtypes) == 0, "\"{}\" not implemented for '{}'",
                    terms.name, dtype_legacy_name(dtype));
    break;  // others are indices, masks, weights: kernels check them
  }
  return nullptr;
}

[[noreturn]] SCONCE_COLD void direct_call_failed(Error& error, const DirectCall& call) {
  const std::string_view name = call.terms.name;
  if (name.starts_with("sconce::")) throw;
  std::string shapes;
  std::string_view names = call.terms.tensors;
  for (size_t i = 0; i < call.count; ++i) {
    if (!is_tensor(call.kinds[i])) continue;
    const size_t end = std::min(names.find(' '), names.size());
    if (!shapes.empty()) shapes += ", ";
    if (end > 0) (shapes += names.substr(0, end)) += ": ";
    names.remove_prefix(std::min(end + 1, names.size()));
    append_tensor_text(shapes, tensor_of(call.arguments[i]));
  }
  error.set_op(name, shapes);
  throw;
}

}  // namespace

void call_direct(const DirectCall& call, void* result) try {
  constexpr KeySet kLookedAt = kFormatKeys | KeySet(Key::limited);
  KeySet keys = keys_of_all(call) - KeySet(Key::autograd);
  const void* kernel = call.kernel;
  if (!(keys & kLookedAt).empty()) [[unlikely]] {
    if (const Op* op = record_for(call, keys)) {
      keys = active_keys(keys);
      const char* own = kernel_for(*op, keys);
      if (is_boxed(own)) op->no_kernel(keys);  // such kernels are typed: this one refuses the device
      kernel = own;
    }
  }
  call.thunk(kernel, keys, call.arguments, result);
} catch (Error& error) {
  direct_call_failed(error, call);
}

}  // namespace sconce
