// Results of several parts: items of tuples and lists by their index.
//
//   const Value result = model(x);                 a Tuple[Tensor, Dict[str, Tensor]]
//   const Tensor boxes = jit::get<Tensor>(result, 0);
//   const auto [scores, names] = jit::from_value<std::tuple<Tensor, std::map<std::string, Tensor>>>(result);
#pragma once

#include "sconce/api/convert.h"

namespace sconce::jit {

// Throws Error: `type` when `v` is neither a tuple nor a list, `index` when there are not so many.
SCONCE_API Value get_item(const Value& v, size_t index);

// The same as a type of C++. Throws Error (type) when it is something else.
template <class T>
T get(const Value& v, size_t index) {
  return from_value<T>(get_item(v, index));
}

}  // namespace sconce::jit
