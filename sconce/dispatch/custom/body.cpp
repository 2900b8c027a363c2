#include "sconce/dispatch/custom/body.h"

#include "sconce/dispatch/binding/match.h"

namespace sconce {
namespace {

// The argument that a return is, by its alias set: (a!) of `f_(Tensor(a!) self) -> Tensor(a!)`.
const Argument* returned_argument(const Schema& schema, const Argument& result) {
  if (!result.alias || !result.alias->write) return nullptr;
  for (const Argument& argument : schema.arguments) {
    if (argument.alias && argument.alias->before == result.alias->before) return &argument;
  }
  return nullptr;
}

void check_return(const Argument& result, const Value& v, Value& out) {
  SCONCE_CHECK_AS(type, convert_value(v, result.type, out), "the body returned {}, the schema says {}",
                  v.is_none() ? std::string("None") : v.type()->to_string(), result.type->to_string());
}

Value run_checked(const Op& op, const Value* args) {
  // A body that calls itself without end would overflow the stack.
  constexpr int kDeepest = 200;
  thread_local int depth = 0;
  struct Count {
    Count() { ++depth; }
    ~Count() { --depth; }
  } count;
  SCONCE_CHECK(depth <= kDeepest, "operators call each other more than {} levels deep", kDeepest);
  SCONCE_CHECK_AS(not_implemented, op.info.texts.body, "{} has no body", op.qualified_name());
  return require_body_runner(op).run_body(op, args);
}

}  // namespace

BodyRunner* body_runner() { return body_runner_source ? body_runner_source() : nullptr; }

void fail_no_front_end(const Op& op) {
  fail_as(ErrorKind::not_implemented,
          "{} is written in the script language, and this program has no front end to compile it: link the whole "
          "library (sconce), not its core",
          op.qualified_name());
}

BodyRunner& require_body_runner(const Op& op) {
  BodyRunner* runner = body_runner();
  if (!runner) fail_no_front_end(op);
  return *runner;
}

void run_body(const Op& op, KeySet, Value* args, Value* returns) {
  const Schema& schema = op.schema();
  const Value result = run_checked(op, args);
  const size_t count = schema.returns.size();
  if (count == 0) return;
  if (result.is_none()) {
    bool all = true;
    for (size_t i = 0; i < count; ++i) {
      const Argument* argument = returned_argument(schema, schema.returns[i]);
      all = all && argument;
      if (argument) returns[i] = args[argument - schema.arguments.data()];
    }
    if (all) return;
  }
  if (count == 1) return check_return(schema.returns[0], result, returns[0]);
  SCONCE_CHECK_AS(type, result.is_tuple() && result.to_tuple().items.size() == count,
                  "the body must return {} values, it returned {}", count,
                  result.is_none() ? std::string("None") : result.type()->to_string());
  for (size_t i = 0; i < count; ++i) check_return(schema.returns[i], result.to_tuple().items[i], returns[i]);
}

}  // namespace sconce
