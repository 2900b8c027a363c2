// Recorded gradients: computes gradients of recorded calls and compares them with recorded ones.
#pragma once

#include <optional>

#include "sconce/testing/compare/compare_rules.h"
#include "sconce/testing/conformance/recorded_call.h"

namespace sconce::testing {

// Makes leaves that require grad of some tensors of a call (by place in call.tensors). Throws if there is
// no such place.
std::vector<Tensor> require_grads(const RecordedCall& call, const std::vector<size_t>& places);

// A list of places in a case; throws Error if it is not one.
std::vector<size_t> read_places(const Json& json);

// A list of tensors; undefined for null.
std::vector<Tensor> read_tensors(const Json& json, const SafetensorsFile& tensors);

// Compares gradients by the rule of the operator. If none is expected,
// one of zeros is right, too. `what` begins the message.
Difference compare_gradients(Rule rule, const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                             std::string_view what);

// The member `grad` of a case of an operator:
//   {"outputs": [0], "cotangents": [...], "inputs": [0, 1], "grads": [..., null]}
// places among the flattened tensors of the outputs and of the arguments, and the gradients of those outputs
// for these inputs. `call` is fresh: its tensors become leaves of a graph. `expected` are the flattened outputs
// that were recorded.
// `only`: no other input requires grad than this of `inputs`. `device`: where the tensors of the call are.
Difference check_gradients(const RecordedCall& call, const Json& grad, const SafetensorsFile& tensors,
                           const std::vector<Value>& expected, std::optional<size_t> only = std::nullopt,
                           Device device = {});

}  // namespace sconce::testing
