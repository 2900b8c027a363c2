// Name lookup in archives: their names mean less than those of programs, `torch` is the operators of aten, `ops` those
// of other namespaces.
#pragma once

#include "sconce/frontend/script/names/missing_use.h"
#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce {

// The format versions of archives that can be read.
inline constexpr int kOldestArchiveVersion = 1, kNewestArchiveVersion = 10;

}  // namespace sconce

namespace sconce::script {

// `torch` or `ops` in an archive of this format version; null for other names. Operators that meant something else in
// old versions are the functions of script/builtins/upgraders/v<last version>.py, if one takes the arguments. `missing`
// must live as long as the value.
SugaredPtr archive_name(const std::string& name, int version, const MissingMessage& missing);
// The first format version in which the operator means what it means now; kOldestArchiveVersion when it always did.
int first_version_of(const Op& op);

}  // namespace sconce::script
