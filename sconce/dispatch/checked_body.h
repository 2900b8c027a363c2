// Checked body runtime: the operators of the script language with overflow checks, which shape rules and checks of the
// operator table call (opgen/script.py, CHECKED). Sizes come from programs: a product that wrapped around would let a
// kernel write where there is no memory. Whole numbers are Checked (base/checked.h); lists, tensors and floats are as
// in body_runtime.h.
#pragma once

#include "sconce/base/checked.h"
#include "sconce/dispatch/body_runtime.h"

namespace sconce::body::checked {

template <class A, class B>
concept Whole = std::is_integral_v<A> && std::is_integral_v<B>;

template <class A, class B>
auto add(const A& a, const B& b) {
  if constexpr (Whole<A, B>)
    return static_cast<int64_t>(Checked(a) + Checked(b));
  else
    return body::add(a, b);
}
template <class A, class B>
auto sub(const A& a, const B& b) {
  if constexpr (Whole<A, B>)
    return static_cast<int64_t>(Checked(a) - Checked(b));
  else
    return body::sub(a, b);
}
template <class A, class B>
auto mul(const A& a, const B& b) {
  if constexpr (Whole<A, B>)
    return static_cast<int64_t>(Checked(a) * Checked(b));
  else
    return body::mul(a, b);
}
template <class A>
auto neg(const A& a) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<int64_t>(Checked(0) - Checked(a));
  else
    return body::neg(a);
}

inline int64_t prod(IntList list) {
  Checked product = 1;
  for (const int64_t n : list) product = product * n;
  return product;
}
inline int64_t sum(IntList list) {
  Checked total = 0;
  for (const int64_t n : list) total = total + n;
  return total;
}

}  // namespace sconce::body::checked
