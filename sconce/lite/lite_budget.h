// Budgets of lite libraries: of a load, and of a run whose model has limits. They end with the function that made
// them, do not lie in each other, and know neither time nor cancel().
#pragma once

#include "sconce/base/budget.h"

namespace sconce::lite {

// A budget, which is the thread's one for a scope, and which operators pay to.
class OwnBudget {
 public:
  OwnBudget(const Limits& limits, const char* whose);
  ~OwnBudget();
  OwnBudget(const OwnBudget&) = delete;
  Budget* operator->() { return &budget_; }

 private:
  Budget budget_;
};

}  // namespace sconce::lite
