// Random numbers of CUDA devices: Backend::random, and the generator of each device.
//
// Philox is a function of seed, thread and counter, so the state of a generator is two numbers, and a kernel needs no
// memory for it. For the same seed the elements are those of PyTorch 2.11 on a GPU with as many multiprocessors: which
// thread draws an element depends on the size of the launch.
#pragma once

#include <cstdint>
#include <string>

#include "sconce/kernels/draw.h"

namespace sconce::cuda {

// Backend::random (tensor/backend.h). Throws Error for a generator of the CPU.
void random(const Tensor& out, const Draw& draw, const Generator& generator);

struct PhiloxState {
  uint64_t seed;
  uint64_t offset;  // words drawn per thread so far, a multiple of 4, as torch.cuda.get_rng_state has it
};
// The default generator of a device. manual_seed (tensor/generator.h) begins all of them anew.
PhiloxState philox_state(Device device);
void set_philox_state(Device device, PhiloxState state);

// Seed and counter for a kernel of its own that takes up to so many counters of each thread's stream.
struct PhiloxDraw {
  uint64_t seed, counter;
};
PhiloxDraw take_counters(Device device, uint64_t counters);
// A permutation of 0 .. numel-1, as torch.randperm draws it (random/sampling.cpp).
void random_permutation(const Tensor& out);

// The source of the kernel for a distribution and a dtype: for tests.
std::string random_text(const Draw& draw, DType dtype);

}  // namespace sconce::cuda
