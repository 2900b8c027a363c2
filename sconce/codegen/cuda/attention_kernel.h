// Kernels of attention over one query, as of a decoder's step: scores, what makes weights of them, values, in one
// launch.
#pragma once

#include <memory>
#include <string>

#include "sconce/codegen/device_maker.h"

namespace sconce::cuda {

std::shared_ptr<const codegen::Kernel> make_attention_kernel(const codegen::AttentionNest& attention, Device device);
bool is_attention(const codegen::AttentionNest& attention);

}  // namespace sconce::cuda
