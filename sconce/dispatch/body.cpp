#include "sconce/dispatch/body.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sconce/dispatch/body_program.h"
#include "sconce/dispatch/body_run.h"
#include "sconce/dispatch/match.h"

namespace sconce {
Body::Body(std::string_view text, std::string_view space, int first_line, int first_column)
    : program_(std::make_unique<body::Program>(body::parse(text, space, first_line, first_column))) {}
Body::Body(Body&&) noexcept = default;
Body::~Body() = default;

Value Body::run(const std::vector<std::string_view>& names, const Value* values) const {
  // A body that calls itself without end would overflow the stack.
  constexpr int kDeepest = 200;
  thread_local int depth = 0;
  struct Count {
    Count() { ++depth; }
    ~Count() { --depth; }
  } count;
  SCONCE_CHECK(depth <= kDeepest, "operators call each other more than {} levels deep", kDeepest);
  return body::run(*program_, names, values);
}

std::vector<std::string> Body::free_names() const { return body::free_names(*program_); }

const Body& body_of(const Op& op) {
  static std::shared_mutex& mutex = *new std::shared_mutex;
  static auto& bodies = *new std::unordered_map<const Op*, Body>;
  {
    const std::shared_lock lock(mutex);
    if (const auto found = bodies.find(&op); found != bodies.end()) return found->second;
  }
  SCONCE_CHECK_AS(not_implemented, op.info.body, "{} has no body", op.qualified_name());
  const std::string_view name = op.info.name;
  Body made(op.info.body, name.substr(0, name.find("::")));
  const std::unique_lock lock(mutex);
  return bodies.try_emplace(&op, std::move(made)).first->second;
}

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

}  // namespace

void run_body(const Op& op, KeySet, Value* args, Value* returns) {
  const Body& body = body_of(op);
  const Schema& schema = op.schema();
  std::vector<std::string_view> names;
  names.reserve(schema.arguments.size());
  for (const Argument& argument : schema.arguments) names.push_back(argument.name);
  const Value result = body.run(names, args);
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
