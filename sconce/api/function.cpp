// jit::Function: a handle on an ir::Function, with its object if it is a method.
#include "sconce/api/jit.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/runtime/planner.h"
#include "sconce/serialization/code/code_printer.h"
#include "sconce/tracing/tracer.h"

namespace sconce::jit {

Function::Function(UnitPtr unit, ir::Function* function, Value self)
    : unit_(std::move(unit)), function_(function), self_(std::move(self)) {}

std::string Function::name() const { return std::string(function_->short_name()); }
std::string Function::qualified_name() const { return function_->name(); }
const Schema& Function::schema() const { return function_->schema(); }
std::string Function::graph() const {
  const std::shared_ptr<ir::Graph> traced = tracing::traced_graph(*function_);
  return (traced ? traced : function_->graph())->to_string();
}
std::string Function::code() const { return print_function(*function_); }

Value Function::call(std::vector<Value> args, NamedValues kwargs) const {
  if (!self_.is_none()) args.insert(args.begin(), self_);
  std::vector<Value> bound = runtime::bind_call(*function_, std::move(args), std::move(kwargs));
  return runtime::run(*function_, bound);
}

bool Function::call_again(const detail::BorrowedValue* args, size_t count, Value& result) const {
  static_assert(sizeof *args == sizeof(Value));
  const size_t first = self_.is_none() ? 1 : 0;
  return runtime::run_again(*function_, {reinterpret_cast<const Value*>(args) + first, count - first}, result);
}

}  // namespace sconce::jit
