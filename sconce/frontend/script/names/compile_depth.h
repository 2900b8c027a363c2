// CompileDepth: a recursion guard. A callee is compiled inside its caller, and a class is declared inside the one that
// needs it, so a long chain of them needs a deep stack. One lives on the stack for each link of a chain.
#pragma once

#include <cstddef>

namespace sconce::script {

class CompileDepth {
 public:
  CompileDepth();
  ~CompileDepth();
  CompileDepth(const CompileDepth&) = delete;
  // Whether more of the stack is used than is safe. The rest is enough for the innermost function, whose nesting
  // the emitter limits.
  bool too_deep() const;

 private:
  const bool outermost_;
};

}  // namespace sconce::script
