// Strength reduction of batch norms: with constant statistics one is a multiplication and an addition per element, with
// numbers of the channel that are computed once.
#pragma once

#include "sconce/executor/tape.h"

namespace sconce::executor {

// Batch norms for inference whose parameters are constants become x * scale + shift (addcmul), which fuses as other
// pointwise operators do; 16-bit floats of devices are float32 there, and converted behind it. Scale and shift are
// eager's, so the bits are. They are new constants of the tape; `sources` gets the blocks that they were made of.
void expand_channel_norms(Tape& tape, std::vector<BlockId>& sources);

}  // namespace sconce::executor
