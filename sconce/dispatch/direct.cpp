#include "sconce/dispatch/direct.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/registry.h"
#include "sconce/dispatch/tensor_text.h"

namespace sconce {

const Op* record_for(const DirectTerms& terms, KeySet keys, std::initializer_list<const Tensor*> tensors) {
  const uint8_t wanted = static_cast<uint8_t>((keys.has(Key::sparse) ? kTakesSparse : 0) |
                                              (keys.has(Key::quantized) ? kTakesQuantized : 0));
  if ((wanted & ~terms.formats) != 0) {
    if (const Op* op = find_op(terms.name)) return op;
    fail_as(ErrorKind::not_implemented, "{} is not selected for {} tensors", terms.name,
            keys.has(Key::sparse) ? "sparse" : "quantised");
  }
  for (const Tensor* t : tensors) {
    if (!t || !t->defined()) continue;
    SCONCE_CHECK_AS(not_implemented, (limited_set(t->dtype()) & ~terms.dtypes) == 0, "\"{}\" not implemented for '{}'",
                    terms.name, dtype_legacy_name(t->dtype()));
    break;  // others are indices, masks, weights: kernels check them
  }
  return nullptr;
}

void direct_call_failed(Error& error, const DirectTerms& terms, std::initializer_list<const Tensor*> tensors) {
  const std::string_view name = terms.name;
  if (name.starts_with("sconce::")) throw;
  std::string shapes;
  std::string_view names = terms.tensors;
  for (const Tensor* t : tensors) {
    if (!t) continue;
    const size_t end = std::min(names.find(' '), names.size());
    if (!shapes.empty()) shapes += ", ";
    if (end > 0) (shapes += names.substr(0, end)) += ": ";
    names.remove_prefix(std::min(end + 1, names.size()));
    append_tensor_text(shapes, *t);
  }
  error.set_op(name, shapes);
  throw;
}

}  // namespace sconce
