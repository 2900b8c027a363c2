// Planner: keeps the plans of each function, finds the one for a call, and makes new ones.
//
// The first call of a signature is interpreted, the second is recorded while it is interpreted, all others run by the
// plan that was made of the recording. What cannot be recorded stays with the interpreter; SCONCE_LOGS=plans says why.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/ir/function.h"
#include "sconce/runtime/planner.h"

namespace sconce::executor {

class Plan;

extern const runtime::Planner planner;

// Whether functions run by plans: on, unless the environment says SCONCE_PLANS=off. Throws Error for another word than
// on and off.
SCONCE_API bool plans_enabled();
SCONCE_API void set_plans_enabled(bool on);

// A plan, for people.
struct StepText {
  std::string text;     // a line or more
  double work = 0;      // multiplications of a product or a convolution; 0: not known
  double seconds = -1;  // the least of the calls that were timed; -1: none was
};
struct PlanText {
  size_t steps = 0, guards = 0, arena_bytes = 0;
  uint64_t runs = 0;
  std::string text;
  std::vector<StepText> list;  // of steps
};
// The plans that a function has, the newest last; and why the last recording gave none (empty: it did).
SCONCE_API std::vector<PlanText> plans_of(ir::Function& function, std::string* why = nullptr);
// Makes plans at once: while it exists, a function that this thread calls is planned at its first call already.
struct PlanRequest {
  // The backend of the function's plans from now on, in place of the chosen one; empty: the chosen one.
  std::string backend;
  // For each function that was called, in their order: its plan, or why there is none.
  struct Outcome {
    std::string function;
    bool planned = false;
    PlanText plan;
    std::string why;
    size_t given_back = 0;  // bytes of weights that the plan has packed
  };
  std::vector<Outcome> outcomes;
};
class SCONCE_API PlanNow {
 public:
  explicit PlanNow(PlanRequest& request);
  ~PlanNow();
  PlanNow(const PlanNow&) = delete;

 private:
  PlanRequest* outer_;
};
// Forgets them.
SCONCE_API void drop_plans(ir::Function& function);

// While one lives, calls of plans take the time of each step. For the whole process, one at a time.
class SCONCE_API StepTiming {
 public:
  StepTiming();
  ~StepTiming();
  StepTiming(const StepTiming&) = delete;
};

// Ahead-of-time plans: gives a function one before its first call, for arguments of the kind of `args`, whatever the
// gradient mode is. Not while another thread calls the function.
void give_plan(ir::Function& function, std::span<const Value> args, std::shared_ptr<const Plan> plan);

}  // namespace sconce::executor
