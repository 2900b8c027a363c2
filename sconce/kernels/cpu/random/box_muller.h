// Box-Muller transform in float32, bit by bit as PyTorch's vector code computes it.
#pragma once

namespace sconce::rng {

// Turns 16 uniform numbers of [0, 1) into normal ones: values i and i + 8 become a pair. The same bits on every
// machine; processors with AVX2 do eight at a time.
void box_muller(float* block, float mean, float std);

}  // namespace sconce::rng
