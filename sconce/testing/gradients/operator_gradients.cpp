#include "sconce/testing/gradients/operator_gradients.h"

#include <cmath>

#include <fmt/format.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/gradients/gradcheck.h"
#include "sconce/testing/gradients/jacobian.h"
#include "sconce/testing/gradients/sample_tensor.h"

namespace sconce::testing {
namespace {

// A call of an operator as a function of those of its tensors that require grad.
class SampleCall {
 public:
  SampleCall(const Op& op, Sample sample) : op_(op), sample_(std::move(sample)) {
    for (const Value& v : sample_.args) {
      each_tensor(v, [&](const Tensor& t) {
        if (t.requires_grad()) inputs_.push_back(t);
      });
    }
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }

  // Draws the same random numbers each time; the arguments that the operator writes are copies.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    std::vector<Value> args;
    size_t next = 0;
    const Schema& schema = op_.schema();
    for (size_t i = 0; i < sample_.args.size(); ++i) {
      const bool writes = schema.arguments[i].is_written() || schema.arguments[i].name.starts_with("running_");
      const auto place = [&](const Tensor& t) {
        const bool varied = t.defined() && t.requires_grad();
        const Tensor given = varied ? projected(inputs[next], sample_.projections[next]) : t;
        next += varied;
        return writes && given.defined() ? clone(given) : given;
      };
      if (sample_.args[i].is_tensor()) {
        args.emplace_back(place(sample_.args[i].to_tensor()));
      } else if (is_tensor_list(sample_.args[i])) {
        std::vector<Tensor> list;
        for (const Tensor& t : sample_.args[i].to_list().tensors()) list.push_back(place(t));
        auto typed = make_ref<List>(sample_.args[i].to_list().element_type());
        for (const Tensor& t : list) typed->append(t);
        args.emplace_back(typed);
      } else {
        args.push_back(sample_.args[i]);
      }
    }
    manual_seed(1);
    std::vector<Value> returns(schema.returns.size());
    op_.call_boxed(args.data(), returns.data());
    std::vector<Tensor> results;
    for (const Value& v : returns) each_tensor(v, [&](const Tensor& t) { results.push_back(t); });
    if (sample_.results.empty()) return results;
    std::vector<Tensor> chosen;
    for (const Sample::Result& r : sample_.results) {
      SCONCE_CHECK(r.index < results.size(), "there is no result {}", r.index);
      chosen.push_back(r.absolute ? abs(results[r.index]) : results[r.index]);
    }
    return chosen;
  }

 private:
  static Tensor projected(const Tensor& x, Projection projection) {
    switch (projection) {
      case Projection::none:
        return x;
      case Projection::symmetric:
        return mul(add(x, conj(transpose(x, -2, -1))), Scalar(0.5));
      case Projection::lower:
        return tril(x);
      case Projection::upper:
        return triu(x);
      case Projection::log_probabilities:
        return log_softmax(x, -1);
    }
    return x;
  }
  static bool is_tensor_list(const Value& v) { return v.is_list() && v.to_list().is_tensors(); }
  template <class F>
  static void each_tensor(const Value& v, F&& f) {
    if (v.is_tensor()) {
      f(v.to_tensor());
    } else if (is_tensor_list(v)) {
      for (const Tensor& t : v.to_list().tensors()) {
        if (t.defined()) f(t);
      }
    }
  }

  const Op& op_;
  Sample sample_;
  std::vector<Tensor> inputs_;
};

Tensor leaf_of(const Tensor& t) {
  Tensor leaf = clone(detach(t), MemoryFormat::contiguous);
  autograd::set_requires_grad(leaf, true);
  return leaf;
}

// Gradients of a sum over all results with weights that differ, one list of numbers per leaf.
std::vector<std::vector<double>> weighted_gradients(const std::vector<Tensor>& results,
                                                    const std::vector<Tensor>& leaves) {
  std::vector<Tensor> outputs, weights;
  for (const Tensor& result : results) {
    if (!is_differentiable(result)) continue;
    SampleTensor weight;
    weight.dtype = result.dtype();
    weight.sizes.assign(result.sizes().begin(), result.sizes().end());
    weight.seed = 100 + outputs.size();
    outputs.push_back(result);
    weights.push_back(make_sample_tensor(weight));
  }
  autograd::GradOptions options;
  options.allow_unused = true;
  options.materialize_grads = true;
  std::vector<std::vector<double>> out;
  if (outputs.empty()) return out;
  for (const Tensor& g : autograd::grad(outputs, leaves, weights, options)) out.push_back(real_elements(g));
  return out;
}

bool are_close(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (size_t k = 0; k < a[i].size(); ++k) {
      const double x = a[i][k], y = b[i][k];
      if (std::isnan(x) && std::isnan(y)) continue;
      if (!(x == y || std::abs(x - y) <= 1e-8 + 1e-7 * std::abs(y))) return false;
    }
  }
  return true;
}

std::string numbers_text(const std::vector<std::vector<double>>& lists) {
  std::string out;
  for (const auto& list : lists) out += fmt::format("{}[{:.6g}]", out.empty() ? "" : ", ", fmt::join(list, ", "));
  return out;
}

// The in-place form of a functional operator, with the same arguments; null where there is none.
const Op* inplace_form(const Op& op) {
  if (op.schema().is_mutable()) return nullptr;
  const Op* form = find_op(std::string(op.info.name) + "_", op.info.overload);
  if (!form || form->schema().arguments.size() != op.schema().arguments.size()) return nullptr;
  for (size_t i = 0; i < op.schema().arguments.size(); ++i) {
    const Argument &a = form->schema().arguments[i], &b = op.schema().arguments[i];
    if (a.name != b.name || a.type != b.type) return nullptr;
  }
  return form;
}

class Checker {
 public:
  Checker(const Op& op, const OpSamples& samples, GradientReport& report)
      : op_(op), samples_(samples), report_(report) {}

  void run(std::string_view text) {
    text_ = text;
    numbers_ = Numbers::stated;
    if (guarded("sample", report_.runs, [&] {
          const SampleCall call(op_, read());
          call(call.inputs());
          return Check::passed;
        }))
      check_all();
    // The same with complex numbers, where the operator takes them.
    numbers_ = Numbers::complex;
    if (report_.runs == Check::passed && takes_complex()) check_all();
  }

 private:
  Sample read(const Op& op) const { return read_sample(op, text_, numbers_); }
  Sample read() const { return read(op_); }

  bool takes_complex() const {
    try {
      const Sample sample = read();
      if (!sample.changed) return false;
      const SampleCall call(op_, sample);
      call(call.inputs());
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  void check_all() {
    const Gradient kind = op_.info.gradient;
    if (kind != Gradient::formulas && kind != Gradient::through) return;
    const SampleCall call(op_, read());
    if (call.inputs().empty() || !is_double(call)) return;
    bool differentiable = false;
    if (!guarded("first order", report_.first, [&] {
          for (const Tensor& t : call(call.inputs())) differentiable |= is_differentiable(t);
          gradcheck(std::cref(call), call.inputs());
          return differentiable ? Check::passed : Check::absent;
        }))
      return;
    if (!differentiable) return;
    guarded("second order", report_.second, [&] { return second_order(call); });
    if (const Op* form = inplace_form(op_)) guarded("in place", report_.inplace, [&] { return in_place(*form, call); });
    guarded("views", report_.views, [&] { return strided(call); });
    guarded("views", report_.views, [&] { return expanded(call); });
  }

  // Differences of other floats tell little.
  static bool is_double(const SampleCall& call) {
    for (const Tensor& t : call(call.inputs())) {
      if (t.defined() && (is_floating(t.dtype()) || is_complex(t.dtype())) && t.dtype() != DType::float64 &&
          t.dtype() != DType::complex128)
        return false;
    }
    return true;
  }

  // Runs one check and adds what comes of it to `check`. False where it failed.
  template <class F>
  bool guarded(const char* name, Check& check, F&& f) {
    try {
      const Check result = f();
      if (check == Check::absent || (check == Check::passed && result == Check::missing)) check = result;
      return true;
    } catch (const Error& e) {
      check = Check::failed;
      const char* numbers = numbers_ == Numbers::complex ? "complex " : "";
      report_.failures.push_back(fmt::format("{} of {}\"{}\": {}", name, numbers, text_, e.what()));
      return false;
    }
  }

  Check second_order(const SampleCall& call) {
    try {
      gradgradcheck(std::cref(call), call.inputs());
    } catch (const Error& e) {
      const bool missing = std::string_view(e.what()).starts_with("derivative for ");
      if (!missing || !samples_.second_order) throw;
      return Check::missing;
    }
    return Check::passed;
  }

  // x.clone().f_(...) against f(x, ...)
  Check in_place(const Op& form, const SampleCall& call) {
    const std::vector<Tensor> results = call(call.inputs());
    const Sample sample = read(form);
    const Tensor& self = sample.args[0].to_tensor();
    if (results[0].sizes() != self.sizes() || results[0].dtype() != self.dtype()) return Check::absent;
    const SampleCall inplace(form, sample);
    const auto expected = weighted_gradients(results, call.inputs());
    const auto got = weighted_gradients(inplace(inplace.inputs()), inplace.inputs());
    SCONCE_CHECK(are_close(got, expected), "gradients of {} are {}, those of the functional form {}",
                 form.qualified_name(), numbers_text(got), numbers_text(expected));
    return Check::passed;
  }

  // The results of the operator for these inputs; nothing if it refuses them or gives other values than `expected`:
  // as_strided, view and random operators depend on the layout (the conformance cases say which do rightly).
  static std::vector<Tensor> same_results(const SampleCall& call, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& expected) {
    std::vector<Tensor> results;
    try {
      results = call(inputs);
    } catch (const Error&) {
      return {};
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!are_close({real_elements(results[i])}, {real_elements(expected[i])})) return {};
    }
    return results;
  }

  // Inputs that are every second element of a tensor with reversed dimensions.
  Check strided(const SampleCall& call) {
    std::vector<Tensor> leaves, inputs;
    for (const Tensor& x : call.inputs()) {
      std::vector<int64_t> reversed;
      for (int64_t d = x.dim(); d-- > 0;) reversed.push_back(d);
      const Tensor turned = permute(detach(x), reversed);
      leaves.push_back(leaf_of(stack({turned, zeros_like(turned)}, -1)));
      inputs.push_back(permute(select(leaves.back(), -1, 0), reversed));
    }
    const std::vector<Tensor> plain = call(call.inputs()), results = same_results(call, inputs, plain);
    if (results.empty()) return Check::absent;
    const auto expected = weighted_gradients(plain, call.inputs());
    const auto interleaved = weighted_gradients(results, leaves);
    std::vector<std::vector<double>> got;
    for (size_t i = 0; i < interleaved.size(); ++i) {
      const Tensor grad = from_real_elements(interleaved[i], leaves[i]);
      std::vector<int64_t> reversed;
      for (int64_t d = call.inputs()[i].dim(); d-- > 0;) reversed.push_back(d);
      got.push_back(real_elements(permute(select(grad, -1, 0), reversed)));
      for (double v : real_elements(select(grad, -1, 1)))
        SCONCE_CHECK(v == 0, "a view's gradient reaches elements outside of it");
    }
    SCONCE_CHECK(are_close(got, expected), "gradients for strided inputs are {}, for contiguous ones {}",
                 numbers_text(got), numbers_text(expected));
    return Check::passed;
  }

  // Inputs of which one dimension is expanded.
  Check expanded(const SampleCall& call) {
    std::vector<Tensor> leaves, inputs, copies;
    bool any = false;
    for (const Tensor& x : call.inputs()) {
      int64_t wide = 0;
      while (wide < x.dim() && x.size(wide) <= 1) ++wide;
      any |= wide < x.dim();
      leaves.push_back(leaf_of(wide < x.dim() ? narrow(detach(x), wide, 0, 1) : x));
      inputs.push_back(expand(leaves.back(), x.sizes()));
      copies.push_back(clone(expand(leaves.back(), x.sizes()), MemoryFormat::contiguous));
    }
    if (!any) return Check::absent;
    std::vector<Tensor> plain;
    std::vector<std::vector<double>> expected;
    try {
      plain = call(copies);
      expected = weighted_gradients(plain, leaves);
    } catch (const Error&) {
      return Check::absent;  // equal rows are nothing for it
    }
    const std::vector<Tensor> results = same_results(call, inputs, plain);
    if (results.empty()) return Check::absent;
    const auto got = weighted_gradients(results, leaves);
    SCONCE_CHECK(are_close(got, expected), "gradients for expanded inputs are {}, for copies {}", numbers_text(got),
                 numbers_text(expected));
    return Check::passed;
  }

  const Op& op_;
  const OpSamples& samples_;
  GradientReport& report_;
  std::string_view text_;
  Numbers numbers_ = Numbers::stated;
};

}  // namespace

GradientReport check_gradients(const OpSamples& samples) {
  GradientReport report;
  report.op = samples.op;
  const Op* op = find_op(samples.op);
  if (!op) {
    report.runs = Check::failed;
    report.failures.emplace_back("no such operator");
    return report;
  }
  const EnableGrad recording;
  Checker checker(*op, samples, report);
  for (const char* text : samples.texts) checker.run(text);
  if (samples.second_order && report.second == Check::passed) {
    report.second = Check::failed;
    report.failures.emplace_back("the table says that there is no second order, but it passes");
  }
  return report;
}

}  // namespace sconce::testing
