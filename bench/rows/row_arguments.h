// The arguments of a row as its JSON says them (family_rows.h); each tensor has a seed of its own.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sconce/types/value.h"

namespace sconce::bench {

class RowArguments {
 public:
  // The next argument; `type` is the one that is wanted. Throws Error when the JSON is not understood.
  Value read(const nlohmann::json& json, TypePtr type);

 private:
  Tensor tensor(const nlohmann::json& json);

  uint32_t seed_ = 0;
};

}  // namespace sconce::bench
