// Bodies and derivatives of custom operators, run as graphs: the BodyRunner of dispatch/custom/body.h. The front end
// compiles their texts (passes/analysis/op_graphs.h); code is made of each graph once, when it is first needed.
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "sconce/dispatch/binding/match.h"
#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/formula.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/execute.h"

namespace sconce::runtime {
namespace {

using Input = passes::FormulaGraph::Input;

struct Runnable {
  std::shared_ptr<Code> code;
  passes::TextPlace place;
};

struct RunnableFormula : Runnable {
  std::vector<Input> inputs;
  std::vector<size_t> targets;
};

passes::OpGraphs& graphs(const Op& op) {
  passes::OpGraphs* known = passes::op_graphs();
  if (!known) fail_no_front_end(op);
  return *known;
}

// What `raise ValueError(...)` in a body is to the caller of the operator.
ErrorKind kind_of(const ScriptError& e) {
  struct Known {
    std::string_view name;
    ErrorKind kind;
  };
  static constexpr Known kKnown[] = {{"builtins.TypeError", ErrorKind::type},
                                     {"builtins.ValueError", ErrorKind::value},
                                     {"builtins.IndexError", ErrorKind::index},
                                     {"builtins.KeyError", ErrorKind::key},
                                     {"builtins.NotImplementedError", ErrorKind::not_implemented},
                                     {"builtins.ZeroDivisionError", ErrorKind::zero_division},
                                     {"builtins.OverflowError", ErrorKind::overflow}};
  for (const Known& known : kKnown) {
    if (known.name == e.exception_class()) return known.kind;
  }
  return e.kind();
}

Value run(const Runnable& what, std::vector<Value> args) {
  const Code& code = *what.code;
  for (size_t i = 0; i < args.size(); ++i) {
    const uint8_t tag = code.arg_tags[i];
    if (tag == 0 || args[i].tag() == static_cast<Tag>(tag)) continue;
    Value converted;
    SCONCE_CHECK_AS(type, convert_value(args[i], code.arg_types[i], converted), "expected {} for argument {}, got {}",
                    code.arg_types[i]->to_string(), i, args[i].type()->to_string());
    args[i] = std::move(converted);
  }
  try {
    return execute(code, args, {});
  } catch (const ScriptError& e) {
    throw Error(kind_of(e), what.place.message_at(e.at(), e.reason()));
  }
}

Value needs_of(const RunnableFormula& formula, const FormulaCall& call) {
  const auto list = make_ref<List>(bool_type());
  for (const size_t i : formula.targets) list->append((call.needs >> i & 1) != 0);
  return list;
}

Value value_of(const RunnableFormula& formula, const Input& input, const FormulaCall& call) {
  switch (input.kind) {
    case Input::Kind::argument:
      return call.args[input.index];
    case Input::Kind::result:
      return call.results[input.index];
    case Input::Kind::grad:
      return call.grads[input.index];
    case Input::Kind::grads:
      return Value(TensorList(call.grads.data(), call.grads.size()));
    case Input::Kind::needs:
      return needs_of(formula, call);
  }
  return {};
}

class GraphRunner final : public BodyRunner {
 public:
  std::optional<std::vector<std::string>> free_names(std::string_view text, int line, int column) override {
    passes::OpGraphs* known = passes::op_graphs();
    if (!known) return std::nullopt;
    return known->free_names(text, line, column);
  }

  Value run_body(const Op& op, const Value* args) override {
    const Runnable& body = find(bodies_, op, [&] {
      const passes::BodyGraph& graph = graphs(op).require_body(op);
      return Runnable{generate(*graph.graph, op.qualified_name(), nullptr, false), graph.place};
    });
    return run(body, std::vector<Value>(args, args + op.schema().arguments.size()));
  }

  Value run_formula(const Op& op, size_t index, const FormulaCall& call) override {
    const std::vector<RunnableFormula>& all = find(formulas_, op, [&] {
      std::vector<RunnableFormula> made;
      for (const passes::FormulaGraph& f : graphs(op).require_formulas(op)) {
        made.push_back({{generate(*f.graph, op.qualified_name(), nullptr, false), f.place}, f.inputs, f.targets});
      }
      return made;
    });
    const RunnableFormula& formula = all.at(index);
    std::vector<Value> args;
    for (const Input& input : formula.inputs) args.push_back(value_of(formula, input, call));
    return run(formula, std::move(args));
  }

 private:
  // Operators live for ever, and so does what is made of them.
  template <class Made, class Make>
  const Made& find(std::unordered_map<const Op*, Made>& known, const Op& op, Make make) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = known.find(&op); found != known.end()) return found->second;
    }
    Made made = make();
    const std::unique_lock lock(mutex_);
    return known.try_emplace(&op, std::move(made)).first->second;
  }

  std::shared_mutex mutex_;
  std::unordered_map<const Op*, Runnable> bodies_;
  std::unordered_map<const Op*, std::vector<RunnableFormula>> formulas_;
};

}  // namespace

BodyRunner* graph_runner() {
  static GraphRunner& runner = *new GraphRunner;
  return &runner;
}

}  // namespace sconce::runtime
