#include "sconce/dispatch/interpreted_formulas.h"

#include <algorithm>
#include <bit>

#include "sconce/dispatch/body.h"
#include "sconce/dispatch/derivative.h"
#include "sconce/dispatch/formula.h"

namespace sconce {

namespace autograd {
void record(const Op& op, KeySet keys, Value* args, Value* returns);
}  // namespace autograd

namespace {

constexpr uint32_t bit(size_t i) { return 1u << i; }

// Where a name of a formula gets its value from.
struct Source {
  enum Kind { argument, result, grad, grads, needs } kind;
  size_t index = 0;
};

struct Interpreted {
  Body body;
  std::vector<std::string> names;
  std::vector<std::string_view> name_views;
  std::vector<Source> sources;
  uint32_t targets = 0;

  Value value_of(const Source& source, const FormulaCall& call) const {
    switch (source.kind) {
      case Source::argument:
        return call.args[source.index];
      case Source::result:
        return call.results[source.index];
      case Source::grad:
        return call.grads[0];
      case Source::grads:
        return Value(TensorList(call.grads.data(), call.grads.size()));
      case Source::needs: {
        const auto list = make_ref<List>(bool_type());
        for (size_t i = 0; targets >> i; ++i) {
          if (targets & bit(i)) list->append((call.needs & bit(i)) != 0);
        }
        return list;
      }
    }
    return {};
  }
};

Value run_interpreted(const FormulaCall& call) {
  const auto& formula = *static_cast<const Interpreted*>(call.formula->context);
  std::vector<Value> values;
  for (const Source& source : formula.sources) values.push_back(formula.value_of(source, call));
  return formula.body.run(formula.name_views, values.data());
}

// check_derivatives has made sure that there is one.
Source source_of(const Schema& schema, const std::string& name) {
  if (const auto i = schema.find_argument(name)) return {Source::argument, *i};
  if (name == "grad") return {Source::grad};
  if (name == "grads") return {Source::grads};
  if (name == "needs") return {Source::needs};
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (name == "result" + std::to_string(i) || name == schema.returns[i].name) return {Source::result, i};
  }
  return {Source::result, 0};
}

struct OwnedFormulas {
  std::vector<std::unique_ptr<Interpreted>> code;
  std::vector<Formula> all;
  Formulas formulas{};
};

// Lives as long as the operator: for ever.
const Formulas* interpret_derivatives(const CustomOp& op) {
  const Schema& schema = op.schema();
  const size_t returns = schema.returns.size();
  SCONCE_CHECK_AS(value, schema.arguments.size() <= 32 && returns <= 32,
                  "{}: an operator with derivatives has at most 32 arguments and results", op.qualified_name());
  auto owned = std::make_unique<OwnedFormulas>();
  const std::string_view space = std::string_view(op.info.name).substr(0, std::string_view(op.info.name).find("::"));
  for (const Derivative& d : split_derivatives(op.info.derivatives)) {
    auto code = std::make_unique<Interpreted>(Interpreted{Body(d.body, space, d.line, d.column), {}, {}, {}, 0});
    Formula formula{};
    size_t last = 0;
    for (const std::string& name : d.arguments) {
      const size_t i = schema.find_argument(name).value();
      SCONCE_CHECK_AS(value, code->targets == 0 || i > last, "{}: '{}' must name arguments in the order of the schema",
                      op.qualified_name(), d.argument);
      last = i;
      code->targets |= bit(i);
    }
    code->names = code->body.free_names();
    for (const std::string& name : code->names) {
      const Source source = source_of(schema, name);
      code->sources.push_back(source);
      code->name_views.push_back(name);
      if (source.kind == Source::argument) formula.args |= bit(source.index);
      if (source.kind == Source::result) formula.results |= bit(source.index);
      if (source.kind == Source::grad) owned->formulas.differentiable |= 1;
      if (source.kind == Source::grads) owned->formulas.differentiable |= returns == 32 ? ~0u : bit(returns) - 1;
    }
    formula.targets = code->targets;
    formula.run = run_interpreted;
    formula.context = code.get();
    owned->formulas.targets |= code->targets;
    owned->all.push_back(formula);
    owned->code.push_back(std::move(code));
  }
  owned->formulas.all = owned->all;
  return &owned.release()->formulas;
}

bool has_tensor(const std::vector<Argument>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) {
    TypePtr type = a.type;
    while (type->is(TypeKind::optional) || type->is(TypeKind::list)) type = type->element();
    return type->is(TypeKind::tensor);
  });
}

}  // namespace

void make_differentiable(CustomOp& op) {
  const Schema& schema = op.schema();
  if (op.has_kernel(Key::autograd)) return;
  if (op.info.derivatives) {
    op.info.formulas = interpret_derivatives(op);
    op.info.gradient = Gradient::formulas;
  } else if (op.has(Trait::compound) || !has_tensor(schema.arguments) || !has_tensor(schema.returns)) {
    return;
  } else {
    op.info.gradient = Gradient::missing;
  }
  op.set_kernel(Key::autograd, SCONCE_BOXED_KERNEL(autograd::record));
}

}  // namespace sconce
