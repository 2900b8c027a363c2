// A library of custom operators, in one file. Build it as a shared library against libsconce and load it:
//
//   sconce::load_library("squareplus.so");
//   Tensor y = sconce::call_op("example::squareplus", {x})[0].to_tensor();
#include <cmath>

#include "sconce/dispatch/library.h"

using namespace sconce;

namespace {

template <class T>
void run(const Tensor& self, double b, const Tensor& out) {
  for (int64_t i = 0; i < self.numel(); ++i) {
    const double x = static_cast<double>(self.data<T>()[i]);
    out.data<T>()[i] = static_cast<T>((x + std::sqrt(x * x + b)) / 2);
  }
}

// The shape and dtype rule; with it alone the operator works on Meta tensors.
Tensor squareplus_meta(const Tensor& self, double b) {
  SCONCE_CHECK(b > 0, "b must be > 0, got {}", b);
  SCONCE_CHECK(self.dtype() == DType::float32 || self.dtype() == DType::float64, "expected float32 or float64, got {}",
               dtype_name(self.dtype()));
  return empty_tensor(self.sizes(), self.dtype(), self.device());
}

Tensor squareplus_cpu(const Tensor& self, double b) {
  SCONCE_CHECK(self.is_contiguous(), "self must be contiguous");
  Tensor out = squareplus_meta(self, b);
  if (self.dtype() == DType::float32) {
    run<float>(self, b, out);
  } else {
    run<double>(self, b, out);
  }
  return out;
}

}  // namespace

SCONCE_LIBRARY(example, m) {
  m.def("squareplus(Tensor self, float b=4.) -> Tensor",
        "A smooth relu. The larger b, the rounder the corner at zero.");
  m.impl("squareplus", Key::cpu, &squareplus_cpu);
  m.meta("squareplus", &squareplus_meta);
  m.derivative("squareplus", "self: grad * result / (2 * result - self)");

  // No kernel: a body over other operators, for every device.
  m.compound("huber_gap(Tensor a, Tensor b) -> Tensor", R"(
    d = (a - b).abs()
    return where(d < 1, d * d / 2, d - 0.5)
  )");
}
