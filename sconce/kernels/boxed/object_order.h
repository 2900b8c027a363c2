// The order of instances of script classes: their __lt__ is a script, which only the runtime can run.
#pragma once

#include "sconce/types/value.h"

namespace sconce::boxed {

// a < b. Throws Error when the class has no __lt__ for that; an error of __lt__ passes through. The interpreter answers
// (Note [Connections]); null where there is none.
using ObjectLess = bool (*)(const Value& a, const Value& b);
extern const ObjectLess object_less;

}  // namespace sconce::boxed
