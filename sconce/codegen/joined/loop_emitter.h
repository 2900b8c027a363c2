// Emitter: a body to the bytes of a loop (JoinedLoop::Code). Position-independent; constants stand behind the code.
#pragma once

#include <cstdint>
#include <vector>

#include "sconce/codegen/joined/joined_body.h"

namespace sconce::codegen {

// Level 3 or 4. Empty when the body has more operands than there are registers for addresses.
std::vector<uint8_t> emit_loop(const Body& body, int level);

}  // namespace sconce::codegen
