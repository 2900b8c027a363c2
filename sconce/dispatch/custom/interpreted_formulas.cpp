#include "sconce/dispatch/custom/interpreted_formulas.h"

#include <algorithm>
#include <bit>

#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/derivative.h"
#include "sconce/dispatch/formula.h"

namespace sconce {

namespace autograd {
void record(const Op& op, KeySet keys, Value* args, Value* returns);
}  // namespace autograd

namespace {

constexpr uint32_t bit(size_t i) { return 1u << i; }

// A formula of an operator: what its context says.
struct Interpreted {
  const Op* op;
  size_t index;
};

Value run_interpreted(const FormulaCall& call) {
  const auto& formula = *static_cast<const Interpreted*>(call.formula->context);
  return require_body_runner(*formula.op).run_formula(*formula.op, formula.index, call);
}

// Notes what a formula may read.
void note_name(const Schema& schema, const std::string& name, Formula& formula, Formulas& all) {
  const size_t returns = schema.returns.size();
  if (const auto i = schema.find_argument(name)) {
    formula.args |= bit(*i);
  } else if (name == "grad") {
    all.differentiable |= 1;
  } else if (name == "grads") {
    all.differentiable |= returns == 32 ? ~0u : bit(returns) - 1;
  } else if (name == "result" && returns > 0) {
    formula.results |= 1;
  } else {
    for (size_t i = 0; i < returns; ++i) {
      if (name == "result" + std::to_string(i) || name == schema.returns[i].name) formula.results |= bit(i);
    }
  }
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
  for (const Derivative& d : split_derivatives(op.texts().derivatives)) {
    auto code = std::make_unique<Interpreted>(Interpreted{&op, owned->all.size()});
    Formula formula{};
    size_t last = 0;
    for (const std::string& name : d.arguments) {
      const size_t i = schema.find_argument(name).value();
      SCONCE_CHECK_AS(value, formula.targets == 0 || i > last,
                      "{}: '{}' must name arguments in the order of the schema", op.qualified_name(), d.argument);
      last = i;
      formula.targets |= bit(i);
    }
    for (const std::string& name : names_in(d.body)) note_name(schema, name, formula, owned->formulas);
    formula.run = run_interpreted;
    formula.context = code.get();
    owned->formulas.targets |= formula.targets;
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
  if (op.info.texts.derivatives) {
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
