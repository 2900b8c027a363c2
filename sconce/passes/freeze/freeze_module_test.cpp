#include "sconce/passes/freeze/freeze_module.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/testing/error_of.h"
#include "sconce/types/class_info.h"

namespace sconce::passes {
namespace {

Value tensor(std::vector<int64_t> sizes) { return call_op("aten::ones", {IntList(sizes)}).at(0); }

class Freeze : public ::testing::Test {
 protected:
  using Attributes = std::vector<std::pair<ClassInfo::Attribute, Value>>;

  Ref<Object> module(const std::string& name, const Attributes& attributes, const std::string& forward) {
    const TypePtr type = make_class_type("__torch__." + name);
    type->class_info()->is_module = true;
    for (const auto& [attribute, value] : attributes) type->class_info()->attributes.push_back(attribute);
    unit.add_type(type);
    add_method(type, "forward", forward);
    Ref<Object> object = make_ref<Object>(type);
    for (size_t i = 0; i < attributes.size(); ++i) object->set_slot(i, attributes[i].second);
    return object;
  }

  void add_method(TypePtr type, const std::string& name, const std::string& text) {
    ir::Function& f = unit.add_function(type->name() + "." + name);
    f.set_graph(ir::parse_graph(text, [&](std::string_view n) { return unit.find_type(n); }));
    Schema schema;
    schema.name = name;
    schema.arguments.resize(f.graph()->inputs().size());
    for (size_t i = 0; i < schema.arguments.size(); ++i) schema.arguments[i].type = f.graph()->inputs()[i]->type();
    f.set_schema(schema);
    f.set_self_type(type);
    type->class_info()->methods.emplace_back(name, &f);
  }

  static size_t count(const ir::Graph& graph, const char* kind) {
    size_t n = 0;
    for (const ir::Node* node : graph.nodes()) n += node->is(ir::Symbol(kind));
    return n;
  }

  static const ir::Graph& forward_of(const Value& module) {
    ir::Function* forward = module.to_object().type()->class_info()->find_method("forward");
    ir::verify(*forward->graph());
    return *forward->graph();
  }

  ir::CompilationUnit unit;
};

constexpr const char* kScale = R"(graph(%self : __torch__.Scale, %x : Tensor):
  %w : Tensor = prim::GetAttr[name="weight"](%self)
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
)";

TEST_F(Freeze, AttributesBecomeConstants) {
  const Value scale = module("Scale", {{{"weight", tensor_type()}, tensor({3})}}, kScale);
  const Value net = module("Net", {{{"training", bool_type()}, false}, {{"scale", scale.type()}, scale}},
                           R"(graph(%self : __torch__.Net, %x : Tensor):
  %s : __torch__.Scale = prim::GetAttr[name="scale"](%self)
  %y : Tensor = prim::CallMethod[name="forward"](%s, %x)
  return (%y)
)");
  const Value frozen = freeze(unit, net);
  EXPECT_EQ(frozen.to_object().type()->name(), "__torch__.___torch_mangle_0.Net");
  EXPECT_TRUE(frozen.to_object().type()->class_info()->attributes.empty());
  const ir::Graph& forward = forward_of(frozen);
  EXPECT_EQ(count(forward, "prim::GetAttr"), 0u);
  EXPECT_EQ(count(forward, "prim::CallMethod"), 0u);
  EXPECT_EQ(count(forward, "aten::mul"), 1u);
  EXPECT_EQ(net.to_object().type()->class_info()->attributes.size(), 2u);
}

TEST_F(Freeze, WhatIsWrittenStays) {
  const Value counter = tensor({1});
  const Value net =
      module("Net", {{{"count", tensor_type()}, counter}, {{"calls", int_type()}, 0}, {{"one", int_type()}, 1}},
             R"(graph(%self : __torch__.Net, %x : Tensor):
  %one : int = prim::GetAttr[name="one"](%self)
  %calls : int = prim::GetAttr[name="calls"](%self)
  %more : int = aten::add(%calls, %one)
   = prim::SetAttr[name="calls"](%self, %more)
  %c : Tensor = prim::GetAttr[name="count"](%self)
  %d : Tensor = aten::neg_(%c)
  return (%x)
)");
  const Value frozen = freeze(unit, net);
  const auto& attributes = frozen.to_object().type()->class_info()->attributes;
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].name, "count");
  EXPECT_EQ(attributes[1].name, "calls");
  EXPECT_TRUE(frozen.to_object().attr("count").is_same(counter));
  forward_of(frozen);
}

TEST_F(Freeze, MemoryThatIsWrittenUnderAnotherName) {
  const Value data = tensor({3});
  const Value net =
      module("Net", {{{"a", tensor_type()}, data}, {{"b", tensor_type()}, call_op("aten::detach", {data}).at(0)}},
             R"(graph(%self : __torch__.Net, %x : Tensor):
  %a : Tensor = prim::GetAttr[name="a"](%self)
  %b : Tensor = prim::GetAttr[name="b"](%self)
  %c : Tensor = aten::neg_(%b)
  return (%a)
)");
  EXPECT_EQ(freeze(unit, net).to_object().type()->class_info()->attributes.size(), 2u);
}

TEST_F(Freeze, Preserved) {
  const Value scale =
      module("Scale", {{{"weight", tensor_type()}, tensor({3})}, {{"training", bool_type()}, false}}, kScale);
  const Value frozen = freeze(unit, scale, {.preserved = {"weight"}, .fold_numerics = true});
  ASSERT_EQ(frozen.to_object().type()->class_info()->attributes.size(), 1u);
  EXPECT_EQ(count(forward_of(frozen), "prim::GetAttr"), 1u);
  EXPECT_ERROR(freeze(unit, scale, {.preserved = {"bias"}, .fold_numerics = true}),
               "freeze: unknown name 'bias' to preserve");
}

TEST_F(Freeze, Refuses) {
  const Value scale =
      module("Scale", {{{"weight", tensor_type()}, tensor({3})}, {{"training", bool_type()}, true}}, kScale);
  EXPECT_ERROR(freeze(unit, scale), "Freezing is currently only implemented for modules in eval mode");
  EXPECT_ERROR(freeze(unit, Value(3)), "freeze: expected a module, got int");
}

}  // namespace
}  // namespace sconce::passes
