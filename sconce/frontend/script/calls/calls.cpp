#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/names/compile_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/program/script_library.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

// Script-written overloads of operators of this namespace.
std::vector<ir::Function*> helpers_named(std::string_view name) {
  if (name.starts_with("aten::")) return library_functions("builtins/aten.py", name.substr(6));
  if (name.starts_with("prim::")) return library_functions("builtins/prim.py", name.substr(6));
  return {};
}

// The arguments as values of the graph, so that every candidate sees the same ones.
CallArgument evaluated(Emitter& e, const CallArgument& a) { return {a.at, a.name, simple(a.value->as_value(e, a.at))}; }
CallArguments evaluated(Emitter& e, const CallArguments& args) {
  CallArguments out;
  for (const CallArgument& a : args.positional) out.positional.push_back(evaluated(e, a));
  for (const CallArgument& a : args.keywords) out.keywords.push_back(evaluated(e, a));
  return out;
}

std::string indented(std::string_view text) {
  std::string out = "  ";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
  }
  return out;
}

// A candidate that does not fit: its text for the message, and how many of its arguments fitted before the first
// that did not.
struct Misfit {
  std::string text;
  size_t distance;
};

struct Candidate {
  const Schema* schema;
  std::string_view name;  // shown instead of the schema's, when not empty
};

std::string shown(const Candidate& c) {
  if (c.name.empty()) return c.schema->to_string();
  Schema copy = *c.schema;
  copy.name = std::string(c.name);
  return copy.to_string();
}

// How well the arguments fit, for the order of candidates in messages: the number of arguments that the schema accepts
// one by one, from the left.
size_t accepted(Emitter& e, const Range& at, const Schema& schema, const CallArguments& args,
                const std::optional<CallArgument>& self) {
  Schema part = schema;
  part.is_vararg = false;
  size_t count = 0;
  for (size_t n = 1; n <= args.positional.size() + (self ? 1 : 0) && n <= schema.arguments.size(); ++n) {
    part.arguments.assign(schema.arguments.begin(), schema.arguments.begin() + static_cast<std::ptrdiff_t>(n));
    part.returns.clear();
    CallArguments some;
    const size_t positional = n - (self ? 1 : 0);
    some.positional.assign(args.positional.begin(), args.positional.begin() + static_cast<std::ptrdiff_t>(positional));
    if (!try_match(e, at, part, some, self, true, nullptr)) break;
    count = n;
  }
  return count;
}

// The candidate that takes the arguments, or CompileError.
std::pair<size_t, MatchedSchema> choose(Emitter& e, const Range& at, const std::vector<Candidate>& candidates,
                                        const CallArguments& args, const std::optional<CallArgument>& self) {
  std::string why;
  if (candidates.size() == 1) {
    if (auto matched = try_match(e, at, *candidates[0].schema, args, self, true, &why)) return {0, std::move(*matched)};
    refuse(at, "\n{}:\n{}", shown(candidates[0]), why);
  }
  for (const bool conversions : {false, true}) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (auto matched = try_match(e, at, *candidates[i].schema, args, self, conversions, nullptr)) {
        return {i, std::move(*matched)};
      }
    }
  }
  std::vector<Misfit> misfits;
  for (const Candidate& c : candidates) {
    try_match(e, at, *c.schema, args, self, true, &why);
    misfits.push_back({fmt::format("\n{}:\n{}", shown(c), why), accepted(e, at, *c.schema, args, self)});
  }
  std::stable_sort(misfits.begin(), misfits.end(),
                   [](const Misfit& a, const Misfit& b) { return a.distance > b.distance; });
  std::string text = "Arguments for call are not valid.\nThe following variants are available:\n";
  for (const Misfit& m : misfits) text += indented(m.text);
  refuse(at, "{}\nThe original call is", text);
}

// One value for the results of a call: itself, a tuple, a named tuple; the empty tuple for nothing.
ir::Value* packed(Emitter& e, const Range& at, const std::vector<ir::Value*>& results, const MatchedSchema& matched) {
  if (results.size() == 1) return results[0];
  if (results.empty()) return e.constant(at, sconce::Value(make_ref<Tuple>(std::vector<sconce::Value>())));
  TypePtr type = nullptr;
  if (!matched.return_names.empty()) type = named_tuple_type("", matched.return_types, matched.return_names);
  return e.tuple(at, results, type);
}

SugaredPtr emit_operator(Emitter& e, const Range& at, const Op& op, const MatchedSchema& matched) {
  ir::Node* node = e.node(at, ir::Symbol(op.info.name), matched.inputs, matched.return_types);
  node->set_op(&op);
  return simple(packed(e, at, node->outputs(), matched));
}

// A copy of the function's graph at the insert point.
ir::Value* inlined(Emitter& e, ir::Function& f, const std::vector<ir::Value*>& inputs) {
  const ir::Graph& body = *f.graph();
  ir::Block::ValueMap map;
  for (size_t i = 0; i < inputs.size(); ++i) map[body.inputs()[i]] = inputs[i];
  for (const ir::Node* n : body.nodes()) {
    ir::Node* copy = e.graph().create_copy(*n, map);
    e.graph().insert(copy);
    for (size_t i = 0; i < n->outputs().size(); ++i) map[n->output(i)] = copy->output(i);
  }
  const ir::Value* result = body.outputs().at(0);
  const auto found = map.find(result);
  SCONCE_ASSERT(found != map.end());
  return found->second;
}

// Compiles the callee; an error of its body is told with the chain of calls that led there.
void compile_callee(Emitter& e, const Range& at, ir::Function& callee) {
  if (callee.is_compiling()) {
    refuse(at, " function '{}' is called recursively. Recursive calls are not supported", callee.short_name());
  }
  if (callee.is_defined()) return;
  const CompileDepth depth;
  if (depth.too_deep()) {
    refuse(at, "function '{}' is called by too long a chain of functions that are not compiled yet",
           callee.short_name());
  }
  try {
    ensure_compiled(callee);
  } catch (const CompileError& error) {
    throw error.called_from(callee.short_name(), e.function().short_name(), at);
  }
}

}  // namespace

bool is_builtin(std::string_view name) { return !find_overloads(name).empty() || !helpers_named(name).empty(); }

SugaredPtr call_builtin(Emitter& e, const Range& at, ir::Symbol name, const CallArguments& given,
                        const std::optional<CallArgument>& given_self) {
  const CallArguments args = evaluated(e, given);
  std::optional<CallArgument> self;
  if (given_self) self = evaluated(e, *given_self);

  std::vector<Candidate> candidates;
  std::vector<const Op*> ops;
  for (const Op* op : find_overloads(name.text())) {
    if (!chosen_by_name(*op)) continue;
    ops.push_back(op);
    candidates.push_back({&op->schema(), {}});
  }
  const std::vector<ir::Function*> helpers = helpers_named(name.text());
  for (ir::Function* f : helpers) candidates.push_back({&f->schema(), name.name()});
  if (candidates.empty()) {
    std::string text = fmt::format("Unknown builtin op: {}.\n", name.text());
    const std::vector<std::string> close = similar_operators(name.text());
    if (close.empty()) {
      text += fmt::format(
          "Could not find any similar ops to {}. This op may not exist or may not be currently supported in "
          "TorchScript.\n",
          name.text());
    } else {
      text += "Here are some suggestions: \n";
      for (const std::string& other : close) text += fmt::format("\t{}\n", other);
      text += "\nThe original call is";
    }
    refuse(at, "{}", text);
  }
  const auto [chosen, matched] = choose(e, at, candidates, args, self);
  if (chosen >= ops.size()) {
    ir::Function& helper = *helpers[chosen - ops.size()];
    compile_callee(e, at, helper);
    return simple(inlined(e, helper, matched.inputs));
  }
  return emit_operator(e, at, *ops[chosen], matched);
}

SugaredPtr call_overload(Emitter& e, const Range& at, const Op& op, const CallArguments& args) {
  const auto [chosen, matched] = choose(e, at, {{&op.schema(), {}}}, evaluated(e, args), {});
  return emit_operator(e, at, op, matched);
}

ir::Value* call_op(Emitter& e, const Range& at, std::string_view name, ListRef<ir::Value*> args,
                   std::vector<CallArgument> keywords) {
  CallArguments all;
  for (ir::Value* v : args) all.positional.push_back({at, {}, simple(v)});
  all.keywords = std::move(keywords);
  return call_builtin(e, at, ir::Symbol(name), all)->as_value(e, at);
}

SugaredPtr call_function(Emitter& e, const Range& at, ListRef<ir::Function*> overloads, const CallArguments& given) {
  const CallArguments args = evaluated(e, given);
  std::vector<Candidate> candidates;
  for (ir::Function* f : overloads) {
    compile_callee(e, at, *f);
    candidates.push_back({&f->schema(), f->short_name()});
  }
  const auto [chosen, matched] = choose(e, at, candidates, args, {});
  ir::Function& callee = *overloads[chosen];
  if (is_inlined_into_callers(callee)) return simple(inlined(e, callee, matched.inputs));
  std::vector<ir::Value*> inputs = {function_constant(e, callee)};
  inputs.insert(inputs.end(), matched.inputs.begin(), matched.inputs.end());
  ir::Node* node = e.node(at, ir::kind::CallFunction, inputs, matched.return_types);
  node->set_callee(&callee);
  return simple(packed(e, at, node->outputs(), matched));
}

ir::Value* function_constant(Emitter& e, ir::Function& f) {
  ir::Node* node = e.node({}, ir::kind::Constant, {}, {function_type(f.name())});
  node->set_attribute("name", sconce::Value(f.short_name()));
  node->set_callee(&f);
  return node->output();
}

SugaredPtr call_method(Emitter& e, const Range& at, ir::Value* self, ListRef<std::string> names,
                       const CallArguments& given) {
  const CallArguments args = evaluated(e, given);
  const TypePtr type = self->type();
  std::vector<Candidate> candidates;
  std::vector<ir::Function*> methods;
  for (const std::string& name : names) {
    if (type->is(TypeKind::interface)) {
      candidates.push_back({type->interface_info()->find(name), name});
      methods.push_back(nullptr);
    } else {
      ir::Function* f = type->class_info()->find_method(name);
      SCONCE_ASSERT(f);
      compile_callee(e, at, *f);
      candidates.push_back({&f->schema(), name});
      methods.push_back(f);
    }
    SCONCE_ASSERT(candidates.back().schema);
  }
  // `self` is the first argument, under any name.
  CallArguments all;
  all.positional.push_back({at, {}, simple(self)});
  all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
  all.keywords = args.keywords;
  const auto [chosen, matched] = choose(e, at, candidates, all, {});
  ir::Node* node = e.node(at, ir::kind::CallMethod, matched.inputs, matched.return_types);
  node->set_attribute("name", sconce::Value(names[chosen]));
  node->set_callee(methods[chosen]);
  return simple(packed(e, at, node->outputs(), matched));
}

}  // namespace sconce::script
