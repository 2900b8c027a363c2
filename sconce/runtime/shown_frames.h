// Frames of a traceback: places in the source of a program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::runtime {

struct ShownFrame {
  std::string_view function;
  Range at;
};

// The frames of one instruction of a function, outermost first: calls that were inlined, then its own.
void append_frames(std::vector<ShownFrame>& frames, std::string_view function, const Range& at,
                   const ir::InlinedCall* inlined);
// The code that ran, and, where that is an archive's, the code that people wrote.
std::string traceback_of(std::span<const ShownFrame> frames);

}  // namespace sconce::runtime
