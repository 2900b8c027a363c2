// A recorded call of an operator: {"op": "aten::add.Tensor", "args": [...], "kwargs": {...}}, bound to a schema.
#pragma once

#include <vector>

#include "sconce/dispatch/op.h"
#include "sconce/testing/conformance/case_file.h"

namespace sconce::testing {

struct RecordedCall {
  const Op* op = nullptr;
  std::vector<Value> args;      // one per argument of the schema
  std::vector<Tensor> tensors;  // of args, as they were recorded: positional arguments, then named ones
};

// Whether the case has op, args and kwargs of the right kinds.
bool is_call(const Json& json);

// tensor_split takes its places from a tensor on the CPU, whatever the device of the tensor that it splits.
bool stays_on_cpu(const Argument& argument);

// Reads the arguments of a call of `op`; every tensor is a fresh copy. The recording names the overload from the call's
// arguments, and sometimes guessed another one than PyTorch took (a tensor of indices for tensor_split.indices): when
// the arguments do not fit it, the overload that fits them is called. `strided`: every tensor is column-major and has
// gaps (to_strided). Throws Error if no overload fits.
RecordedCall bind_call(const Op& op, const Json& json, const SafetensorsFile& tensors, bool strided = false);

// The same call with its tensors on another device, and that device wherever it names one. Arguments that an operator
// wants on the CPU stay there.
RecordedCall on_device(const RecordedCall& call, Device device);

// Calls it; the results as the schema has them.
std::vector<Value> invoke(const RecordedCall& call);

}  // namespace sconce::testing
