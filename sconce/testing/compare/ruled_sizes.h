// Checks shape rules: what the table's text says of an operator's sizes (OpEntry::shape), against its results.
#pragma once

#include "sconce/dispatch/op.h"
#include "sconce/testing/compare/compare.h"

namespace sconce::testing {

// The sizes that an operator's results will have, by its rule.
class RuledSizes {
 public:
  // Evaluates the rule, before a call that may change its arguments. Nothing to compare where there is none.
  RuledSizes(const Op& op, std::vector<Value> args);
  // Results that the operator did not make (an output_mask says so) are not compared.
  Difference compare(const std::vector<Value>& returns) const;

 private:
  std::vector<Value> sizes_;  // a List[int] or a List[List[int]] per return
  std::string error_;         // what the rule refused; it must not where the operator does not
};

}  // namespace sconce::testing
