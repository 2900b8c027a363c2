// Argument binding: positional and keyword arguments arranged as a schema wants them.
#include <algorithm>

#include "sconce/dispatch/binding/match.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

std::string describe_call(const std::vector<Value>& args, const std::vector<NamedValue>& kwargs) {
  std::string out = "(";
  const auto add = [&](const std::string& prefix, const Value& v) {
    if (out.size() > 1) out += ", ";
    out += prefix + (v.is_none() ? "None" : v.type()->to_string());
  };
  for (const Value& v : args) add("", v);
  for (const NamedValue& kwarg : kwargs) add(kwarg.first + "=", kwarg.second);
  return out + ")";
}

// A dtype is an int, so this overload would take x.view(6): TorchScript never considers it.
bool is_candidate(const Op& op) {
  return std::string_view(op.info.overload) != "dtype" || std::string_view(op.info.name) != "aten::view";
}

[[noreturn]] SCONCE_COLD void no_overload(std::string_view name, const std::vector<const Op*>& candidates,
                                          const std::vector<Value>& args, const std::vector<NamedValue>& kwargs) {
  std::string message = format_message("{}: no overload takes {}", {name, describe_call(args, kwargs)});
  std::vector<Value> bound;
  for (const Op* op : candidates) {
    std::string reason;
    match_arguments(op->schema(), args, kwargs, true, bound, &reason);
    message += "\n  " + op->schema().to_string() + ": " + reason;
  }
  throw Error(ErrorKind::type, std::move(message));
}

const Op& resolve(std::string_view name, const std::vector<Value>& args, const std::vector<NamedValue>& kwargs,
                  std::vector<Value>& bound) {
  std::vector<const Op*> candidates = find_overloads(name);
  if (candidates.empty()) fail_as(ErrorKind::not_implemented, "there is no operator '{}'", name);
  std::erase_if(candidates, [](const Op* op) { return !is_candidate(*op); });
  for (const bool convert : {false, true}) {
    if (!convert && candidates.size() == 1) continue;
    for (const Op* op : candidates) {
      if (match_arguments(op->schema(), args, kwargs, convert, bound, nullptr)) return *op;
    }
  }
  no_overload(name, candidates, args, kwargs);
}

}  // namespace

std::vector<Value> bind_arguments(const Schema& schema, const std::vector<Value>& args,
                                  const std::vector<NamedValue>& kwargs) {
  std::vector<Value> bound;
  std::string reason;
  if (!match_arguments(schema, args, kwargs, true, bound, &reason)) {
    fail_as(ErrorKind::type, "{}: {}; the schema is {}", schema.qualified_name(), reason, schema.to_string());
  }
  return bound;
}

const Op& resolve_overload(std::string_view name, const std::vector<Value>& args,
                           const std::vector<NamedValue>& kwargs) {
  std::vector<Value> bound;
  return resolve(name, args, kwargs, bound);
}

ResolvedCall resolve_call(std::string_view name, const std::vector<Value>& args,
                          const std::vector<NamedValue>& kwargs) {
  ResolvedCall call;
  const size_t space = name.find("::");
  if (name.find('.', space == std::string_view::npos ? 0 : space) == std::string_view::npos) {
    call.op = &resolve(name, args, kwargs, call.args);
  } else {
    call.op = find_op(name);
    if (!call.op) fail_as(ErrorKind::not_implemented, "there is no operator '{}'", name);
    call.args = bind_arguments(call.op->schema(), args, kwargs);
  }
  const Schema& schema = call.op->schema();
  SCONCE_CHECK_AS(not_implemented, !schema.is_varret, "{} cannot be called by name: {}", schema.qualified_name(),
                  schema.to_string());
  return call;
}

std::vector<Value> call_op(std::string_view name, const std::vector<Value>& args,
                           const std::vector<NamedValue>& kwargs) {
  ResolvedCall call = resolve_call(name, args, kwargs);
  std::vector<Value> returns(call.op->schema().returns.size());
  call.op->call_boxed(call.args.data(), returns.data());
  return returns;
}

}  // namespace sconce
