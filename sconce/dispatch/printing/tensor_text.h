// Tensor descriptions: how error messages show a tensor, float32[3, 4] or None.
#pragma once

#include <string>

#include "sconce/dispatch/op.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

inline void append_tensor_text(std::string& out, const Tensor& t) {
  if (!t.defined()) {
    out += "None";
    return;
  }
  out += dtype_name(t.dtype());
  ErrorArg(t.sizes()).print(out);
}

// Operators of our own inside of PyTorch's: messages name the one that was called.
inline bool is_internal(const Op& op) { return std::string_view(op.info.name).starts_with("sconce::"); }

}  // namespace sconce
