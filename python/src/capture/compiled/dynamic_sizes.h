// Dynamic shapes: which sizes of tensors, and which ints, a compilation leaves free. Sizes are fixed at first; one that
// differs from what an earlier compilation of the same function saw at the same place is free from then on.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

struct CompileConfig;

class SizeHistory {
 public:
  // Dimensions that are free, for a tensor reached by `place` ("L['x']"); notes its sizes. 0 and 1 are never free unless
  // mark_dynamic says so, nor are sizes of parameters.
  uint64_t free_dims(const CompileConfig& config, const std::string& place, PyObject* tensor);
  // Is an int from there free? Notes its value.
  bool free_int(const CompileConfig& config, const std::string& place, int64_t value);

 private:
  struct Seen {
    std::vector<int64_t> sizes;
    uint64_t varied = 0;
  };
  std::unordered_map<std::string, Seen> tensors_, ints_;
};

}  // namespace sconce::python::capture
