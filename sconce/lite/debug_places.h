// Places of an archive: its debug records, for libraries whose errors name lines (docs/small.md, `places yes`).
#pragma once

#include "sconce/lite/stack_machine.h"

namespace sconce {
class Records;
}

namespace sconce::lite {

// Null when the archive has no debug records, or broken ones.
std::unique_ptr<Places> read_archive_places(const Records& records, const StackProgram& program);

}  // namespace sconce::lite
