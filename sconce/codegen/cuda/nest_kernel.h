// Kernels of loop nests on CUDA devices: see nest_text.h for what they run.
#pragma once

#include <memory>
#include <span>

#include "sconce/codegen/maker.h"
#include "sconce/tensor/device.h"

namespace sconce::cuda {

// Begins to compile it in the background. A nest of one call, one that no kernel of ours can walk, and every nest where
// SCONCE_CODEGEN is off runs op by op through eager's kernels, which are there already or compiled when it runs.
std::shared_ptr<const codegen::Kernel> make_nest_kernel(const loops::Nest& nest, Device device);

// "sigmoid, mul.Tensor, relu": for errors. Lives for ever, as names of operators do.
const char* names_of_calls(std::span<const loops::LoopCall> calls);

}  // namespace sconce::cuda
