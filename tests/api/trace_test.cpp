// jit::trace: functions and methods from runs of C++.
#include <gtest/gtest.h>

#include "sconce/sconce.hpp"
#include "sconce/tracing/traced_module.h"
#include "sconce/tracing/tracer.h"

namespace sconce {
namespace {

using Inputs = std::vector<Value>;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Trace, records_operators_and_runs_them_on_other_inputs) {
  const jit::Function f =
      jit::trace([](const Inputs& in) -> Value { return in[0].to_tensor().relu().add(in[1].to_tensor(), 2); },
                 {ones({2, 3}), ones({3})}, {.name = "f", .argument_names = {"x", "y"}});
  EXPECT_EQ(f.graph(),
            "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),\n"
            "      %y : Float(3, strides=[1], requires_grad=0, device=cpu)):\n"
            "  %2 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu(%x)\n"
            "  %3 : int = prim::Constant[value=2]()\n"
            "  %4 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::add(%2, %y, %3)\n"
            "  return (%4)\n");
  EXPECT_EQ(f(full({4, 1}, -1), ones({1})).to_tensor().sizes(), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(f(full({1}, 3), ones({1})).to_tensor().item().to_double(), 5);
}

TEST(Trace, names_the_value_after_a_write) {
  const jit::Function f = jit::trace(
      [](const Inputs& in) -> Value {
        const Tensor x = in[0].to_tensor().clone();
        x.select(0, 0).mul_(3);
        return x + x;
      },
      {ones({2})});
  EXPECT_EQ(f(full({2}, 2)).to_tensor().sum().item().to_double(), 12 + 4);
}

TEST(Trace, takes_and_gives_containers) {
  const jit::Function f = jit::trace(
      [](const Inputs& in) -> Value {
        const std::vector<Value>& pair = in[0].to_tuple().items;
        return std::tuple(pair[0].to_tensor() + pair[1].to_tensor(), pair[0].to_tensor().unbind(0));
      },
      {std::tuple(ones({2}), ones({2}))}, {.strict = false});
  const Value out = f(std::tuple(full({2}, 4), ones({2})));
  EXPECT_EQ(out.to_tuple().items[0].to_tensor().sum().item().to_double(), 10);
  EXPECT_EQ(out.to_tuple().items[1].to_list().size(), 2u);
}

TEST(Trace, refuses_what_it_cannot_keep) {
  const Tensor outside = ones({2});
  EXPECT_NE(message_of([&] {
              jit::trace([&](const Inputs&) -> Value { return outside; }, {ones({2})});
            }).find("did not have observable data dependence"),
            std::string::npos);
  autograd::set_requires_grad(outside, true);
  EXPECT_NE(message_of([&] {
              jit::trace([&](const Inputs& in) -> Value { return in[0].to_tensor() + outside; }, {ones({2})});
            }).find("Cannot insert a Tensor that requires grad as a constant"),
            std::string::npos);
  EXPECT_EQ(tracing::Tracer::current(), nullptr);  // also after an error
}

TEST(Trace, makes_methods_of_modules) {
  const auto unit = std::make_shared<ir::CompilationUnit>();
  const Tensor weight = full({2}, 3);
  const Value inner = tracing::make_traced_module(*unit, {"__torch__.Inner", {{"weight", weight}}, {}, {}});
  const Value outer = tracing::make_traced_module(*unit, {"__torch__.Outer", {}, {}, {{"inner", inner}}});
  const auto run = [&](std::vector<Value> in) -> Value {
    tracing::Tracer& tracer = *tracing::Tracer::current();
    tracer.enter_module("__module.inner");
    const Tensor y = in[0].to_tensor() * weight;
    tracer.leave_module();
    return y + weight;
  };
  const tracing::Trace made = tracing::trace(run, {ones({2})}, {}, outer, unit.get());
  tracing::define_traced(*unit, "__torch__.Outer.forward", made.graph, outer.to_object().type());
  const jit::Module module(unit, outer);
  EXPECT_EQ(module(full({2}, 2)).to_tensor().sum().item().to_double(), 18);
  EXPECT_NE(module.method("forward").graph().find("prim::CallMethod[name=\"forward\"]"), std::string::npos);
  EXPECT_NE(module.submodule("inner").method("forward").graph().find("scope: __module.inner"), std::string::npos);
}

}  // namespace
}  // namespace sconce
