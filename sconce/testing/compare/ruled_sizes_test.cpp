// Shape rules and inverses of views over the samples of the table. conformance.meta checks shape rules
// over recorded calls.
#include "sconce/testing/compare/ruled_sizes.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/entry.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/graph_code.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/gradients/sample.h"

namespace sconce::testing {
namespace {

std::vector<Value> call(const Op& op, std::vector<Value> args) {
  std::vector<Value> returns(op.schema().returns.size());
  op.call_boxed(args.data(), returns.data());
  return returns;
}

TEST(ShapeRules, HoldForEverySample) {
  const NoGrad no_grad;
  size_t rules = 0, calls = 0;
  for (const OpSamples& samples : op_samples()) {
    const Op& op = *find_op(samples.op);
    if (!op.info.entry || !op.info.entry->shape) continue;
    ++rules;
    for (const char* text : samples.texts) {
      SCOPED_TRACE(std::string(samples.op) + ": " + text);
      const Sample sample = read_sample(op, text);
      const RuledSizes ruled(op, sample.args);
      const Difference d = ruled.compare(call(op, sample.args));
      EXPECT_FALSE(d) << *d;
      ++calls;
    }
  }
  EXPECT_GT(rules, 250u);
  EXPECT_GT(calls, 600u);
}

// Every rule can be compiled, also those of operators without samples.
TEST(ShapeRules, BecomeGraphs) {
  for (const Op* op : all_ops()) {
    if (!op->info.entry) continue;
    if (op->info.entry->shape) {
      EXPECT_NE(passes::op_graphs()->shape(*op), nullptr) << op->schema_text();
    }
    if (op->info.entry->scatter && op->has(Trait::view)) {
      EXPECT_NE(passes::op_graphs()->scatter(*op), nullptr) << op->schema_text();
    }
  }
}

std::vector<Tensor> tensors_of(const Value& v) {
  if (v.is_tensor()) return {v.to_tensor()};
  std::vector<Tensor> out;
  for (const Tensor& t : v.to_list().tensors()) out.push_back(t);
  return out;
}

// scatter(self, src) is self with src written to the view.
TEST(Scatter, IsWritingToTheView) {
  const NoGrad no_grad;
  size_t checked = 0;
  for (const OpSamples& samples : op_samples()) {
    const Op& op = *find_op(samples.op);
    const ir::Graph* scatter = op.has(Trait::view) ? passes::op_graphs()->scatter(op) : nullptr;
    if (!scatter) continue;
    for (const char* text : samples.texts) {
      SCOPED_TRACE(std::string(samples.op) + ": " + text);
      std::vector<Value> args = read_sample(op, text).args;
      const Tensor self = args[0].to_tensor();
      std::vector<Tensor> src;
      for (const Tensor& t : tensors_of(call(op, args)[0])) src.push_back(neg(t));
      std::vector<Value> given = args;
      if (op.schema().returns[0].type->is(TypeKind::tensor)) {
        given.emplace_back(src.at(0));
      } else {
        auto list = make_ref<List>(tensor_type());
        for (const Tensor& t : src) list->append(t);
        given.emplace_back(list);
      }
      const Tensor got = runtime::GraphCode(*scatter, "scatter", nullptr, false).run(given).to_tensor();
      const Tensor want = clone(self, MemoryFormat::preserve);
      args[0] = want;
      const std::vector<Tensor> views = tensors_of(call(op, args)[0]);
      for (size_t i = 0; i < views.size(); ++i) copy_(views[i], src[i]);
      EXPECT_TRUE(equal(got, want));
      ++checked;
    }
  }
  EXPECT_GT(checked, 25u);
}

}  // namespace
}  // namespace sconce::testing
