// TileKernel: a nest that runs as a tile program; how it is cut into pieces for threads.
#pragma once

#include "sconce/codegen/maker.h"
#include "sconce/codegen/tiles/tile_program.h"

namespace sconce::codegen {

// Decides what of a graph runs together.
using Scheduler = TileSchedule (*)(const loops::Nest& nest, const TileGraph& graph);

std::shared_ptr<const Kernel> make_tile_kernel(const loops::Nest& nest, Scheduler scheduler);

}  // namespace sconce::codegen
