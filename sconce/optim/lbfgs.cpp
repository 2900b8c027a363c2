// L-BFGS: a quasi-Newton method, with the two-loop recursion over the last steps.
#include <cmath>

#include "sconce/autograd/variable.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/concatenation.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/matmul.h"
#include "sconce/generated/reduction.h"
#include "sconce/generated/view.h"
#include "sconce/optim/line_search.h"
#include "sconce/optim/optimizers.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::optim {
namespace {

double value_of(const Tensor& t) { return item_of(t).to_double(); }
double largest(const Tensor& t) { return value_of(max(abs(t))); }

// Complex numbers as pairs.
Tensor real_view(const Tensor& t) { return is_complex(t.dtype()) ? view_as_real(t) : t; }

Ref<List> new_list() { return make_ref<List>(any_type()); }

Tensor evaluate(const Closure& closure) {
  const EnableGrad recording;
  return closure();
}

Value max_eval_default(const Options& options) {
  const Value* given = options.find("max_eval");
  if (given && !given->is_none()) return *given;
  const int64_t iterations = options.has("max_iter") ? options.integer("max_iter") : 20;
  return iterations * 5 / 4;
}

}  // namespace

LBFGS::LBFGS(ParamGroups params, const Options& options)
    : Optimizer(std::move(params), [&] {
        Options all = Options{
            {"lr", 1},
            {"max_iter", 20},
            {"max_eval", {}},
            {"tolerance_grad", 1e-7},
            {"tolerance_change", 1e-9},
            {"history_size", 100},
            {"line_search_fn",
             {}}}.with(options, "LBFGS");
        all.set("max_eval", max_eval_default(options));
        return all;
      }()) {
  check_not_negative("lr", "Invalid learning rate");
  SCONCE_CHECK_AS(value, param_groups().size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
}

void LBFGS::add_param_group(ParamGroup) {
  fail_as(ErrorKind::value, "LBFGS doesn't support per-parameter options (parameter groups)");
}

void LBFGS::update(const ParamGroup&) { fail("LBFGS: step() needs a closure that evaluates the model"); }

Tensor LBFGS::flat_gradient() const {
  std::vector<Tensor> parts;
  for (const Tensor& t : params()) {
    const Tensor grad = autograd::grad(t);
    parts.push_back(reshape(real_view(grad.defined() ? grad : zeros_like(t)), IntList{-1}));
  }
  return cat(parts);
}

void LBFGS::move(double length, const Tensor& direction) {
  int64_t at = 0;
  for (const Tensor& t : params()) {
    const Tensor part = real_view(t);
    add_(part, view(narrow(direction, 0, at, part.numel()), part.sizes()), length);
    at += part.numel();
  }
}

// Of descent: the gradient times an approximation of the inverse Hessian, from the last moves and changes of gradients.
Tensor LBFGS::direction(const Tensor& gradient, State& state) {
  if (state.integer("n_iter") == 1) {
    state.set("old_dirs", new_list());
    state.set("old_stps", new_list());
    state.set("ro", new_list());
    state.set("H_diag", 1);
    return neg(gradient);
  }
  List &changes = state.at("old_dirs").to_list(), &moves = state.at("old_stps").to_list();
  List& inverses = state.at("ro").to_list();
  const Tensor change = sub(gradient, state.tensor("prev_flat_grad"));
  const Tensor move = mul(state.tensor("d"), Scalar(state.number("t")));
  const Tensor product = dot(change, move);
  const auto history = static_cast<size_t>(param_groups()[0].options.integer("history_size"));
  if (value_of(product) > 1e-10) {
    for (List* list : {&changes, &moves, &inverses}) {
      if (list->size() >= history && !list->empty()) list->erase(0, 1);
    }
    changes.append(change);
    moves.append(move);
    inverses.append(reciprocal(product));
    state.set("H_diag", div(product, dot(change, change)));
  }
  const Tensor q = neg(gradient);
  std::vector<double> weights(changes.size());
  for (size_t i = changes.size(); i-- > 0;) {
    const Tensor weight = mul(dot(moves.get(i).to_tensor(), q), inverses.get(i).to_tensor());
    weights[i] = value_of(weight);
    add_(q, changes.get(i).to_tensor(), -weights[i]);
  }
  const Value& scale = state.at("H_diag");
  const Tensor r = scale.is_tensor() ? mul(q, scale.to_tensor()) : mul(q, scale.to_scalar());
  for (size_t i = 0; i < changes.size(); ++i) {
    const Tensor weight = mul(dot(changes.get(i).to_tensor(), r), inverses.get(i).to_tensor());
    add_(r, moves.get(i).to_tensor(), weights[i] - value_of(weight));
  }
  return r;
}

Tensor LBFGS::step(const Closure& closure) {
  if (!closure) update(param_groups()[0]);
  const NoGrad quiet;
  const Options& o = param_groups()[0].options;
  const double lr = o.number("lr"), tolerance_grad = o.number("tolerance_grad");
  const double tolerance_change = o.number("tolerance_change");
  const int64_t max_iter = o.integer("max_iter"), max_eval = o.integer("max_eval");
  const bool searches = !o.at("line_search_fn").is_none();
  SCONCE_CHECK(!searches || o.at("line_search_fn").to_string_ref() == "strong_wolfe",
               "only 'strong_wolfe' is supported");
  State& state = this->state(params()[0]);  // of all parameters
  for (const char* counter : {"func_evals", "n_iter"}) {
    if (!state.has(counter)) state.set(counter, 0);
  }
  const auto count = [&](const char* counter, int64_t by) { state.set(counter, state.integer(counter) + by); };

  const Tensor first_loss = evaluate(closure);
  double loss = value_of(first_loss);
  int64_t evaluations = 1;
  count("func_evals", 1);
  Tensor gradient = flat_gradient();
  if (largest(gradient) <= tolerance_grad) return first_loss;

  for (int64_t i = 1; i <= max_iter; ++i) {
    count("n_iter", 1);
    const Tensor d = direction(gradient, state);
    const double loss_before = loss;
    state.set("d", d);
    state.set("prev_flat_grad", clone(gradient));
    state.set("prev_loss", loss);
    double length = lr;
    if (state.integer("n_iter") == 1) length = std::min(1.0, value_of(reciprocal(sum(abs(gradient))))) * lr;
    state.set("t", length);
    const double slope = value_of(dot(gradient, d));
    if (slope > -tolerance_change) break;

    int64_t tries = 0;
    bool done = false;
    if (searches) {
      std::vector<Tensor> before;
      for (const Tensor& t : params()) before.push_back(clone(t));
      LineSearch search;
      search.largest_component = largest(d);
      search.max_evaluations = max_eval - evaluations;
      search.evaluate = [&](double at) -> LinePoint {
        move(at, d);
        const double value = value_of(evaluate(closure));
        Tensor g = flat_gradient();
        for (size_t k = 0; k < before.size(); ++k) copy_(params()[k], before[k]);
        const double along = value_of(dot(g, d));
        return {at, value, std::move(g), along};
      };
      const LinePoint found = strong_wolfe(search, {0, loss, clone(gradient), slope}, length, tries);
      loss = found.value;
      gradient = found.gradient;
      length = found.length;
      state.set("t", length);
      move(length, d);
      done = largest(gradient) <= tolerance_grad;
    } else {
      move(length, d);
      if (i != max_iter) {
        loss = value_of(evaluate(closure));
        gradient = flat_gradient();
        done = largest(gradient) <= tolerance_grad;
        tries = 1;
      }
    }
    evaluations += tries;
    count("func_evals", tries);
    if (evaluations >= max_eval || done) break;
    if (largest(d) * length <= tolerance_change || std::abs(loss - loss_before) < tolerance_change) break;
  }
  return first_loss;
}

}  // namespace sconce::optim
