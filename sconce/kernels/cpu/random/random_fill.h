// Sampling helpers: draws from a locked generator, which fill a tensor in memory order.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/tensor.h"

namespace sconce::rng {

// The generator of a call, locked as long as this lives.
class Draws {
 public:
  explicit Draws(const Generator& generator)
      : generator_(generator.defined() ? generator : default_generator()), lock_(generator_.impl()->mutex) {}

  uint32_t word() { return generator_.impl()->random(); }
  uint64_t word64() { return generator_.impl()->random64(); }
  float uniform24() { return static_cast<float>(word() & 0xffffff) * 0x1p-24f; }
  double uniform53() { return static_cast<double>(word64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  GeneratorImpl& generator() { return *generator_.impl(); }
  // Standard normal. Made in pairs; the second one waits in the generator, also for later calls.
  double normal();

 private:
  Generator generator_;
  std::lock_guard<std::mutex> lock_;
};

// Calls `source(out, n)` for the values of the next n elements, until the tensor is full. Values are converted as a
// cast to the tensor's dtype, which must not be complex. Throws Error when elements share memory.
void fill_reals(const Tensor& t, FunctionRef<void(double* out, int64_t n)> source);
void fill_integers(const Tensor& t, FunctionRef<void(int64_t* out, int64_t n)> source);

// The real and imaginary parts of a complex tensor as one more dimension of size 2, sharing memory.
Tensor parts_of_complex(const Tensor& t);

void check_writable(const Tensor& t, std::string_view name);  // no two elements in one place
void check_floating(const Tensor& t, std::string_view name);  // floating dtype, not complex
void check_not_complex(const Tensor& t, std::string_view name);

}  // namespace sconce::rng
