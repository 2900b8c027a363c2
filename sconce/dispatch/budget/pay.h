// What operators pay under a budget: the kernel of Key::observe, which BudgetScope adds to the keys of calls (Note
// [Operators pay] in budget_scope.h).
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce {

// Takes what the call needs from the thread's budget, if it has one, and passes it on. Throws Error.
void pay_for_call(const Op& op, KeySet keys, Value* args, Value* returns);

// Code of a file that runs in this scope may call what a budget for loading only allows, whatever called it; see
// InsideOperator.
class CodeOfFile {
 public:
  CodeOfFile() noexcept;
  ~CodeOfFile();
  CodeOfFile(const CodeOfFile&) = delete;

 private:
  const int depth_;
};

}  // namespace sconce
