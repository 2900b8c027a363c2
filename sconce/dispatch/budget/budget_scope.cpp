#include "sconce/dispatch/budget/budget_scope.h"

#include <mutex>

#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/budget/op_terms.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

constexpr double kCallWork = 64;        // of any call: as long as about this many elements take
constexpr uint64_t kTensorBytes = 320;  // of a small tensor: its header and that of its storage
constexpr Key kKey = Key::observe;
constexpr KeySet kBudget = kKey;  // as bits of the thread's modes

thread_local constinit int depth = 0;  // of InsideOperator

double work_of(const OpTerms& terms, const Value* args, size_t count) {
  if (!terms.work) return kCallWork;
  try {
    return kCallWork + terms.work(args, count);
  } catch (const Error&) {
    return kCallWork;  // the operator itself says better what is wrong with the arguments
  }
}

uint64_t bytes_of(const Value& v) {
  if (v.is_tensor()) return kTensorBytes;
  if (v.is_string()) return v.to_string_ref().size();
  if (v.is_dict()) return v.to_dict().size() * 4 * sizeof(Value);
  if (!v.is_list()) return 0;
  const List& list = v.to_list();
  return list.size() * (list.is_tensors() ? kTensorBytes : sizeof(Value));
}

void pay(const Op& op, KeySet keys, Value* args, Value* returns) {
  Budget* budget = Budget::active();
  if (!budget) return op.redispatch_boxed(keys - kKey, args, returns);
  const OpTerms& terms = terms_of(op);
  if (depth == 0 && budget->is_for_loading_only() && !terms.loads) {
    fail(
        "{} may not be called while a file is loaded: only operators that copy, view, pack or make tensors may. Load "
        "the file with trust (jit::LoadSettings::trust, SCONCE_LOAD_TRUST, --trust) if you know where it comes from",
        op.qualified_name());
  }
  const OpCounts counts = counts_of(op);
  budget->poll();
  budget->take_work(work_of(terms, args, counts.arguments));
  {
    const InsideOperator inside;
    op.redispatch_boxed(keys - kKey, args, returns);
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < counts.returns; ++i) bytes += bytes_of(returns[i]);
  if (bytes != 0) budget->take_memory(bytes);
}

// An observer may have taken the key for itself since.
void make_operators_pay() {
  static std::mutex mutex;
  if (const char* there = fallback_kernel(kKey); there && boxed_kernel(there) == pay) return;
  const std::lock_guard lock(mutex);
  set_fallback(kKey, pay);
}

}  // namespace

InsideOperator::InsideOperator() noexcept { ++depth; }
InsideOperator::~InsideOperator() { --depth; }

BudgetScope::BudgetScope(std::shared_ptr<Budget> budget)
    : budget_(std::move(budget)), active_(budget_.get()), include_(thread_modes.include & kBudget.bits()) {
  if (budget_) make_operators_pay();
  thread_modes.include =
      static_cast<uint16_t>((thread_modes.include & ~kBudget.bits()) | (budget_ ? kBudget.bits() : 0));
}

BudgetScope::~BudgetScope() {
  thread_modes.include = static_cast<uint16_t>((thread_modes.include & ~kBudget.bits()) | include_);
}

}  // namespace sconce
