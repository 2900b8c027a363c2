// Hostile lite archives for a lite library (docs/small.md): any bytes, loaded through the C interface, and run when
// they are accepted, with the library's own allocator, arenas and tasks. Each call twice: the second by the arena's plan.
#pragma once

#include <string_view>

namespace sconce::testing {

// Ends the process where the library says that a mistake is its own; what it refuses is well.
void load_and_run(std::string_view bytes);

}  // namespace sconce::testing
