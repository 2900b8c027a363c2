// WarningsGuard: while it lives, code of C that warns fails with the warning as exception, before anything has noted that it
// was given. A warning is an effect that cannot be repeated later: the call breaks the graph, and Python makes it.
#pragma once

#include "object.h"

namespace sconce::python::capture {

class WarningsGuard {
 public:
  WarningsGuard();
  ~WarningsGuard();
  WarningsGuard(const WarningsGuard&) = delete;

 private:
  Owned filters_;  // the list that the filter was put into; null: none is there
};

}  // namespace sconce::python::capture
