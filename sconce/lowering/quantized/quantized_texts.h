// Legalisation texts: what operators are on quantised tensors, written over the integers (`integers` in ops/*.toml).
#pragma once

#include <string_view>

#include "sconce/dispatch/op.h"

namespace sconce::lowering {

struct QuantizedText {
  std::string_view name;  // "aten::relu", with the overload
  const char* text;
  bool alone;  // the operator makes or takes quantised tensors, or packed weights, and nothing else

  // The operator itself, on the integers of its first argument; its first result has the same scale and zero point.
  bool is_same() const { return std::string_view(text) == "same"; }
};
// Null where the operator has none.
const QuantizedText* quantized_text(const Op& op);

}  // namespace sconce::lowering
