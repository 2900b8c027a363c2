// Tracing in C++: a function's graph from one run of it.
//
//   jit::Function f = jit::trace([](const std::vector<Value>& in) -> Value { return relu(in[0].to_tensor()); }, {x});
//   Tensor y = f(other).to_tensor();
#pragma once

#include <functional>

#include "sconce/api/jit.h"

namespace sconce::jit {

struct TraceSettings {
  std::string name = "traced";                   // of the function
  std::vector<std::string> argument_names = {};  // of all inputs, or none
  bool strict = true;                            // results that are dicts are refused
};

// Calls `f` once with the inputs (tensors, and lists, tuples and dicts of them); what it does with them, operator by
// operator, is the function that this gives. Sizes and other numbers that it computes with are constants there. Tensors
// from elsewhere are, too, and must not require grad. Throws Error when the result depends on nothing recorded.
SCONCE_API Function trace(const std::function<Value(const std::vector<Value>& inputs)>& f, std::vector<Value> inputs,
                          const TraceSettings& settings = {});

}  // namespace sconce::jit
