// Lite libraries under test: models run by a libsconce_lite.so that was built for a selection (docs/small.md),
// through its C interface and beside the library that compares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::testing {

class LiteLibrary {
 public:
  // Loads the library and the model. Throws Error with what the library says.
  LiteLibrary(const std::string& library, const std::string& model);
  ~LiteLibrary();
  LiteLibrary(const LiteLibrary&) = delete;

  // Calls forward, without self. Tensors among the results are copies. Throws runtime::ScriptError.
  Value call(const std::vector<Value>& args);

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;
  std::string bytes_;
};

}  // namespace sconce::testing
