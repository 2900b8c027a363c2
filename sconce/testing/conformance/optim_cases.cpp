#include "sconce/testing/conformance/optim_cases.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/optim/optimizer.h"
#include "sconce/optim/scheduler.h"
#include "sconce/testing/compare/compare.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::testing {
namespace {

optim::Options options_of(const Json& json, const SafetensorsFile& tensors) {
  optim::Options options;
  for (const auto& [name, v] : json.at("kwargs").items()) options.set(name, read_value(v, tensors));
  return options;
}

Difference compare_parameters(const std::vector<Tensor>& got, const Json& expected, const SafetensorsFile& tensors) {
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor wanted = read_value(expected.at(i), tensors).to_tensor();
    Difference d = compare_geometry(got[i], wanted, false);
    if (!d) d = compare_elements(got[i], wanted, Closeness::close);
    if (d) return fmt::format("parameter {}: {}", i, *d);
  }
  return {};
}

Difference run_optimizer(const Json& json, const SafetensorsFile& tensors) {
  SCONCE_CHECK(json.at("model") == "Linear(5,4) Tanh Linear(4,1)" && json.at("loss") == "mean((m(x)-y)^2)",
               "unknown model or loss");
  std::vector<Tensor> p;
  for (const Json& t : json.at("start")) {
    p.push_back(read_value(t, tensors).to_tensor());
    autograd::set_requires_grad(p.back(), true);
  }
  const Tensor x = read_value(json.at("x"), tensors).to_tensor(), y = read_value(json.at("y"), tensors).to_tensor();
  const auto optimizer = optim::make_optimizer(json.at("optimizer").get<std::string>(), p, options_of(json, tensors));
  const auto closure = [&] {
    optimizer->zero_grad();
    const Tensor gap = sub(linear(tanh(linear(x, p[0], p[1])), p[2], p[3]), y);
    const Tensor loss = mean(mul(gap, gap));
    autograd::backward({loss});
    return loss;
  };
  const Json& losses = json.at("losses");
  for (size_t step = 0; step < losses.size(); ++step) {
    const double loss = item_of(optimizer->step(closure)).to_double(), expected = losses.at(step).get<double>();
    const Tolerance t = tolerance_for(DType::float32, Closeness::close);
    if (!(std::abs(loss - expected) <= t.absolute + t.relative * std::abs(expected))) {
      return fmt::format("the loss before step {} is {}, expected {}", step, loss, expected);
    }
    for (const Json& after : json.at("after_step")) {
      if (after.at(0).get<size_t>() != step) continue;
      if (Difference d = compare_parameters(p, after.at(1), tensors)) return fmt::format("after step {}: {}", step, *d);
    }
  }
  return {};
}

Difference run_scheduler(const Json& json, const SafetensorsFile& tensors) {
  const Tensor parameter = zeros(IntList{1});
  autograd::set_requires_grad(parameter, true);
  const auto optimizer =
      optim::make_optimizer("SGD", std::vector<Tensor>{parameter}, {{"lr", json.at("base_lr").get<double>()}});
  const auto scheduler =
      optim::make_scheduler(json.at("scheduler").get<std::string>(), *optimizer, options_of(json, tensors));
  size_t step = 0;
  for (const Json& expected : json.at("lrs")) {
    if (Difference d = compare_plain(optimizer->lr(), expected.get<double>())) {
      return fmt::format("after step {}: {}", step, *d);
    }
    optimizer->step();
    scheduler->step();
    ++step;
  }
  return {};
}

class OptimCases final : public CaseKind {
 public:
  std::string_view name() const override { return "optim"; }
  bool matches(const CaseFile& file) const override {
    return file.at(0).contains("optimizer") || file.at(0).contains("scheduler");
  }
  bool is_case(const Json&) const override { return true; }
  std::string subject(const Json& json) const override {
    return json.contains("optimizer") ? json.at("optimizer").get<std::string>() : json.value("scheduler", "");
  }
  CaseResult run(const CaseFile& file, size_t index, const RunOptions&) const override {
    const Json& json = file.at(index);
    try {
      const Difference d =
          json.contains("optimizer") ? run_optimizer(json, file.tensors()) : run_scheduler(json, file.tensors());
      return d ? CaseResult::failure(*d) : CaseResult::pass();
    } catch (const std::exception& error) {
      return CaseResult::failure(error.what());
    }
  }
};

}  // namespace

const CaseKind& optim_cases() {
  static const OptimCases kind;
  return kind;
}

}  // namespace sconce::testing
