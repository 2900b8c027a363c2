#include "sconce/testing/compare/seen_bits.h"

#include <bit>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>

#include "sconce/tensor/element.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

// FNV-1a, by words instead of bytes.
constexpr uint64_t kStart = 0xcbf29ce484222325, kPrime = 0x100000001b3;
uint64_t seen = kStart;

void add(uint64_t word) { seen = (seen ^ word) * kPrime; }
void add_real(double v) { add(std::isnan(v) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(v)); }

void add_elements(const Tensor& t) {
  for (const int64_t n : t.sizes()) add(static_cast<uint64_t>(n));
  visit_every_dtype(t.dtype(), [&]<class T>() {
    for (const T v : elements<T>(t)) {
      if constexpr (requires { v.imag(); }) {
        add_real(static_cast<double>(v.real()));
        add_real(static_cast<double>(v.imag()));
      } else if constexpr (std::is_integral_v<T>) {
        add(static_cast<uint64_t>(v));
      } else if constexpr (std::is_class_v<T>) {
        add_real(static_cast<double>(to_float(v)));
      } else {
        add_real(static_cast<double>(v));
      }
    }
  });
}

}  // namespace

void note_bits(const Value& result) {
  if (result.is_tensor()) {
    const Tensor& t = result.to_tensor();
    if (t.layout() == Layout::strided && !t.is_meta()) add_elements(t);
  } else if (result.is_double()) {
    add_real(result.to_double());
  } else if (result.is_int()) {
    add(static_cast<uint64_t>(result.to_int()));
  }
}

uint64_t take_bits() { return std::exchange(seen, kStart); }

}  // namespace sconce::testing
