// Kernels of products with few rows and of what follows them; chains of small ones as one kernel.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "sconce/codegen/device_maker.h"

namespace sconce::cuda {

std::shared_ptr<const codegen::Kernel> make_product_kernel(std::span<const codegen::ProductNest> chain, Device device);
bool is_product_chain(std::span<const codegen::ProductNest> chain);
bool is_product_head(const loops::Nest& rows, const codegen::ProductNest& product);

// Sources, for tests. `packed`: addresses are multiples of 16 bytes.
std::string product_nest_text(const codegen::ProductNest& product, bool packed);
std::string chain_text(std::span<const codegen::ProductNest> chain);

}  // namespace sconce::cuda
