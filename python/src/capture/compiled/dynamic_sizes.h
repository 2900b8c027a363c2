// Dynamic shapes: which sizes of tensors, and which ints, a compilation leaves free. Sizes are fixed at first; one that
// differs from what an earlier compilation of the same function saw at the same place is free from then on.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "object.h"

namespace sconce::python::capture {

struct CompileConfig;

// Weights keep their sizes: a parameter of another size is another model.
bool is_parameter(PyObject* tensor);

class SizeHistory {
 public:
  // Dimensions that are free, for a tensor reached by `place` ("L['x']"); notes its sizes. 0 and 1 are never free unless
  // mark_dynamic says so, nor are sizes of parameters, whose place is not asked for.
  uint64_t free_dims(const CompileConfig& config, const std::string& place, PyObject* tensor);
  // Is an int or float from there free? Notes its value. `from_start`: dynamic=True means it, too: arguments, but not
  // attributes of objects and globals, which PyTorch takes for constants.
  bool free_number(const CompileConfig& config, const std::string& place, PyObject* number, bool from_start);

 private:
  struct Seen {
    std::vector<int64_t> sizes;
    uint64_t varied = 0;
  };
  std::unordered_map<std::string, Seen> tensors_;
  struct SeenNumber {
    Owned number;
    bool varied = false;
  };
  std::unordered_map<std::string, SeenNumber> numbers_;
};

}  // namespace sconce::python::capture
