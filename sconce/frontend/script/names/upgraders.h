// Upgraders: functions of script/builtins/upgraders that repeat what operators did in archives
// of old format versions.
#pragma once

#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"
#include "sconce/ir/function.h"

namespace sconce::script {

// The last format versions in which some operator meant something else, the newest first.
const std::vector<int>& upgraded_versions();
// The functions that do what `torch.<name>` did up to that version.
std::vector<ir::Function*> upgraders_of(int version, std::string_view name);
// The functions for `torch.<name>` in an archive of this version, to be tried in order; empty when its meaning
// has not changed.
std::vector<ir::Function*> find_upgraders(std::string_view name, int version);
// The one for an overload, compiled: its arguments have the operator's names and types, which may be optional now. Null
// when there is none.
ir::Function* find_upgrader(const Op& op, int version);

}  // namespace sconce::script
