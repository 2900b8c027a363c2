// Calls of functions, methods and interfaces; objects; context managers.
#include <gtest/gtest.h>

#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

// Kept as calls: the tests below are about them.
constexpr const char* kFib = R"(graph(%n : int):
  %f : Function = prim::Constant[name="fib"]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %c : bool = aten::lt(%n, %two)
  %r : int = prim::If(%c)
    block0():
      -> (%n)
    block1():
      %a : int = aten::sub(%n, %one)
      %b : int = aten::sub(%n, %two)
      %x : int = prim::CallFunction(%f, %a)
      %y : int = prim::CallFunction(%f, %b)
      %s : int = aten::add(%x, %y)
      -> (%s)
  return (%r)
)";

TEST(Calls, FunctionsMayCallThemselves) {
  Program p;
  p.add("fib", kFib);
  EXPECT_EQ(p.call("fib", {int64_t{20}}).to_int(), 6765);
}

constexpr const char* kDown = R"(graph(%n : int, %x : Tensor):
  %f : Function = prim::Constant[name="down"]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %c : bool = aten::eq(%n, %zero)
  %r : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      %a : int = aten::sub(%n, %one)
      %y : Tensor = aten::add(%x, %one, %one)
      %z : Tensor = prim::CallFunction(%f, %a, %y)
      -> (%z)
  return (%r)
)";

TEST(Calls, DepthIsLimitedByOptionsNotByTheStackOfTheMachine) {
  Program p;
  p.add("down", kDown);
  const Tensor x = scalar_tensor_of(0.0, DType::float32);
  EXPECT_EQ(item_of(p.call("down", {int64_t{9'000}, x}).to_tensor()).to_double(), 9'000);
  EXPECT_ERROR(p.call("down", {int64_t{20'000}, x}), "maximum depth of calls reached: 10000");
  RunOptions deep;
  deep.max_depth = 300'000;
  EXPECT_EQ(item_of(p.call("down", {int64_t{200'000}, x}, deep).to_tensor()).to_double(), 200'000);
  EXPECT_EQ(x.impl()->count.owners(), 1u);
}

TEST(Calls, ArgumentsAreCheckedWhenARunBegins) {
  Program p;
  p.add("fib", kFib);
  EXPECT_ERROR(p.call("fib", {2.5}), "Expected a value of type 'int' for argument 0 but instead found type 'float'");
  EXPECT_ERROR(p.call("fib", {}), "fib() takes 1 arguments, got 0");
}

TEST(Calls, BindingConvertsAsPythonCallsDo) {
  Program p;
  ir::Function& f = p.add("f", R"(graph(%a : float, %b : int[], %c : str?):
  %r : (float, int[], str?) = prim::TupleConstruct(%a, %b, %c)
  return (%r)
)");
  Schema schema = f.schema();
  schema.arguments[2].default_value = Value();
  f.set_schema(schema);
  const Value list(IntList({1, 2}));
  std::vector<Value> bound = bind_call(f, {true}, {{"b", list}});
  EXPECT_NE(&bound[1].to_list(), &list.to_list());
  EXPECT_EQ(run(f, bound).repr(), "(1.0, [1, 2], None)");
  EXPECT_ERROR(bind_call(f, {1.0}), "f() is missing value for argument 'b'");
  EXPECT_ERROR(bind_call(f, {1.0, list, "x", 4}), "f() expected at most 3 argument(s) but received 4 argument(s)");
  EXPECT_ERROR(bind_call(f, {1.0, list}, {{"q", 1}}), "Unknown keyword argument 'q' for operator 'f'");
  EXPECT_ERROR(
      bind_call(f, {"no", list}),
      "f() Expected a value of type 'float' for argument 'a' but instead found type 'str'.\nPosition: 0\nValue: 'no'");
}

struct Counter : Program {
  TypePtr type = add_class("__torch__.Counter", {{"n", int_type()}, {"log", list_type(string_type())}});
  Counter() {
    add_method(type, "step", R"(graph(%self : __torch__.Counter, %by : int):
  %n : int = prim::GetAttr[name="n"](%self)
  %m : int = aten::add(%n, %by)
   = prim::SetAttr[name="n"](%self, %m)
  return (%m)
)");
    add_method(type, "__enter__", R"(graph(%self : __torch__.Counter):
  %log : str[] = prim::GetAttr[name="log"](%self)
  %s : str = prim::Constant[value="enter"]()
  %x : str[] = aten::append(%log, %s)
  return (%self)
)");
    add_method(type, "__exit__", R"(graph(%self : __torch__.Counter, %t : Any, %v : Any, %b : Any):
  %log : str[] = prim::GetAttr[name="log"](%self)
  %s : str = prim::Constant[value="exit"]()
  %x : str[] = aten::append(%log, %s)
  %none : NoneType = prim::Constant()
  return (%none)
)");
  }
  Value object() const {
    auto o = make_ref<Object>(type);
    o->set_attr("n", int64_t{0});
    o->set_attr("log", Value(make_ref<List>(string_type())));
    return o;
  }
};

TEST(Calls, MethodsChangeTheirObject) {
  Counter p;
  p.add("f", R"(graph(%c : __torch__.Counter, %n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %r : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %x : int):
      %y : int = prim::CallMethod[name="step"](%c, %i)
      -> (%go, %y)
  return (%r)
)");
  const Value c = p.object();
  EXPECT_EQ(p.call("f", {c, int64_t{5}}).to_int(), 10);
  EXPECT_EQ(c.to_object().attr("n").to_int(), 10);
  EXPECT_EQ(c.counted()->count.owners(), 1u);
}

TEST(Calls, ContextManagersAreLeftInOrder) {
  Counter p;
  p.add("f", R"(graph(%c : __torch__.Counter):
  %e : __torch__.Counter = prim::Enter(%c)
  %one : int = prim::Constant[value=1]()
  %y : int = prim::CallMethod[name="step"](%e, %one)
   = prim::Exit(%c)
  return (%y)
)");
  const Value c = p.object();
  EXPECT_EQ(p.call("f", {c}).to_int(), 1);
  EXPECT_EQ(c.to_object().attr("log").repr(), "['enter', 'exit']");
  EXPECT_EQ(c.counted()->count.owners(), 1u);
}

TEST(Calls, ErrorsLeaveContextManagers) {
  Counter p;
  p.add("f", R"(graph(%c : __torch__.Counter, %d : __torch__.Counter, %n : int):
  %e : __torch__.Counter = prim::Enter(%c)
  %e2 : __torch__.Counter = prim::Enter(%d)
  %one : int = prim::Constant[value=1]()
  %y : int = aten::floordiv(%one, %n)
   = prim::Exit(%d)
   = prim::Exit(%c)
  return (%y)
)");
  const Value c = p.object(), d = p.object();
  EXPECT_ERROR(p.call("f", {c, d, int64_t{0}}), "RuntimeError: division by 0");
  EXPECT_EQ(c.to_object().attr("log").repr(), "['enter', 'exit']");
  EXPECT_EQ(d.to_object().attr("log").repr(), "['enter', 'exit']");
  EXPECT_EQ(c.counted()->count.owners(), 1u);
  EXPECT_EQ(d.counted()->count.owners(), 1u);
}

TEST(Calls, InterfacesFindTheMethodOfTheObject) {
  Counter p;
  const TypePtr other = p.add_class("__torch__.Other", {});
  p.add_method(other, "step", R"(graph(%self : __torch__.Other, %by : int):
  %m : int = aten::neg(%by)
  return (%m)
)");
  const TypePtr interface = make_interface_type("__torch__.Step");
  p.unit.add_type(interface);
  interface->interface_info()->methods.emplace_back(
      "step", std::make_shared<Schema>(parse_schema("step(Any self, int by) -> int")));
  p.add("f", R"(graph(%a : __torch__.Step, %by : int):
  %x : int = prim::CallMethod[name="step"](%a, %by)
  %y : int = prim::CallMethod[name="step"](%a, %x)
  return (%y)
)");
  EXPECT_EQ(p.call("f", {p.object(), int64_t{3}}).to_int(), 6);
  EXPECT_EQ(p.call("f", {Value(make_ref<Object>(other)), int64_t{3}}).to_int(), 3);
  EXPECT_EQ(p.call("f", {p.object(), int64_t{1}}).to_int(), 2);
}

TEST(Calls, ObjectsAreMadeAndInitialised) {
  Counter p;
  p.add_method(p.type, "__init__", R"(graph(%self : __torch__.Counter, %n : int):
   = prim::SetAttr[name="n"](%self, %n)
  %log : str[] = prim::ListConstruct()
   = prim::SetAttr[name="log"](%self, %log)
  %none : NoneType = prim::Constant()
  return (%none)
)");
  p.add("f", R"(graph(%n : int):
  %c : __torch__.Counter = prim::CreateObject()
  %x : NoneType = prim::CallMethod[name="__init__"](%c, %n)
  %y : int = prim::CallMethod[name="step"](%c, %n)
  %r : (__torch__.Counter, int) = prim::TupleConstruct(%c, %y)
  return (%r)
)");
  const Value r = p.call("f", {int64_t{4}});
  EXPECT_EQ(r.to_tuple().items[1].to_int(), 8);
  EXPECT_EQ(r.to_tuple().items[0].to_object().attr("n").to_int(), 8);
}

// A submodule and a weight are borrowed: nothing is counted on the way.
TEST(Calls, AttributesOfModulesAreBorrowed) {
  Program p;
  const TypePtr inner = p.add_class("__torch__.Inner", {{"w", tensor_type()}}, true);
  const TypePtr outer = p.add_class("__torch__.Outer", {{"inner", inner}}, true);
  ir::Function& f = p.add_method(outer, "forward", R"(graph(%self : __torch__.Outer, %x : Tensor):
  %inner : __torch__.Inner = prim::GetAttr[name="inner"](%self)
  %w : Tensor = prim::GetAttr[name="w"](%inner)
  %y : Tensor = aten::mul(%x, %w)
  %z : Tensor = aten::relu(%y)
  return (%z)
)");
  EXPECT_EQ(disassemble(f), R"(  0 borrow_attr r0 r0 0
  1 borrow_attr r0 r0 0
  2 call_tt r1 move r1 r0 aten::mul.Tensor
  3 call_t r1 move r1 aten::relu
  4 move r0 r1
  5 ret 1
)");
  auto i = make_ref<Object>(inner);
  const Tensor w = scalar_tensor_of(2.0, DType::float32);
  i->set_attr("w", w);
  auto o = make_ref<Object>(outer);
  o->set_attr("inner", Value(i));
  const Tensor x = scalar_tensor_of(3.0, DType::float32);
  std::vector<Value> args{Value(o), x};
  EXPECT_EQ(item_of(run(f, args).to_tensor()).to_double(), 6);
  EXPECT_EQ(w.impl()->count.owners(), 2u);
  EXPECT_EQ(i->count.owners(), 2u);
  EXPECT_EQ(o->count.owners(), 1u);
}

TEST(Calls, AReturnedAttributeIsCounted) {
  Program p;
  const TypePtr m = p.add_class("__torch__.M", {{"w", tensor_type()}}, true);
  ir::Function& f = p.add_method(m, "forward", R"(graph(%self : __torch__.M):
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %r : (Tensor, __torch__.M) = prim::TupleConstruct(%w, %self)
  return (%r)
)");
  auto o = make_ref<Object>(m);
  o->set_attr("w", scalar_tensor_of(2.0, DType::float32));
  Value result;
  {
    std::vector<Value> args{Value(std::move(o))};
    result = run(f, args);
  }
  EXPECT_EQ(item_of(result.to_tuple().items[0].to_tensor()).to_double(), 2);
}

}  // namespace
}  // namespace sconce::runtime
