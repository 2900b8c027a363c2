// Tensor descriptions: how error messages show a tensor, float32[3, 4] or None.
#pragma once

#include <string>

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

}  // namespace sconce
