// Lists, dicts, strings, tuples, casts and type tests.
#include <gtest/gtest.h>

#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

TEST(Values, StringsGrowInPlaceWhenNobodyElseHasThem) {
  constexpr const char* text = R"(graph(%s : str, %n : int):
  %ab : str = prim::Constant[value="ab"]()
  %go : bool = prim::Constant[value=1]()
  %r : str = prim::Loop(%n, %go, %s)
    block0(%i : int, %t : str):
      %u : str = aten::add(%t, %ab)
      -> (%go, %u)
  return (%r)
)";
  const Value s("x");
  EXPECT_EQ(run_text(text, {s, int64_t{3}}).repr(), "'xababab'");
  EXPECT_EQ(s.repr(), "'x'");
  EXPECT_EQ(disassemble_text(text), R"(  0 move_word r3 r1
  1 for_prep r2 r3 -> 4
  2 str_concat r0 move r0 'ab'
  3 for_loop r2 r3 -> 2
  4 ret 1
)");
}

TEST(Values, DictsOfEveryKindOfKey) {
  constexpr const char* text = R"(graph(%d : Dict(KEY, str[]), %k : KEY, %v : str):
  %has : bool = aten::__contains__(%d, %k)
   = prim::If(%has)
    block0():
      %old : str[] = aten::__getitem__(%d, %k)
      %x : str[] = aten::append(%old, %v)
      -> ()
    block1():
      %new : str[] = prim::ListConstruct(%v)
       = aten::_set_item(%d, %k, %new)
      -> ()
  %r : str[] = aten::__getitem__(%d, %k)
  return (%r)
)";
  const auto check = [&](const std::string& name, TypePtr type, const Value& key) {
    std::string t = text;
    for (size_t at; (at = t.find("KEY")) != std::string::npos;) t.replace(at, 3, name);
    const Value dict(make_ref<Dict>(type, list_type(string_type())));
    EXPECT_EQ(run_text(t, {dict, key, "a"}).repr(), "['a']") << name;
    EXPECT_EQ(run_text(t, {dict, key, "b"}).repr(), "['a', 'b']") << name;
    EXPECT_EQ(dict.to_dict().size(), 1u);
  };
  check("int", int_type(), int64_t{7});
  check("str", string_type(), "key");
  check("float", float_type(), 2.5);
  check("bool", bool_type(), true);
}

TEST(Values, DictsFindEqualTextsAndManyKeys) {
  Dict dict(string_type(), int_type());
  for (int64_t i = 0; i < 100; ++i) dict.set(std::string(static_cast<size_t>(i), 'k'), i);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(dict.find(std::string(static_cast<size_t>(i), 'k'))->to_int(), i);
  EXPECT_EQ(dict.find("no"), nullptr);
  EXPECT_TRUE(dict.erase("kk"));
  EXPECT_EQ(dict.find("kk"), nullptr);
  EXPECT_EQ(dict.find("kkk")->to_int(), 3);
}

TEST(Values, TensorListsMoveTheirItems) {
  constexpr const char* text = R"(graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %go : bool = prim::Constant[value=1]()
  %l : Tensor[] = prim::ListConstruct(%x)
   = prim::Loop(%n, %go)
    block0(%i : int):
      %y : Tensor = aten::add(%x, %i, %one)
      %m : Tensor[] = aten::append(%l, %y)
      -> (%go)
  %z : Tensor = aten::__getitem__(%l, %one)
  %s : Tensor[] = aten::_set_item(%l, %zero, %z)
  return (%l)
)";
  const Tensor x = scalar_tensor_of(1.0, DType::float32);
  const Value l = run_text(text, {x, int64_t{2}});
  ASSERT_EQ(l.to_list().size(), 3u);
  EXPECT_TRUE(l.to_list().tensors()[0].is_same(l.to_list().tensors()[1]));
  EXPECT_EQ(item_of(l.to_list().tensors()[2]).to_double(), 2);
  EXPECT_EQ(l.to_list().tensors()[0].impl()->count.owners(), 2u);
  EXPECT_EQ(x.impl()->count.owners(), 1u);
}

TEST(Values, AttributesThatAreReplacedAreReleased) {
  Program p;
  const TypePtr type = p.add_class("__torch__.M", {{"w", tensor_type()}});
  p.add("f", R"(graph(%o : __torch__.M, %x : Tensor):
   = prim::SetAttr[name="w"](%o, %x)
  %w : Tensor = prim::GetAttr[name="w"](%o)
  return (%w)
)");
  auto o = make_ref<Object>(type);
  const Tensor a = scalar_tensor_of(1.0, DType::float32), b = scalar_tensor_of(2.0, DType::float32);
  o->set_attr("w", a);
  EXPECT_EQ(item_of(p.call("f", {Value(o), b}).to_tensor()).to_double(), 2);
  EXPECT_EQ(a.impl()->count.owners(), 1u);
  EXPECT_EQ(b.impl()->count.owners(), 2u);
}

TEST(Values, IsinstanceLooksAtTheValue) {
  const auto is = [](const std::string& types, Value v) {
    return run_text("graph(%x : Any):\n  %r : bool = prim::isinstance[types=[" + types + "]](%x)\n  return (%r)\n",
                    {std::move(v)})
        .to_bool();
  };
  EXPECT_TRUE(is("int, str", int64_t{1}));
  EXPECT_TRUE(is("int, str", "a"));
  EXPECT_FALSE(is("int, str", 1.0));
  EXPECT_FALSE(is("int", true));
  EXPECT_TRUE(is("Tensor", scalar_tensor_of(1.0, DType::float32)));
  EXPECT_TRUE(is("int[]", Value(IntList({1}))));
  EXPECT_FALSE(is("int[]", Value(ListRef<double>({1.0}))));
  EXPECT_TRUE(is("int?", Value()));
  EXPECT_TRUE(is("NoneType", Value()));
  EXPECT_TRUE(is("(int, str)", Value(make_ref<Tuple>(std::vector<Value>{int64_t{1}, "a"}))));
  EXPECT_FALSE(is("(int, int)", Value(make_ref<Tuple>(std::vector<Value>{int64_t{1}, "a"}))));
}

TEST(Values, CastsBetweenWordsAndValues) {
  constexpr const char* text = R"(graph(%x : int?, %d : int):
  %none : NoneType = prim::Constant()
  %c : bool = aten::__is__(%x, %none)
  %r : int = prim::If(%c)
    block0():
      -> (%d)
    block1():
      %y : int = prim::unchecked_cast(%x)
      %z : int = aten::mul(%y, %y)
      -> (%z)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {int64_t{5}, int64_t{1}}).to_int(), 25);
  EXPECT_EQ(run_text(text, {Value(), int64_t{1}}).to_int(), 1);
}

// A program that lies about a type gets an error, not the address of the object.
TEST(Values, CastsToNumbersAreChecked) {
  constexpr const char* graph = R"(graph(%x : Any):
  %one : int = prim::Constant[value=1]()
  %y : int = prim::unchecked_cast(%x)
  %z : int = aten::add(%y, %one)
  return (%z)
)";
  EXPECT_EQ(run_text(graph, {int64_t{5}}).to_int(), 6);
  EXPECT_ERROR(run_text(graph, {empty_tensor({4}, DType::float32)}), "expected int, got Tensor");
  EXPECT_ERROR(run_text(graph, {Value("text")}), "expected int, got str");
  EXPECT_ERROR(run_text("graph(%x : Any):\n  %y : int = prim::unchecked_cast(%x)\n  return (%y)\n", {Value("text")}),
               "expected int, got str");
}

TEST(Values, TuplesAreUnpackedIndexedAndSliced) {
  constexpr const char* text = R"(graph(%t : (int, str, float)):
  %m : int = prim::Constant[value=-1]()
  %last : float = prim::TupleIndex(%t, %m)
  %s : (str, float) = prim::TupleSlice[beg=1, end=3](%t)
  %a : int, %b : str, %c : float = prim::TupleUnpack(%t)
  %r : (float, (str, float), int, str, float) = prim::TupleConstruct(%last, %s, %a, %b, %c)
  return (%r)
)";
  const Value t(make_ref<Tuple>(std::vector<Value>{int64_t{1}, "x", 2.5}));
  EXPECT_EQ(run_text(text, {t}).repr(), "(2.5, ('x', 2.5), 1, 'x', 2.5)");
  EXPECT_EQ(t.repr(), "(1, 'x', 2.5)");
}

TEST(Values, TolistFollowsTheTypeThatIsExpected) {
  Tensor x = empty_tensor({2, 2}, DType::int64);
  for (int64_t i = 0; i < 4; ++i) x.data<int64_t>()[i] = i;
  constexpr const char* graph = R"(graph(%x : Tensor):
  %dim : int = prim::Constant[value=2]()
  %code : int = prim::Constant[value=0]()
  %r : int[][] = prim::tolist(%x, %dim, %code)
  return (%r)
)";
  EXPECT_EQ(run_text(graph, {x}).repr(), "[[0, 1], [2, 3]]");
  EXPECT_ERROR(run_text(graph, {scalar_tensor_of(1.0, DType::float32)}), "list dimension and runtime tensor dimension");
}

// x = x + 1 writes over its own memory, unless somebody else has it.
TEST(Values, DyingBuffersAreReused) {
  constexpr const char* text = R"(graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %go : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %go, %x)
    block0(%i : int, %v : Tensor):
      %w : Tensor = aten::add(%v, %one, %one)
      -> (%go, %w)
  return (%y)
)";
  Tensor x = empty_tensor({4}, DType::float32);
  for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor y = run_text(text, {x, int64_t{5}}).to_tensor();
  EXPECT_EQ(x.data<float>()[2], 2);
  EXPECT_EQ(y.data<float>()[2], 7);
  EXPECT_EQ(y.version(), 0u);
  const void* memory = x.data();
  std::vector<Value> args;
  args.emplace_back(std::move(x));
  args.emplace_back(int64_t{5});
  Program p;
  const Tensor z = run(p.add("f", text), args).to_tensor();
  EXPECT_EQ(z.data(), memory);
  EXPECT_EQ(z.data<float>()[2], 7);
  // Integers become floats in a division, comparisons become bools: nothing to reuse.
  const Tensor b = run_text(
                       "graph(%x : Tensor):\n  %two : int = prim::Constant[value=2]()\n"
                       "  %y : Tensor = aten::lt(%x, %two)\n  return (%y)\n",
                       {scalar_tensor_of(1.0, DType::float32)})
                       .to_tensor();
  EXPECT_EQ(b.dtype(), DType::bool_);
}

}  // namespace
}  // namespace sconce::runtime
