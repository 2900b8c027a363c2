// Operator aliases: operators with several names (torch.absolute is torch.abs), from the column `alias` of
// the operator table.
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

// The canonical name ("aten::abs") of an alias ("aten::absolute"); empty if the name is not an alias.
SCONCE_API std::string_view canonical_name(std::string_view name);

}  // namespace sconce
