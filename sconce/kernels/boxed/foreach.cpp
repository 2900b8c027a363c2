// aten::_foreach_add(Tensor[] self, ...) and its kin: the operator after "_foreach_" on the i-th items of all lists.
// Arguments that are not lists are the same for every call.
#include "sconce/kernels/boxed/foreach.h"

#include <algorithm>

#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/foreach_kernels.h"

namespace sconce::boxed {
namespace {

constexpr std::string_view kPrefix = "aten::_foreach_";

// The operators that have another name, or none at all, for single tensors.
std::string target_of(const Op& op) {
  std::string name = "aten::" + std::string(op.info.name).substr(kPrefix.size());
  const auto is = [&](std::string_view base) { return name == base || name == std::string(base) + "_"; };
  const char* end = name.ends_with('_') ? "_" : "";
  if (is("aten::maximum")) return std::string("aten::clamp_min") + end;  // they take numbers too
  if (is("aten::minimum")) return std::string("aten::clamp_max") + end;
  if (name == "aten::zero") return "aten::zeros_like";
  if (name == "aten::norm") return "aten::linalg_vector_norm";
  return name;
}

// Sum of abs(t) ** ord.
Value powsum(const Value& t, const Value& ord, const Value& dtype) {
  const Value size = call_op("aten::abs", {t})[0];
  return call_op("aten::sum", {call_op("aten::pow", {size, ord})[0]}, {{"dtype", dtype}})[0];
}

size_t checked_length(const Schema& schema, const Value* args) {
  std::optional<size_t> length;
  for (size_t a = 0; a < schema.arguments.size(); ++a) {
    if (!args[a].is_list()) continue;
    const size_t n = args[a].to_list().size();
    SCONCE_CHECK(n > 0, "Tensor list must have at least one tensor.");
    if (!length) length = n;
    SCONCE_CHECK(*length == n, "Tensor lists must have the same number of tensors, got {} and {}", *length, n);
  }
  return length.value_or(0);
}

bool is_spread(const Argument& a) { return a.name == "scalars" && a.type->is(TypeKind::tensor); }

// One number for each call in a tensor (addcmul's `scalars`) is as good as a list of them.
void spread_scalars(const Schema& schema, Value* args, size_t length) {
  for (size_t a = 0; a < schema.arguments.size(); ++a) {
    if (!is_spread(schema.arguments[a])) continue;
    const Tensor t = args[a].to_tensor();
    SCONCE_CHECK(t.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got {} instead.", t.dim());
    SCONCE_CHECK(t.numel() == static_cast<int64_t>(length),
                 "Expected length of scalars to match input of length {} but got {} instead.", length, t.numel());
    std::vector<Scalar> numbers;
    for (int64_t i = 0; i < t.numel(); ++i) {
      numbers.push_back(item_of(call_op("aten::select.int", {args[a], 0, i})[0].to_tensor()));
    }
    args[a] = Value(ListRef<Scalar>(numbers));
  }
}

// The result of the operator for the i-th items. `arguments` leaves out a trailing `out`.
Value call_one(const std::string& target, const Schema& schema, const Value* args, size_t arguments, size_t i) {
  std::vector<Value> positional;
  std::vector<NamedValue> named;
  const bool fused = target.starts_with("aten::addc");  // their number is a keyword there
  for (size_t a = 0; a < arguments; ++a) {
    Value v = args[a].is_list() ? args[a].to_list().get(i) : args[a];
    const std::string& name = schema.arguments[a].name;
    if (fused && a == 3) {
      named.emplace_back("value", std::move(v));
    } else if (schema.arguments[a].keyword_only || name == "dtype") {
      named.emplace_back(name, std::move(v));
    } else {
      positional.push_back(std::move(v));
    }
  }
  if (target == "aten::powsum") return powsum(positional[0], positional[1], named[0].second);
  if (target == "aten::copy") positional[0] = call_op("aten::clone", {positional[0]})[0];
  std::vector<Value> results = call_op(target == "aten::copy" ? "aten::copy_" : target, positional, named);
  return results.empty() ? Value() : std::move(results[0]);
}

}  // namespace

std::vector<std::string> called_by_name(const Op& op) {
  if (!std::string_view(op.info.name).starts_with(kPrefix)) return {};
  std::vector<std::string> names = {target_of(op)};
  if (names[0] == "aten::powsum") names = {"aten::abs", "aten::pow", "aten::sum"};
  if (names[0] == "aten::copy") names = {"aten::clone", "aten::copy_"};
  const std::vector<Argument>& arguments = op.schema().arguments;
  if (std::any_of(arguments.begin(), arguments.end(), is_spread)) names.emplace_back("aten::select");
  return names;
}

void foreach_new(const Op& op, KeySet, Value* args, Value* returns) {
  const Schema& schema = op.schema();
  const size_t length = checked_length(schema, args);
  spread_scalars(schema, args, length);
  const std::string target = target_of(op);
  std::vector<Tensor> results;
  for (size_t i = 0; i < length; ++i)
    results.push_back(call_one(target, schema, args, schema.arguments.size(), i).to_tensor());
  returns[0] = Value(results);
}

void foreach_inplace(const Op& op, KeySet, Value* args, Value*) {
  const Schema& schema = op.schema();
  const size_t length = checked_length(schema, args);
  spread_scalars(schema, args, length);
  const std::string target = target_of(op);
  for (size_t i = 0; i < length; ++i) call_one(target, schema, args, schema.arguments.size(), i);
}

void foreach_out(const Op& op, KeySet, Value* args, Value*) {
  const Schema& schema = op.schema();
  const size_t length = checked_length(schema, args), last = schema.arguments.size() - 1;
  spread_scalars(schema, args, length);
  const std::string target = target_of(op);
  for (size_t i = 0; i < length; ++i) {
    copy_to_out(args[last].to_list().get(i).to_tensor(), call_one(target, schema, args, last, i).to_tensor());
  }
}

}  // namespace sconce::boxed
