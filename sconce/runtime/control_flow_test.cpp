#include <gtest/gtest.h>

#include "sconce/runtime/test_program.h"

namespace sconce::runtime {
namespace {

constexpr const char* kIntLoop = R"(graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %three : int = prim::Constant[value=3]()
  %go : bool = prim::Constant[value=1]()
  %s : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s.1 : int):
      %r : int = aten::remainder(%i, %three)
      %c : bool = aten::eq(%r, %zero)
      %s.2 : int = prim::If(%c)
        block0():
          %a : int = aten::add(%s.1, %i)
          -> (%a)
        block1():
          %b : int = aten::sub(%s.1, %one)
          -> (%b)
      -> (%go, %s.2)
  return (%s)
)";

int64_t int_loop(int64_t n) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; ++i) i % 3 == 0 ? s += i : s -= 1;
  return s;
}

TEST(Interpreter, CountsALoop) {
  for (const int64_t n : {-1, 0, 1, 2, 3, 10, 1000}) {
    EXPECT_EQ(run_text(kIntLoop, {n}).to_int(), int_loop(n)) << n;
  }
}

TEST(Interpreter, IntLoopNeedsFewInstructions) {
  EXPECT_EQ(disassemble_text(kIntLoop), R"(  0 move_word r3 r0
  1 load_int r1 0
  2 for_prep r2 r3 -> 7
  3 jump_mod_ne r2 3 0 -> 6
  4 add_int_for r1 r2 r2 -> 3
  5 jump -> 7
  6 add_int_imm_for r1 -1 r2 -> 3
  7 copy_bits r0 r1
  8 ret 1
)");
}

TEST(Interpreter, WhileLoopsTestAtTheEnd) {
  // while a != 0: a, b = b % a, a
  constexpr const char* gcd = R"(graph(%a : int, %b : int):
  %max : int = prim::Constant[value=9223372036854775807]()
  %zero : int = prim::Constant[value=0]()
  %c : bool = aten::ne(%a, %zero)
  %x : int, %y : int = prim::Loop(%max, %c, %a, %b)
    block0(%i : int, %x.1 : int, %y.1 : int):
      %r : int = aten::remainder(%y.1, %x.1)
      %d : bool = aten::ne(%r, %zero)
      -> (%d, %r, %x.1)
  return (%y)
)";
  EXPECT_EQ(run_text(gcd, {int64_t{12}, int64_t{18}}).to_int(), 6);
  EXPECT_EQ(run_text(gcd, {int64_t{0}, int64_t{7}}).to_int(), 7);
  EXPECT_EQ(run_text(gcd, {int64_t{17}, int64_t{5}}).to_int(), 1);
}

TEST(Interpreter, LoopsMayHaveACountAndACondition) {
  constexpr const char* text = R"(graph(%n : int, %limit : int):
  %zero : int = prim::Constant[value=0]()
  %go : bool = prim::Constant[value=1]()
  %s : int, %turns : int = prim::Loop(%n, %go, %zero, %zero)
    block0(%i : int, %s.1 : int, %t.1 : int):
      %a : int = aten::add(%s.1, %i)
      %c : bool = aten::lt(%a, %limit)
      -> (%c, %a, %i)
  %r : int[] = prim::ListConstruct(%s, %turns)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {int64_t{100}, int64_t{10}}).repr(), "[10, 4]");
  EXPECT_EQ(run_text(text, {int64_t{3}, int64_t{10}}).repr(), "[3, 2]");
  EXPECT_EQ(run_text(text, {int64_t{0}, int64_t{10}}).repr(), "[0, 0]");
}

TEST(Interpreter, TheTripNumberOfAWhileLoopStartsAtZero) {
  constexpr const char* text = R"(graph(%n : int):
  %max : int = prim::Constant[value=9223372036854775807]()
  %go : bool = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct()
   = prim::Loop(%max, %go)
    block0(%i : int):
      %x : int[] = aten::append(%l, %i)
      %c : bool = aten::lt(%i, %n)
      -> (%c)
  return (%l)
)";
  EXPECT_EQ(run_text(text, {int64_t{3}}).repr(), "[0, 1, 2, 3]");
}

TEST(Interpreter, CarriedValuesMaySwap) {
  constexpr const char* text = R"(graph(%n : int, %a : str, %b : str):
  %go : bool = prim::Constant[value=1]()
  %x : str, %y : str = prim::Loop(%n, %go, %a, %b)
    block0(%i : int, %x.1 : str, %y.1 : str):
      -> (%go, %y.1, %x.1)
  %r : (str, str) = prim::TupleConstruct(%x, %y)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {int64_t{2}, "a", "b"}).repr(), "('a', 'b')");
  EXPECT_EQ(run_text(text, {int64_t{3}, "a", "b"}).repr(), "('b', 'a')");
}

TEST(Interpreter, CarriedValuesMayBecomeOne) {
  constexpr const char* text = R"(graph(%n : int, %a : str, %b : str):
  %go : bool = prim::Constant[value=1]()
  %x : str, %y : str, %z : str = prim::Loop(%n, %go, %a, %b, %a)
    block0(%i : int, %x.1 : str, %y.1 : str, %z.1 : str):
      -> (%go, %y.1, %y.1, %x.1)
  %r : (str, str, str, str) = prim::TupleConstruct(%x, %y, %z, %a)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {int64_t{0}, "a", "b"}).repr(), "('a', 'b', 'a', 'a')");
  EXPECT_EQ(run_text(text, {int64_t{1}, "a", "b"}).repr(), "('b', 'b', 'a', 'a')");
  EXPECT_EQ(run_text(text, {int64_t{5}, "a", "b"}).repr(), "('b', 'b', 'b', 'a')");
}

TEST(Interpreter, BranchesDropWhatOnlyTheOtherUses) {
  constexpr const char* text = R"(graph(%c : bool, %a : str, %b : str):
  %r : str = prim::If(%c)
    block0():
      %x : str = aten::add(%a, %a)
      -> (%x)
    block1():
      %y : str = aten::add(%b, %a)
      -> (%y)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {true, "a", "b"}).repr(), "'aa'");
  EXPECT_EQ(run_text(text, {false, "a", "b"}).repr(), "'ba'");
}

TEST(Interpreter, NestedLoopsAndBreaks) {
  // for i in range(n): for j in range(i): if j == 3: break; s += j
  constexpr const char* text = R"(graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %three : int = prim::Constant[value=3]()
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %s : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %s.1 : int):
      %first : bool = aten::gt(%i, %zero)
      %j : int, %s.2 : int = prim::Loop(%max, %first, %zero, %s.1)
        block0(%t : int, %j.1 : int, %s.3 : int):
          %is3 : bool = aten::eq(%j.1, %three)
          %go : bool, %s.4 : int = prim::If(%is3)
            block0():
              -> (%false, %s.3)
            block1():
              %s.5 : int = aten::add(%s.3, %j.1)
              -> (%true, %s.5)
          %j.2 : int = aten::add(%j.1, %one)
          %in : bool = aten::lt(%j.2, %i)
          %again : bool = aten::__and__(%in, %go)
          -> (%again, %j.2, %s.4)
      -> (%true, %s.2)
  return (%s)
)";
  const auto expected = [](int64_t n) {
    int64_t s = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        if (j == 3) break;
        s += j;
      }
    }
    return s;
  };
  for (int64_t n = 0; n < 9; ++n) EXPECT_EQ(run_text(text, {n}).to_int(), expected(n)) << n;
}

TEST(Interpreter, ConditionsReadWhatTheMovesOverwrite) {
  // The condition of the next turn is the old carried value.
  constexpr const char* text = R"(graph(%a : bool, %b : bool):
  %max : int = prim::Constant[value=10]()
  %go : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %x : bool, %y : bool, %n : int = prim::Loop(%max, %go, %a, %b, %zero)
    block0(%i : int, %x.1 : bool, %y.1 : bool, %n.1 : int):
      %n.2 : int = aten::add(%n.1, %one)
      -> (%x.1, %y.1, %false, %n.2)
  return (%n)
)";
  EXPECT_EQ(run_text(text, {false, false}).to_int(), 1);
  EXPECT_EQ(run_text(text, {true, false}).to_int(), 2);
  EXPECT_EQ(run_text(text, {true, true}).to_int(), 3);
}

TEST(Interpreter, NoneDecidesABranch) {
  constexpr const char* text = R"(graph(%x : Tensor?, %d : Tensor):
  %none : NoneType = prim::Constant()
  %c : bool = aten::__isnot__(%x, %none)
  %r : Tensor = prim::If(%c)
    block0():
      %y : Tensor = prim::unchecked_cast(%x)
      -> (%y)
    block1():
      -> (%d)
  return (%r)
)";
  const Tensor a = scalar_tensor_of(1.5, DType::float32), b = scalar_tensor_of(2.5, DType::float32);
  EXPECT_EQ(item_of(run_text(text, {a, b}).to_tensor()).to_double(), 1.5);
  EXPECT_EQ(item_of(run_text(text, {Value(), b}).to_tensor()).to_double(), 2.5);
  EXPECT_EQ(disassemble_text(text), R"(  0 jump_none r0 -> 4
  1 drop r1
  2 move r2 r0
  3 jump -> 6
  4 drop r0
  5 move r2 r1
  6 move r0 r2
  7 ret 1
)");
}

TEST(Interpreter, FloatsAndComparisons) {
  constexpr const char* text = R"(graph(%x : float, %n : int):
  %half : float = prim::Constant[value=0.5]()
  %one : float = prim::Constant[value=1.]()
  %go : bool = prim::Constant[value=1]()
  %y : float = prim::Loop(%n, %go, %x)
    block0(%i : int, %y.1 : float):
      %a : float = aten::mul(%y.1, %half)
      %b : float = aten::add(%a, %one)
      %c : float = aten::add(%b, %i)
      -> (%go, %c)
  %less : bool = aten::lt(%y, %n)
  %r : (float, bool) = prim::TupleConstruct(%y, %less)
  return (%r)
)";
  EXPECT_EQ(run_text(text, {1.0, int64_t{2}}).repr(), "(2.75, False)");
  EXPECT_EQ(run_text(text, {std::nan(""), int64_t{1}}).repr(), "(nan, False)");
}

TEST(Interpreter, NanTakesTheFalseBranch) {
  for (const std::string op : {"lt", "le", "gt", "ge", "eq"}) {
    const std::string text = "graph(%x : float, %y : float):\n  %c : bool = aten::" + op + R"((%x, %y)
  %r : str = prim::If(%c)
    block0():
      %a : str = prim::Constant[value="yes"]()
      -> (%a)
    block1():
      %b : str = prim::Constant[value="no"]()
      -> (%b)
  return (%r)
)";
    EXPECT_EQ(run_text(text, {std::nan(""), 1.0}).repr(), "'no'") << op;
    EXPECT_EQ(run_text(text, {1.0, std::nan("")}).repr(), "'no'") << op;
  }
}

TEST(Interpreter, IntegerDivisionRoundsDown) {
  constexpr const char* text = R"(graph(%a : int, %b : int):
  %q : int = aten::floordiv(%a, %b)
  %r : int = aten::remainder(%a, %b)
  %t : (int, int) = prim::TupleConstruct(%q, %r)
  return (%t)
)";
  EXPECT_EQ(run_text(text, {int64_t{7}, int64_t{-2}}).repr(), "(-4, -1)");
  EXPECT_EQ(run_text(text, {int64_t{-7}, int64_t{2}}).repr(), "(-4, 1)");
  EXPECT_EQ(run_text(text, {INT64_MIN, int64_t{-1}}).repr(), "(-9223372036854775808, 0)");
}

}  // namespace
}  // namespace sconce::runtime
