// BudgetScope: work limits. Inside the scope this thread's calls have a budget, and every operator pays for its work
// before it begins.
//
// Note [Operators pay]
// The scope adds Key::observe to the keys of every call of the thread. Its kernel, one boxed function for all
// operators, looks at time and at the cancel flag, takes what OpTerms::work says from the budget, and passes the call
// on. Without a budget there is no such key, and a call is what it was. Compounds pay nothing themselves: the
// operators that they call do.
#pragma once

#include "sconce/base/budget.h"
#include "sconce/tensor/key_set.h"

namespace sconce {

class SCONCE_API BudgetScope {
 public:
  // Null: there are no limits inside, whatever there is outside.
  explicit BudgetScope(std::shared_ptr<Budget> budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;

 private:
  const std::shared_ptr<Budget> budget_;
  const ActiveBudget active_;
  const uint16_t include_;
};

// What an operator or a method of a C++ class calls has been allowed with it: inside this scope, a budget for loading
// only (Budget::allow_loading_only) lets every operator pass. They pay all the same.
class InsideOperator {
 public:
  InsideOperator() noexcept;
  ~InsideOperator();
  InsideOperator(const InsideOperator&) = delete;
};

}  // namespace sconce
