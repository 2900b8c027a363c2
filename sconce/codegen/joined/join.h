// Joined loops: instruction selection for runs of cheap values. Neighbouring arithmetic, comparisons, selections and
// conversions of a tile graph become one loop of machine code, so that values between them stay in registers; heavy
// math (exp, pow) stays the loop that eager has compiled.
//
// Note [Levels of a schedule]
// A cheap value belongs to the run of its level: one more than the highest level of a heavy value that it reads, else
// that of its cheap operands. Heavy values have the highest level of what they read, and run after the cheap ones of
// it. So a chain of cheap, heavy, cheap values is three steps, whatever order the calls came in.
#pragma once

#include "sconce/codegen/tiles/tile_program.h"

namespace sconce::codegen {

// Whether this machine runs joined loops: x86-64 from level 3 on. Elsewhere join leaves every value to its loop.
bool can_join();

TileSchedule join(const loops::Nest& nest, const TileGraph& graph);

}  // namespace sconce::codegen
