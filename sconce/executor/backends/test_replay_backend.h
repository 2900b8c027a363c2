// A backend for tests: it runs what it takes by Sconce's own operators, one after the other, and can be told to fail.
#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>

#include <gtest/gtest.h>

#include "sconce/executor/graph_backend.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/passes/analysis/constant_values.h"
#include "sconce/tensor/copy.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::executor {

class ReplayBackend : public GraphBackend {
 public:
  ReplayBackend(std::string name, std::string dialect, std::function<bool(const ir::Node&)> takes)
      : name_(std::move(name)), dialect_(std::move(dialect)), takes_(std::move(takes)) {}

  std::string name() const override { return name_; }
  std::string wants() const override { return dialect_; }
  bool takes(const ir::Node& node) override { return takes_(node); }
  std::shared_ptr<const Callable> compile(const Subgraph& part) override;

  // Texts of the graphs that were compiled.
  std::vector<std::string> graphs() const {
    const std::lock_guard lock(mutex_);
    return graphs_;
  }
  // Called in place of writing results, if set.
  std::function<void(std::span<const Tensor> in, std::span<Tensor> out)> instead;
  // Called before compiling, if set.
  std::function<void(const Subgraph&)> before_compile;

 private:
  std::string name_, dialect_;
  std::function<bool(const ir::Node&)> takes_;
  mutable std::mutex mutex_;
  std::vector<std::string> graphs_;
};

// The outputs of a straight graph for these inputs.
inline std::vector<Tensor> replay(const ir::Graph& graph, std::span<const Tensor> inputs) {
  std::unordered_map<const ir::Value*, Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = Value(inputs[i]);
  for (const ir::Node* node : graph.nodes()) {
    if (node->is(ir::kind::Constant)) {
      values[node->output()] = ir::constant_value(node->output()).value();
      continue;
    }
    std::vector<Value> args;
    for (const ir::Value* v : node->inputs()) args.push_back(values.at(v));
    const std::vector<Value> results = passes::evaluate(*node, std::move(args)).value();
    for (size_t i = 0; i < results.size(); ++i) values[node->output(i)] = results[i];
  }
  std::vector<Tensor> outputs;
  for (const ir::Value* v : graph.outputs()) outputs.push_back(values.at(v).to_tensor());
  return outputs;
}

// Types of inputs must be true of what is given.
inline void expect_types(const ir::Graph& graph, std::span<const Tensor> in, std::span<const Tensor> out) {
  const auto fits = [](const ir::Value* v, const Tensor& t) {
    const TensorFacts& facts = *v->type()->tensor_facts();
    return facts.dtype == t.dtype() && facts.sizes == t.sizes().vec() && facts.strides == t.strides().vec();
  };
  for (size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(fits(graph.inputs()[i], in[i])) << graph.to_string();
  for (size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(fits(graph.outputs()[i], out[i])) << graph.to_string();
}

class Replayed final : public Callable {
 public:
  Replayed(Subgraph part, const ReplayBackend& backend) : part_(std::move(part)), backend_(backend) {}
  void run(std::span<const Tensor> in, std::span<Tensor> out) const override {
    ASSERT_EQ(in.size(), part_.graph->inputs().size());
    ASSERT_EQ(out.size(), part_.graph->outputs().size());
    expect_types(*part_.graph, in, out);
    if (backend_.instead) return backend_.instead(in, out);
    const std::vector<Tensor> results = replay(*part_.graph, in);
    for (size_t i = 0; i < out.size(); ++i) copy_tensor(out[i], results[i]);
  }

 private:
  Subgraph part_;
  const ReplayBackend& backend_;
};

inline std::shared_ptr<const Callable> ReplayBackend::compile(const Subgraph& part) {
  if (before_compile) before_compile(part);
  ir::verify(*part.graph);
  EXPECT_EQ(part.constants.size(), part.graph->inputs().size());
  EXPECT_TRUE(lowering::find_outside(*part.graph, *lowering::find_dialect(dialect_)).empty());
  const std::lock_guard lock(mutex_);
  graphs_.push_back(part.graph->to_string(false));
  return std::make_shared<Replayed>(part, *this);
}

}  // namespace sconce::executor
