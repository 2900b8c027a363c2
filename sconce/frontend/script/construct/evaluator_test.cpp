// Statements of construction time, by the value of a constant that they compute.
#include "sconce/frontend/script/construct/evaluator.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce::script {
namespace {

// repr of the constant `result` of a text.
std::string result_of(const std::string& text) {
  ProgramState state;
  Scope& scope = state.add_scope("__torch__", syntax::Dialect::python);
  scope.add(syntax::parse(std::make_shared<Source>("test.py", text)));
  return to_repr(state.evaluator->value_of(*scope.find("result")));
}

std::string refusal_of(const std::string& text) {
  try {
    return result_of(text);
  } catch (const CompileError& e) {
    return e.reason();
  }
}

TEST(Evaluator, Expressions) {
  EXPECT_EQ(result_of("result = [i * i for i in range(4)]"), "[0, 1, 4, 9]");
  EXPECT_EQ(result_of("result = {'a': (1, 2.5), 'b': -3 // 2}"), "{'a': (1, 2.5), 'b': -2}");
  EXPECT_EQ(result_of("N = 3\nresult = N + 1 if N > 2 and N != 4 else None"), "4");
  EXPECT_EQ(result_of("result = 2 ** 10, 7 % -3, 7 / 2, [1] * 2 + [3], 'ab' + 'c' * 2"),
            "(1024, -2, 3.5, [1, 1, 3], 'abcc')");
  EXPECT_EQ(result_of("result = 1.0 // 0.1, 1.0 % 0.1, -7.5 // 2, 1e20 % 3"), "(9.0, 0.09999999999999995, -4.0, 1.0)");
  EXPECT_EQ(result_of("x = 4\nresult = f'{x} of {[x]}'"), "'4 of [4]'");
  EXPECT_EQ(result_of("result = [1, 2, 3, 4][1:-1], 'hello'[::-1], (1, 2)[-1]"), "([2, 3], 'olleh', 2)");
  EXPECT_EQ(result_of("result = 2 in [1, 2], 'a' not in {'b': 1}, None is None"), "(True, True, True)");
}

// Values that are items of themselves, and such as no stack has room for.
TEST(Evaluator, NestedValues) {
  const std::string refused = "a value is nested deeper than 500 levels, or is an item of itself";
  const std::string itself = "def f():\n    l = [1]\n    l.append(l)\n    m = [1]\n    m.append(m)\n    return ";
  for (const char* what : {"str(l)", "l == m", "f'{l}'", "{1: l} == {1: m}", "(l,) == (m,)", "copy.deepcopy(l)"})
    EXPECT_ERROR(result_of("import copy\n" + itself + what + "\nresult = f()"), refused);
  EXPECT_EQ(result_of(itself + "len(l[1][1][1])\nresult = f()"), "2");
  EXPECT_EQ(result_of("def f():\n    for i in range(100000):\n        def g():\n            return 1\n    return g()\n"
                      "result = f()"),
            "1");
  const std::string deep = "def f(n):\n    l = []\n    for i in range(n):\n        l = ";
  for (const char* item : {"[l]", "(l,)", "{1: l}"}) {
    EXPECT_EQ(result_of(deep + item + "\n    return len(l)\nresult = f(300000)"), "1");
    EXPECT_ERROR(result_of(deep + item + "\n    return str(l)\nresult = f(300000)"), refused);
    EXPECT_NE(result_of(deep + item + "\n    return str(l)\nresult = f(400)").size(), 0u);
  }
}

TEST(Evaluator, Functions) {
  EXPECT_EQ(result_of("def f(a, b=2, *, c=3):\n    return a + b * c\nresult = f(1), f(1, c=0), f(b=5, a=0)"),
            "(7, 1, 15)");
  EXPECT_EQ(result_of("def f(n):\n"
                      "    total = []\n"
                      "    for i, c in enumerate('abc'):\n"
                      "        if i == n:\n"
                      "            break\n"
                      "        total.append(c)\n"
                      "    while len(total) < 4:\n"
                      "        total += ['-']\n"
                      "    return ''.join(total)\n"
                      "result = f(2)"),
            "'ab--'");
  EXPECT_EQ(result_of("def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\nresult = fact(10)"), "3628800");
}

TEST(Evaluator, Builtins) {
  EXPECT_EQ(
      result_of(
          "result = sum([1, 2]), max(3, 4), sorted([3, 1, 2]), list(zip([1, 2], 'ab')), isinstance(1, (str, int))"),
      "(3, 4, [1, 2, 3], [(1, 'a'), (2, 'b')], True)");
  EXPECT_EQ(result_of("import math\nresult = math.sqrt(16), math.floor(2.5), math.pi > 3"), "(4.0, 2, True)");
  EXPECT_EQ(result_of("d = {'a': 1}\nresult = d.get('b', 2), list(d.items()), d.pop('a'), len(d)"),
            "(2, [('a', 1)], 1, 0)");
}

TEST(Evaluator, DictsOfManyKeys) {
  // Compared one by one, these would take minutes.
  EXPECT_EQ(result_of("d = {str(i): i for i in range(100000)}\nresult = len(d), d['99999'], d.get('x'), '77' in d"),
            "(100000, 99999, None, True)");
  // Numbers that are equal are one key; keys of other kinds are found, too.
  EXPECT_EQ(
      result_of(
          "def f():\n    d = {i: i for i in range(20)}\n    d[1.0] = 'a'\n    d[True] = 'b'\n    d[(1, 2)] = 'c'\n"
          "    d[None] = 'd'\n    return len(d), d[1], d[(1, 2)], d[None], 20 in d\nresult = f()"),
      "(22, 'b', 'c', 'd', False)");
  // What was taken out is gone, what comes after it is found: above and below the number from which on keys are hashed.
  EXPECT_EQ(result_of("def f(n):\n    d = {i: i for i in range(n)}\n    x = d.pop(2)\n    d[-1] = 5\n    d[2] = 7\n"
                      "    return x, len(d), d[-1], d[2], d[n - 1]\nresult = [f(n) for n in (15, 16, 17, 18)]"),
            "[(2, 16, 5, 7, 14), (2, 17, 5, 7, 15), (2, 18, 5, 7, 16), (2, 19, 5, 7, 17)]");
}

TEST(Evaluator, Tensors) {
  EXPECT_EQ(
      result_of(
          "import torch\nx = torch.ones(2, 3)\nresult = x.shape, x.sum().item(), (2 - x * 3)[0, 1].item(), x.size(1)"),
      "((2, 3), 6.0, -1.0, 3)");
}

TEST(Evaluator, Classes) {
  EXPECT_EQ(
      result_of("from enum import Enum\nclass C(Enum):\n    A = 1\n    B = 2\nresult = C.B.value, C.A.name, len(C)"),
      "(2, 'A', 2)");
  EXPECT_EQ(
      result_of(
          "from collections import namedtuple\nP = namedtuple('P', ['x', 'y'])\np = P(1, y=2)\nresult = p.x, p[1]"),
      "(1, 2)");
}

TEST(Evaluator, Refusals) {
  EXPECT_EQ(refusal_of("result = x"), "undefined value x");
  EXPECT_EQ(refusal_of("result = [1][3]"), "IndexError: index out of range");
  EXPECT_EQ(refusal_of("def f(x):\n    raise ValueError('no ' + x)\nresult = f('way')"), "ValueError: no way");
  EXPECT_EQ(refusal_of("result = result"), "'result' is defined by itself");
  EXPECT_EQ(refusal_of("def f(n):\n    return f(n)\nresult = f(1)"),
            "building the program nests calls and expressions deeper than 1000");
  EXPECT_EQ(refusal_of("def f():\n    while True:\n        pass\nresult = f()"),
            "building the program takes more than 20000000 steps");
  EXPECT_EQ(refusal_of("result = [0] * 100000000"), "the list is too long");
}

}  // namespace
}  // namespace sconce::script
