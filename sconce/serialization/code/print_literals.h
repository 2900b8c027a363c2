// Literal printer: values as the code of archives writes them, 3, 3., "text", (1, None), torch.device("cpu").
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sconce/types/value.h"

namespace sconce {

// The text of a type, if one is needed: annotate(List[int], []).
using TypeText = std::function<std::string(TypePtr)>;

// Nothing for values without a literal: tensors, objects, text that is not ASCII, and containers of such.
std::optional<std::string> print_literal(const Value& v, const TypeText& type_text);
// In double quotes, with escapes that every reader of archives knows. Bytes above 127 are octal.
std::string print_string(std::string_view text);
std::string print_float(double v);

}  // namespace sconce
