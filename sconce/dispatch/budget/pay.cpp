#include "sconce/dispatch/budget/pay.h"

#include <utility>

#include "sconce/base/error.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/budget/op_terms.h"

namespace sconce {
namespace {

constexpr double kCallWork = 64;        // of any call: as long as about this many elements take
constexpr uint64_t kTensorBytes = 320;  // of a small tensor: its header and that of its storage

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

}  // namespace

void pay_for_call(const Op& op, KeySet keys, Value* args, Value* returns) {
  Budget* budget = Budget::active();
  if (!budget) return op.redispatch_boxed(keys - Key::observe, args, returns);
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
    op.redispatch_boxed(keys - Key::observe, args, returns);
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < counts.returns; ++i) bytes += bytes_of(returns[i]);
  if (bytes != 0) budget->take_memory(bytes);
}

InsideOperator::InsideOperator() noexcept { ++depth; }
InsideOperator::~InsideOperator() { --depth; }

CodeOfFile::CodeOfFile() noexcept : depth_(std::exchange(depth, 0)) {}
CodeOfFile::~CodeOfFile() { depth = depth_; }

}  // namespace sconce
