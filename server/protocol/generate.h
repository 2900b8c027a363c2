// Requests and responses of Triton's generate extension: JSON whose members are inputs and outputs by name.
//
//   {"id": "7", "tokens": [1, 2], "left": 10, "parameters": {"max_steps": 5}}
//   {"model_name": "net", "model_version": "1", "tokens": [1, 2, 3], "left": 9, "done": false}
#pragma once

#include <string>
#include <string_view>

#include "sconce/base/function_ref.h"
#include "server/protocol/infer.h"

namespace sconce::server {

// `input_datatype` gives the datatype of an input of this name, "ANY" when it is not known, and nothing for other
// names. A member that is an input is a tensor, and so is every array; where its datatype is not known, that follows
// from the elements: BYTES, BOOL, FP32 with a fraction or an exponent, INT64. Its shape is that of the array; a value
// by itself is a tensor of one element. All other members are parameters. Throws Failure.
InferRequest read_generate_request(std::string_view body,
                                   FunctionRef<std::string_view(const std::string& name)> input_datatype);

// An output of one element is a value, all others are flat arrays. Throws Failure for numbers that JSON does not have.
std::string write_generate_response(const InferResponse& response);

}  // namespace sconce::server
