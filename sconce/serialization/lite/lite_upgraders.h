// Upgraders: operators of bytecode that meant something else when the archive was written.
//
// Functions in the script language (script/builtins/upgraders), which the front end compiles, repeat what they did
// then. Without a front end an archive that needs one of them is refused.
#pragma once

#include <string_view>

#include "sconce/base/list_ref.h"
#include "sconce/dispatch/op.h"
#include "sconce/ir/function.h"

namespace sconce::lite {

// The function that does what the operator did in archives of this version; null where that is what it does now. The
// front end answers (Note [Connections]); null where there is none.
using FindUpgrader = ir::Function* (*)(const Op& op, int archive_version);
extern const FindUpgrader find_upgrader;

struct UpgradedOperator {
  const char* name;       // "aten::div"
  int last_version;       // of archives in which it meant something else
  const char* arguments;  // their names: "self,other"
};
// One for each function of script/builtins/upgraders (the list is generated).
ListRef<UpgradedOperator> upgraded_operators();

}  // namespace sconce::lite
