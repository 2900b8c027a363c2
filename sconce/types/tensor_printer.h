// Tensor printing in small libraries (SCONCE_SMALL, docs/small.md): only where an operator was selected that makes
// texts of values. Elsewhere a tensor in a message is its dtype and sizes.
#pragma once

#include <string>

#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

using TensorPrinter = std::string (*)(const Tensor& t);
#ifdef SCONCE_SMALL
extern const TensorPrinter repr_printer, text_printer;  // null: not selected
#endif

std::string tensor_table(const Tensor& t);  // as script_text() has it

inline std::string tensor_summary(const Tensor& t) {
  std::string out = "tensor(" + std::string(dtype_name(t.dtype()));
  ErrorArg(t.sizes()).print(out);
  return out + ")";
}

}  // namespace sconce
