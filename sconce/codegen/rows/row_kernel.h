// Row kernels: a nest with operators over rows (softmax, norms), in stages. Some rows at a time go through all stages
// while they are in cache: the pointwise calls between row operators as nests of their own (tiles or joined loops), the
// row operators by eager's kernels, so that sums have eager's order and results eager's bits.
//
// Values that a later stage reads live in scratch rows. Buffers are written by the last stage alone, since one of them
// may be the same memory as a buffer that is read.
#pragma once

#include "sconce/codegen/maker.h"

namespace sconce::codegen {

bool has_row_calls(const loops::Nest& nest);

// Throws Error where columns are not adjacent in a buffer, or a stage has more buffers than a nest may have.
std::shared_ptr<const Kernel> make_row_kernel(const loops::Nest& nest, Maker maker);

}  // namespace sconce::codegen
