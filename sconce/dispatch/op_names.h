// Operators that have several names: torch.absolute is torch.abs. From the column `alias` of the operator table.
#pragma once

#include <span>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

struct OpAlias {
  std::string_view name, canonical;  // "aten::absolute", "aten::abs"
};

// Generated: all of them, sorted by name.
std::span<const OpAlias> op_aliases();

// The name that "aten::absolute" is another for ("aten::abs"); empty when it is none.
SCONCE_API std::string_view canonical_name(std::string_view name);

}  // namespace sconce
