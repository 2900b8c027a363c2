// Samples and recorded calls of every Core ATen operator, run at every level of the compiler: without writes, in Core
// ATen, by a plan. All give eager's bits (to_prims_test.cpp has prims, which may differ by 2 units of the last place).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <set>

#include "sconce/dispatch/registry.h"
#include "sconce/executor/plan_steps.h"
#include "sconce/ir/function.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/core_calls.h"
#include "sconce/testing/compiled/lowered_call.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/conformance/case_tree.h"
#include "sconce/testing/conformance/case_value.h"
#include "sconce/testing/gradients/sample.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/type.h"

namespace sconce::testing {
namespace {

// Core operators on elements whose samples become no loop nest, with the reason.
const std::set<std::string>& not_in_nests() {
  // Divisions of integers, which raise an error for a zero.
  static const std::set<std::string> names = {"aten::div.Tensor_mode", "aten::fmod.Tensor", "aten::remainder.Tensor"};
  return names;
}
// Core operators that none of them calls.
const std::set<std::string>& not_called() {
  static const std::set<std::string> names = {"aten::atan2.out"};  // it writes: lowering makes atan2 of it
  return names;
}

Value without_grad(const Value& v) {
  if (v.is_tensor() && v.to_tensor().defined()) return detach(v.to_tensor());
  if (!v.is_list() || !v.to_list().is_tensors()) return v;
  auto list = make_ref<List>(v.to_list().element_type());
  for (const Value& item : v.to_list().values()) list->append(without_grad(item));
  return list;
}

std::vector<Value> fresh(const Op& op, const char* text) {
  std::vector<Value> args = read_sample(op, text).args;
  for (Value& v : args) v = without_grad(v);
  manual_seed(7);
  return args;
}

// A function that makes one call: tensors, and lists of them, are its arguments, everything else is constant.
ir::Function& one_call(ir::CompilationUnit& unit, const Op& op, const std::vector<Value>& args) {
  const auto graph = std::make_shared<ir::Graph>();
  Schema schema;
  schema.name = unit.unique_name("__torch__.sample");
  std::vector<ir::Value*> inputs;
  for (size_t i = 0; i < args.size(); ++i) {
    const Argument& a = op.schema().arguments[i];
    const bool tensors = args[i].is_tensor() || (args[i].is_list() && args[i].to_list().is_tensors());
    if (tensors) {
      Argument own;
      own.name = a.name;
      own.type = args[i].is_tensor() ? tensor_type() : plain_type(a.type);
      schema.arguments.push_back(own);
      inputs.push_back(graph->add_input(own.type, a.name));
    } else {
      inputs.push_back(graph->insert_constant(args[i], {}, args[i].is_none() ? none_type() : nullptr));
    }
  }
  ir::Node* node = graph->insert(graph->create(op, inputs));
  std::vector<TypePtr> types;
  for (ir::Value* v : node->outputs()) types.push_back(v->type());
  ir::Value* result =
      node->outputs().size() == 1
          ? node->output()
          : graph->insert(graph->create(ir::kind::TupleConstruct, node->outputs()))->add_output(tuple_type(types));
  graph->add_output(result);
  Argument returned;
  returned.type = result->type();
  schema.returns.push_back(returned);
  ir::Function& made = unit.add_function(schema.name);
  made.set_schema(std::move(schema));
  made.set_graph(graph);
  return made;
}

std::vector<Value> tensors_of(const std::vector<Value>& args) {
  std::vector<Value> out;
  for (const Value& v : args) {
    if (v.is_tensor() || (v.is_list() && v.to_list().is_tensors())) out.push_back(v);
  }
  return out;
}

// Runs a call eagerly and at every level. `arguments` gives fresh ones, each time the same.
class Levels {
 public:
  void check(const Op& op, const std::function<std::vector<Value>()>& arguments) {
    const std::string name = op.qualified_name();
    const bool unwritten = name.starts_with("aten::empty");  // memory as it was found
    std::vector<Value> given = arguments(), returns(op.schema().returns.size());
    op.call_boxed(given.data(), returns.data());
    ran_.insert(name);
    ++calls_;
    for (const char* dialect : {"functional", "core"}) {
      RecordedCall call;
      call.op = &op;
      call.args = arguments();
      const std::vector<Value> got = invoke_lowered(call, dialect);
      ASSERT_EQ(got.size(), returns.size()) << dialect;
      for (size_t i = 0; i < got.size() && !unwritten; ++i) {
        const Difference d = compare_nested(got[i], returns[i], compare_same_bits);
        EXPECT_FALSE(d) << dialect << ": " << *d;
      }
    }
    if (op.schema().is_mutable() || unwritten) return;
    ir::Function& function = one_call(unit_, op, arguments());
    const Difference d = compare_planned_calls(function, std::nullopt,
                                               [&](const std::optional<Value>&) { return tensors_of(arguments()); });
    EXPECT_FALSE(d) << *d;
    const bool elements = op.has(Trait::pointwise) && returns[0].is_tensor() && returns[0].to_tensor().numel() > 0;
    if (!elements) return;
    const executor::PlanListing plan = executor::list_plan(function, tensors_of(arguments()));
    if (plan.steps.size() != 1 || plan.steps[0].nest.empty()) unfused_.insert(name);
  }

  const std::set<std::string>& ran() const { return ran_; }
  const std::set<std::string>& unfused() const { return unfused_; }
  size_t calls() const { return calls_; }

 private:
  ir::CompilationUnit unit_;
  std::set<std::string> ran_, unfused_;
  size_t calls_ = 0;
};

TEST(CoreSamples, HaveEagersBitsAtEveryLevel) {
  const NoGrad no_grad;
  Levels levels;
  for (const OpSamples& samples : op_samples()) {
    const Op* op = find_op(samples.op);
    if (!op || !op->has(Trait::core)) continue;
    for (const char* text : samples.texts) {
      SCOPED_TRACE(std::string(samples.op) + ": " + text);
      levels.check(*op, [&] { return fresh(*op, text); });
    }
  }
  for (const auto& [name, text] : kMoreCoreCalls) {
    SCOPED_TRACE(std::string(name) + ": " + text);
    const Op& op = *find_op(name);
    levels.check(op, [&] { return fresh(op, text); });
  }
  for (const CaseFolder& folder : find_cases(source_path("tests/conformance/ops"))) {
    for (const std::string& path : folder.files) {
      const CaseFile file = CaseFile::open(path);
      for (size_t i = 0; i < file.size(); ++i) {
        const Op* named = find_op(file.at(i).value("op", ""));
        if (!named || !named->has(Trait::core)) continue;
        const Op* op = bind_call(*named, file.at(i), file.tensors()).op;
        if (!op->has(Trait::core) || op->schema().is_mutable()) continue;
        SCOPED_TRACE(path + " #" + std::to_string(i) + " " + op->qualified_name());
        levels.check(*op, [&] {
          manual_seed(7);
          return bind_call(*named, file.at(i), file.tensors()).args;
        });
      }
    }
  }
  std::set<std::string> missing;
  for (const Op* op : all_ops()) {
    if (op->has(Trait::core) && !levels.ran().contains(op->qualified_name())) missing.insert(op->qualified_name());
  }
  std::printf("%zu core overloads in %zu calls: eager's bits without writes, in Core ATen, planned\n",
              levels.ran().size(), levels.calls());
  EXPECT_EQ(levels.unfused(), not_in_nests());
  EXPECT_EQ(missing, not_called());
}

}  // namespace
}  // namespace sconce::testing
