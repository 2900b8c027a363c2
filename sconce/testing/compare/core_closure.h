// Closure under decomposition: the operators that a call ends in when bodies and decompositions are written out until
// only Core ATen, expressions of the table and numbers are left: what lowering can reach, without running it.
#pragma once

#include <set>
#include <unordered_map>

#include "sconce/dispatch/op.h"

namespace sconce::ir {
class Block;
}

namespace sconce::testing {

class CoreClosure {
 public:
  // The operators outside of Core ATen that `op` ends in; none if all of it can be written out. An operator that writes
  // stands for its functional twin.
  const std::set<const Op*>& outside(const Op& op);

 private:
  std::set<const Op*> found(const Op& op);
  void visit(const ir::Block& block, std::set<const Op*>& out);

  std::unordered_map<const Op*, std::set<const Op*>> known_, circles_;
  std::set<const Op*> open_;  // on the way here: one of these again is a circle, which ends in itself
};

// Whether the operator takes or gives tensors, also in lists.
bool has_tensors(const Op& op);
// Whether it gives some. Those that do not ask for facts or numbers, which stay what they are.
bool gives_tensors(const Op& op);
// Whether the table has its arithmetic as expressions.
bool has_expressions(const Op& op);

}  // namespace sconce::testing
