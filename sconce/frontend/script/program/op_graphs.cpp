// Bodies and derivatives of operators, compiled from their text: the source of passes/op_graphs.h.
#include "sconce/passes/analysis/op_graphs.h"

#include <cstdio>
#include <mutex>
#include <numbers>
#include <unordered_map>

#include "sconce/base/logs.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/custom/derivative.h"
#include "sconce/dispatch/entry.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/program/body_text.h"
#include "sconce/frontend/script/program/script_library.h"
#include "sconce/lowering/autodiff.h"
#include "sconce/lowering/expression_text.h"
#include "sconce/lowering/quantized/quantized_texts.h"
#include "sconce/passes/passes.h"

namespace sconce::script {
namespace {

using passes::FormulaGraph;
using Input = FormulaGraph::Input;

constexpr std::string_view kHelpers = "builtins/formulas.py";
// What only decompositions call: parsed when the first of them is compiled.
constexpr std::string_view kDecompositions = "builtins/decompositions";

// prod(sizes) is a helper, prod(x) an operator.
class HelperOrOperator : public SugaredValue {
 public:
  HelperOrOperator(SugaredPtr helper, SugaredPtr op) : helper_(std::move(helper)), op_(std::move(op)) {}
  std::string kind() const override { return "function"; }
  SugaredPtr call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) override {
    const TypePtr first = args.positional.empty() ? nullptr : args.positional[0].value->type();
    const bool tensor = first && first->is(TypeKind::tensor);
    return (tensor ? op_ : helper_)->call(e, at, args, hint);
  }

 private:
  const SugaredPtr helper_, op_;
};

// The names of a body: operators of aten, else of the operator's own namespace; T0, T1, ... are the types
// of its parameters.
class BodyNames : public Resolver {
 public:
  BodyNames(std::string_view space, std::string_view library, std::vector<TypePtr> types)
      : space_(space), library_(library), types_(std::move(types)) {}

  SugaredPtr find_value(Emitter& e, const Range& at, const std::string& name) override {
    if (name == "inf") return simple(e.constant(at, std::numeric_limits<double>::infinity()));
    if (name == "nan") return simple(e.constant(at, std::numeric_limits<double>::quiet_NaN()));
    if (name == "pi") return simple(e.constant(at, std::numbers::pi));
    if (name == "needs") return nullptr;
    SugaredPtr op;
    for (const std::string_view space : {std::string_view("aten"), std::string_view(space_)}) {
      const std::string full = std::string(space) + "::" + name;
      if (!op && is_builtin(full)) op = std::make_shared<BuiltinFunction>(ir::Symbol(full));
    }
    if (SugaredPtr helper = library_value(e, at, library_, name)) {
      return op ? std::make_shared<HelperOrOperator>(helper, op) : helper;
    }
    return find_builtin_name(e, at, name) ? nullptr : op;
  }
  bool is_ours() const override { return true; }
  TypePtr find_type(const std::string& name) override {
    if (name.size() < 2 || name[0] != 'T' || name.find_first_not_of("0123456789", 1) != std::string::npos)
      return nullptr;
    const size_t i = std::stoul(name.substr(1));
    return i < types_.size() ? types_[i] : nullptr;
  }

 private:
  const std::string space_;
  const std::string_view library_;
  const std::vector<TypePtr> types_;
};

struct Parameter {
  std::string name;
  TypePtr type;
};

// The graph of a text as a function of these parameters; `result` may say what it gives. Throws CompileError.
std::shared_ptr<ir::Graph> compile_text(const Op& op, const BodyText& text, const std::vector<Parameter>& parameters,
                                        TypePtr result = nullptr, std::string_view library = kHelpers) {
  std::vector<TypePtr> types;
  std::vector<std::string> names;
  for (const Parameter& p : parameters) {
    names.push_back(p.name);
    types.push_back(p.type);
  }
  if (result) types.push_back(result);
  FunctionSource from;
  from.tree = body_function(text, names, result != nullptr);
  from.def = syntax::as<syntax::FunctionDef>(from.tree->body.at(0));
  const std::string_view name = op.info.name;
  from.resolver = std::make_shared<BodyNames>(name.substr(0, name.find("::")), library, std::move(types));
  ir::CompilationUnit unit;
  ir::Function& function = unit.add_function("__torch__.body");
  compile_function(function, from);
  std::shared_ptr<ir::Graph> graph = function.graph();
  passes::run_pipeline(*graph);
  return graph;
}

std::vector<Parameter> parameters_of(const Schema& schema) {
  std::vector<Parameter> parameters;
  for (const Argument& a : schema.arguments) parameters.push_back({a.name, plain_type(a.type)});
  return parameters;
}

// What compile() gives; its CompileErrors as Errors with line and column.
template <class Compile>
std::shared_ptr<ir::Graph> placed(const passes::TextPlace& place, Compile compile) {
  try {
    return compile();
  } catch (const CompileError& e) {
    throw Error(e.kind(), place.message_at(e.at(), e.reason()));
  }
}

// A tuple that is returned becomes several results.
void split_result(ir::Graph& graph, size_t count) {
  if (count == 1) return;
  SCONCE_CHECK(graph.outputs().size() == 1, "the body should return {} values", count);
  ir::Value* out = graph.outputs()[0];
  SCONCE_CHECK(out->type()->is(TypeKind::tuple) && out->type()->contained().size() == count,
               "the body should return {} values, it returns {}", count, out->type()->annotation());
  std::vector<ir::Value*> parts;
  if (out->node()->is(ir::kind::TupleConstruct)) {
    parts = out->node()->inputs();
  } else {
    ir::Node* unpack = graph.create(ir::kind::TupleUnpack, {out}, count);
    graph.block()->append(unpack);
    for (size_t i = 0; i < count; ++i) parts.push_back(unpack->output(i)->set_type(out->type()->contained()[i]));
  }
  graph.block()->remove_output(0);
  for (ir::Value* v : parts) graph.add_output(v);
  passes::dead_code(graph);
}

// The meaning of a name in a formula.
std::optional<std::pair<Input, TypePtr>> meaning(const Schema& schema, const std::string& name) {
  using Kind = Input::Kind;
  if (const std::optional<size_t> at = schema.find_argument(name)) {
    return std::pair(Input{Kind::argument, *at}, plain_type(schema.arguments[*at].type));
  }
  if (name == "grad") return std::pair(Input{Kind::grad, 0}, tensor_type());
  if (name == "grads") return std::pair(Input{Kind::grads}, list_type(tensor_type()));
  if (name == "needs") return std::pair(Input{Kind::needs}, list_type(bool_type()));
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if ((name == "result" && i == 0) || name == "result" + std::to_string(i) || name == schema.returns[i].name) {
      return std::pair(Input{Kind::result, i}, plain_type(schema.returns[i].type));
    }
  }
  return std::nullopt;
}

FormulaGraph compile_formula(const Op& op, const Derivative& d) {
  const Schema& schema = op.schema();
  FormulaGraph made;
  for (const std::string& name : d.arguments) made.targets.push_back(schema.find_argument(name).value());
  SCONCE_CHECK(std::is_sorted(made.targets.begin(), made.targets.end()), "{}: targets are not in order",
               op.qualified_name());
  std::vector<Parameter> parameters;
  const BodyText text = parse_body(d.body, d.line, d.column);
  made.place = text.place;
  for (const std::string& name : text.free_names) {
    const auto known = meaning(schema, name);
    if (!known) continue;
    made.inputs.push_back(known->first);
    parameters.push_back({name, known->second});
  }
  std::shared_ptr<ir::Graph> graph = placed(text.place, [&] { return compile_text(op, text, parameters); });
  split_result(*graph, made.targets.size());
  for (size_t i = 0; i < made.targets.size(); ++i) {
    const TypePtr type = graph->outputs().at(i)->type();
    const bool list = plain_type(schema.arguments[made.targets[i]].type)->is(TypeKind::list);
    const TypePtr wanted = list ? list_type(tensor_type()) : optional_type(tensor_type());
    SCONCE_CHECK(is_subtype(type, wanted), "{}: the derivative for '{}' gives {}", op.qualified_name(), d.argument,
                 type->annotation());
  }
  made.graph = std::move(graph);
  return made;
}

class TableGraphs final : public passes::OpGraphs {
 public:
  const std::vector<FormulaGraph>* formulas(const Op& op) override {
    if (!op.info.texts.derivatives) return nullptr;
    const auto lock = lock_library();
    return known_or(formulas_, op, [&] { return compile_formulas(op); }).get();
  }

  const ir::Graph* body(const Op& op) override {
    if (!op.info.texts.body || op.schema().is_mutable()) return nullptr;
    return once(bodies_, op, [&] {
      std::shared_ptr<ir::Graph> graph = compile_text(op, parse_body(op.texts().body), parameters_of(op.schema()));
      split_result(*graph, op.schema().returns.size());
      return graph;
    });
  }

  const ir::Graph* decomposition(const Op& op) override {
    if (!op.info.entry || !op.info.entry->decompose || op.schema().is_mutable()) return nullptr;
    return once(decompositions_, op, [&] { return compile_decomposition(op, op.info.entry->decompose); });
  }

  const ir::Graph* on_quantized(const Op& op) override {
    const lowering::QuantizedText* found = lowering::quantized_text(op);
    if (!found || found->is_same() || op.schema().is_mutable()) return nullptr;
    return once(on_quantized_, op, [&] { return compile_decomposition(op, found->text); });
  }

  const ir::Graph* expression(const Op& op) override {
    const std::optional<std::string> text = lowering::expression_text(op);
    if (!text) return nullptr;
    return once(expressions_, op, [&] { return compile_text(op, parse_body(*text), parameters_of(op.schema())); });
  }

  const ir::Graph* shape(const Op& op) override {
    if (!op.info.entry || !op.info.entry->shape) return nullptr;
    return once(shapes_, op, [&] {
      std::vector<TypePtr> types;
      for (const Argument& r : op.schema().returns) {
        const TypePtr sizes = list_type(int_type());
        types.push_back(plain_type(r.type)->is(TypeKind::list) ? list_type(sizes) : sizes);
      }
      const TypePtr result = types.size() == 1 ? types[0] : tuple_type(types);
      return compile_text(op, parse_body(op.info.entry->shape), parameters_of(op.schema()), result);
    });
  }

  const ir::Graph* scatter(const Op& op) override {
    if (!op.info.entry || !op.info.entry->scatter || !op.has(Trait::view)) return nullptr;
    return once(scatters_, op, [&] {
      std::vector<Parameter> parameters = parameters_of(op.schema());
      parameters.push_back({"src", plain_type(op.schema().returns.at(0).type)});
      return compile_text(op, parse_body(std::string("return ") + op.info.entry->scatter), parameters, tensor_type());
    });
  }

  const std::vector<FormulaGraph>& require_formulas(const Op& op) override {
    const auto lock = lock_library();
    if (const auto* known = formulas(op)) return *known;
    const BudgetScope no_limits(nullptr);
    auto& made = formulas_[&op];
    made = compile_formulas(op);  // throws
    return *made;
  }

  const passes::BodyGraph& require_body(const Op& op) override {
    const auto lock = lock_library();
    if (const auto known = runnable_.find(&op); known != runnable_.end()) return known->second;
    const BudgetScope no_limits(nullptr);
    passes::BodyGraph made;
    const BodyText text = parse_body(op.texts().body);
    made.place = text.place;
    made.graph = placed(text.place, [&] { return compile_text(op, text, parameters_of(op.schema())); });
    return runnable_.emplace(&op, std::move(made)).first->second;
  }

  std::vector<std::string> free_names(std::string_view text, int line, int column) override {
    return parse_body(text, line, column).free_names;
  }

 private:
  using Graphs = std::unordered_map<const Op*, std::shared_ptr<ir::Graph>>;
  using FormulaGraphs = std::unique_ptr<std::vector<FormulaGraph>>;

  static std::shared_ptr<ir::Graph> compile_decomposition(const Op& op, std::string_view text) {
    std::shared_ptr<ir::Graph> graph =
        compile_text(op, parse_body(text), parameters_of(op.schema()), nullptr, kDecompositions);
    split_result(*graph, op.schema().returns.size());
    return graph;
  }

  static FormulaGraphs compile_formulas(const Op& op) {
    auto all = std::make_unique<std::vector<FormulaGraph>>();
    for (const Derivative& d : split_derivatives(op.texts().derivatives)) all->push_back(compile_formula(op, d));
    return all;
  }

  template <class F>
  static const ir::Graph* once(Graphs& graphs, const Op& op, F compile) {
    const auto lock = lock_library();
    return known_or(graphs, op, compile).get();
  }

  // What the text of an operator gives is kept for good, also that it gives nothing. So it must follow from the text
  // alone: the limits of the call that happens to ask first do not count (which may be over), and when there is no
  // memory for it, the next call tries again.
  template <class Made, class F>
  static const Made& known_or(std::unordered_map<const Op*, Made>& all, const Op& op, F compile) {
    const auto [at, is_new] = all.try_emplace(&op);  // empty while it is compiled: a text does not use itself
    if (!is_new) return at->second;
    Made& made = at->second;
    const BudgetScope no_limits(nullptr);
    try {
      made = compile();
    } catch (const Error& e) {
      note(op, e);
    } catch (...) {
      all.erase(&op);
      throw;
    }
    return made;
  }

  // Such an operator is not differentiated in graphs; it records as eager calls do.
  static void note(const Op& op, const Error& e) {
    if (is_logged(LogTag::autodiff)) {
      std::fprintf(stderr, "%s has no graph: %s\n", op.qualified_name().c_str(), e.what());
    }
  }

  std::unordered_map<const Op*, FormulaGraphs> formulas_;
  std::unordered_map<const Op*, passes::BodyGraph> runnable_;
  Graphs bodies_, decompositions_, on_quantized_, expressions_, shapes_, scatters_;
};

}  // namespace

passes::OpGraphs* table_graphs() {
  static auto* const graphs = new TableGraphs;  // never destroyed: plans of other threads may outlive main()
  return graphs;
}

}  // namespace sconce::script
