// State dicts for tests: the state of a module by name, parameters, buffers and flags at paths of
// attributes ("body.0.weight").
#pragma once

#include <map>
#include <string>

#include "sconce/types/value.h"

namespace sconce::testing {

// Parameters and buffers that are not None, by path.
std::map<std::string, Tensor> module_state(const Value& module);
// Copies values into the module's own tensors; dtypes and shapes must be equal. A bool tensor sets a flag ("training").
void write_state(const Value& module, const std::string& path, const Tensor& value);
// self.training of the module and all below.
void set_training(const Value& module, bool training);

}  // namespace sconce::testing
