// Loop calls of devices: which nodes of a tape may be part of a nest that a DeviceMaker makes a kernel of.
#pragma once

#include <memory>
#include <vector>

#include "sconce/codegen/device_maker.h"
#include "sconce/executor/tape.h"

namespace sconce::executor {

// Pointwise operators, conversions of dtypes, softmax and norms over rows, all over tensors of the tape's device; null
// for other nodes. What a call reads is node.pointwise->inputs afterwards. `users` and `leaves` are by value.
std::unique_ptr<loops::LoopCall> device_loop_call(const Tape& tape, TapeNode& node, const codegen::DeviceMaker& maker,
                                                  const std::vector<Numbers>& users, const std::vector<bool>& leaves);

}  // namespace sconce::executor
