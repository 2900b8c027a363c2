// The order of instances of script classes. Their __lt__ is a script, which only the runtime can run: it says here how.
#pragma once

#include "sconce/types/value.h"

namespace sconce::boxed {

// a < b. Throws Error when the class has no __lt__ for that, and what __lt__ throws.
using ObjectLess = bool (*)(const Value& a, const Value& b);
void set_object_less(ObjectLess less);

}  // namespace sconce::boxed
