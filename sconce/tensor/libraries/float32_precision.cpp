#include "sconce/tensor/libraries/float32_precision.h"

#include <atomic>

namespace sconce {
namespace {

std::atomic<MatmulPrecision> of_products = MatmulPrecision::highest;
std::atomic<bool> of_convolutions = false;

}  // namespace

MatmulPrecision matmul_precision() { return of_products.load(std::memory_order_relaxed); }
void set_matmul_precision(MatmulPrecision precision) { of_products.store(precision, std::memory_order_relaxed); }
bool convolution_tf32() { return of_convolutions.load(std::memory_order_relaxed); }
void set_convolution_tf32(bool allowed) { of_convolutions.store(allowed, std::memory_order_relaxed); }

}  // namespace sconce
