// The DeviceMaker of CUDA devices (codegen/device_maker.h): kernels of nests, graphs, copies.
#pragma once

namespace sconce::cuda {

// Plans are made for tensors of CUDA devices from now on. Throws Error where SCONCE_CUDA_GRAPHS is not on or off.
void connect_maker();

}  // namespace sconce::cuda
