// Code records: the place of a qualifier's code in an archive, `__torch__.torch.nn` is code/__torch__/torch/nn.py.
#pragma once

#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

SCONCE_API std::string code_record(std::string_view qualifier);
// The qualifier of a record; empty for one that holds no code.
SCONCE_API std::string code_qualifier(std::string_view record);

}  // namespace sconce
