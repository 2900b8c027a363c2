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

// The last version of archives in which the operator with these arguments, " aten::gelu(self,out)" with a space in
// front, meant something else; 0: there is none. Of the functions of script/builtins/upgraders (the list is generated).
int upgraded_until(std::string_view signature);

}  // namespace sconce::lite
