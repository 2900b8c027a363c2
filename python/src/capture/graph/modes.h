// Modes of a thread that a program may change on its way: gradients, inference mode, autocast.
#pragma once

#include <cstdint>

#include "sconce/tensor/dtype.h"

namespace sconce::python::capture {

struct Modes {
  bool grad = true;
  uint64_t inference = 0;  // inference_mode_state()
  bool autocast = false, autocast_cache = true;
  DType autocast_dtype{};
  uint64_t clears = 0;    // of the cache of converted weights by the program so far
  int overrides_off = 0;  // DisableTorchFunctionSubclass: how many are open
  DType default_dtype{};
  bool saves_inference = false;  // transforms of functions keep inference tensors; graphs do not have this mode

  static Modes current();
  void restore() const;
  bool same(const Modes& other) const {
    return grad == other.grad && inference == other.inference && clears == other.clears &&
           overrides_off == other.overrides_off && default_dtype == other.default_dtype && same_autocast(other);
  }
  bool same_autocast(const Modes& other) const {
    return autocast == other.autocast && autocast_cache == other.autocast_cache &&
           autocast_dtype == other.autocast_dtype;
  }
};

// Puts them back at the end of a scope.
class ModesScope {
 public:
  ModesScope() : before_(Modes::current()) {}
  ~ModesScope() { before_.restore(); }
  ModesScope(const ModesScope&) = delete;

 private:
  const Modes before_;
};

}  // namespace sconce::python::capture
