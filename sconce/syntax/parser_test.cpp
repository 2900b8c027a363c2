#include "sconce/syntax/parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sconce/syntax/dump.h"
#include "sconce/testing/conformance/case_file.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce::syntax {
namespace {

SourcePtr source(std::string text) { return std::make_shared<Source>("<string>", std::move(text)); }
std::string expr(std::string text, Dialect dialect = Dialect::python) {
  return to_string(parse_expression(source(std::move(text)), dialect).expr);
}
std::string file(std::string text, Dialect dialect = Dialect::python) {
  return to_string(parse(source(std::move(text)), dialect)->body);
}
std::string statements(std::string text) { return to_string(parse_statements(source(std::move(text)))->body); }
std::string refusal(std::string text, Dialect dialect = Dialect::python) {
  try {
    return file(std::move(text), dialect);
  } catch (const CompileError& e) {
    return e.reason();
  }
}
std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

struct Case {
  std::string text, tree;
};

TEST(SyntaxParser, reads_expressions_as_python) {
  const Case cases[] = {
      {"1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"},
      {"-x ** 2", "(- (** x 2))"},
      {"2 ** -1", "(** 2 -1)"},
      {"a ** b ** c", "(** a (** b c))"},
      {"-1", "-1"},
      {"- 1.5", "-1.5"},
      {"+x", "(+ x)"},
      {"~x == y", "(== (~ x) y)"},
      {"not a == b", "(not (== a b))"},
      {"a or b and c", "(or a (and b c))"},
      {"a and b and c", "(and (and a b) c)"},
      {"a < b <= c != d", "(and (and (< a b) (<= b c)) (!= c d))"},
      {"(a < b) < c", "(< (< a b) c)"},
      {"a not in b", "(not in a b)"},
      {"a is not None", "(is not a None)"},
      {"a | b ^ c & d << 1 >> 2", "(| a (^ b (& c (>> (<< d 1) 2))))"},
      {"a if b else c if d else e", "(if b a (if d c e))"},
      {"a @ b // c % d", "(% (// (@ a b) c) d)"},
      {"f(a, *b, k=1, m=x[0])", "(call f a *b k=1 m=([] x 0))"},
      {"torch.nn.f(x).y", "(. (call (. (. torch nn) f) x) y)"},
      {"x[1:2, ..., None, ::2, a:]", "([] x (: 1 2 _) ... None (: _ _ 2) (: a _ _))"},
      {"x[:]", "([] x (: _ _ _))"},
      {"x[(1, 2)]", "([] x (tuple 1 2))"},
      {"()", "(tuple)"},
      {"(a,)", "(tuple a)"},
      {"(a)", "a"},
      {"a, b", "(tuple a b)"},
      {"[]", "[]"},
      {"[1, *a,]", "[1 *a]"},
      {"{}", "{}"},
      {"{'a': 1, b: [2]}", "{'a':1 b:[2]}"},
      {"[i * j for i, j in x]", "(for (tuple i j) x (* i j))"},
      {"{k: v for k, v in d.items()}", "(for (tuple k v) (call (. d items)) k v)"},
      {"[i for i in x if i > 0]", "(for i x i if (> i 0))"},
      {"any(x for x in y)", "(call any (for x y x))"},
      {"(a\n + b  # comment\n )", "(+ a b)"},
      {"NoneType", "NoneType"},
  };
  for (const Case& c : cases) EXPECT_EQ(expr(c.text), c.tree) << c.text;
}

TEST(SyntaxParser, reads_expressions_as_archives_do) {
  const Case cases[] = {
      {"True or False and False", "(and (or True False) False)"},
      {"~x == y", "(~ (== x y))"},
      {"a < b < c", "(< (< a b) c)"},
      {"-x ** 2", "(- (** x 2))"},
      {"a if b else c if d else e", "(if d (if b a c) e)"},
      {"'\\303\\251\\x41'", "'\\xc3\\xa9A'"},
  };
  for (const Case& c : cases) EXPECT_EQ(expr(c.text, Dialect::archive), c.tree) << c.text;
}

TEST(SyntaxParser, reads_literals) {
  const Case cases[] = {
      {"0x1F + 0b101 + 0o17 + 1_000 + 00", "(+ (+ (+ (+ 31 5) 15) 1000) 0)"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1. + .5 + 1e3 + 1.5E-3 + 1e999", "(+ (+ (+ (+ 1.0 0.5) 1000.0) 0.0015) inf)"},
      {"2j + 1.5J", "(+ 2j 1.5j)"},
      {"...", "..."},
      {R"('a' "b" '''c
d''')",
       R"('abc\x0ad')"},
      {R"('\n\t\\\'\"\x41\101\u00e9\U0001F600\q')", R"('\x0a\x09\\\'"AA\xc3\xa9\xf0\x9f\x98\x80\\q')"},
      {"'a\\\nb'", "'ab'"},
      {R"(r'\n')", R"('\\n')"},
      {"'\\xe9'", R"('\xc3\xa9')"},
      {R"(f"{a + 1}-{b['k']}" 'c')", R"((format '{}-{}c' (+ a 1) ([] b 'k')))"},
      {R"(f"{{{a}}}{b != c}")", R"((format '{{}}{}' a (!= b c)))"},
      {"f'plain'", "(format 'plain')"},
      {"f'{{}}{a}' '{}'", "(format '{}{}{}' '{}' a '{}')"},
  };
  for (const Case& c : cases) EXPECT_EQ(expr(c.text), c.tree) << c.text;
}

TEST(SyntaxParser, reads_statements) {
  const Case cases[] = {
      {"a = b = c, d\n", "a = b = (tuple c d)\n"},
      {"a, (b, *c) = x", "(tuple a (tuple b *c)) = x\n"},
      {"x: List[int] = []", "x: ([] List int) = []\n"},
      {"x: 'List[\"int\"]' = []", "x: ([] List int) = []\n"},
      {"x = []  # type: List[int]\ny = 1  # type: ignore\n# type: int\n", "x: ([] List int) = []\ny = 1\n"},
      {"a += 1; b //= 2; c @= d;\ne **= f", "a += 1\nb //= 2\nc @= d\ne **= f\n"},
      {"x[0] -= 1", "([] x 0) -= 1\n"},
      {"self.a.b = 1", "(. (. self a) b) = 1\n"},
      {"return", "return\n"},
      {"return a, *b", "return (tuple a *b)\n"},
      {"raise ValueError('x') from e", "raise (call ValueError 'x')\n"},
      {"assert a, 'm'", "assert a, 'm'\n"},
      {"del a[0], b", "del ([] a 0) b\n"},
      {"global a, b", "global a b\n"},
      {"if a: b\nelif c: d\nelse: e", "if a\n  b\nelse\n  if c\n    d\n  else\n    e\n"},
      {"while a:\n  break\n  continue\n", "while a\n  break\n  continue\n"},
      {"for i, (j, k) in zip(a, b): pass", "for (tuple i (tuple j k)) in (call zip a b)\n  pass\n"},
      {"for i in 1, 2:\n  pass", "for i in (tuple 1 2)\n  pass\n"},
      {"with a() as b, c:\n  pass", "with (call a) as b c\n  pass\n"},
      {"with (a as b, c as d,):\n  pass", "with a as b c as d\n  pass\n"},
      {"with (a):\n  pass", "with a\n  pass\n"},
      {"x = 1 + \\\n  2\ny = (1,\n2)", "x = (+ 1 2)\ny = (tuple 1 2)\n"},
      {"def g(a):\n  return a\ng(1)", "def g(a)\n  return a\n(call g 1)\n"},
      {"   a\n   if b:\n       c\n\n  # less\n   d\n", "a\nif b\n  c\nd\n"},
      {"if a:\r\n\tb\r\n\tc\r\nd", "if a\n  b\n  c\nd\n"},
      {"", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(statements(c.text), c.tree) << c.text;
}

TEST(SyntaxParser, reads_functions) {
  const Case cases[] = {
      {"def f(a, b: int = 1, *, c: str, d=None) -> Tensor: return a",
       "def f(a, b: int = 1, *, c: str, d = None) -> Tensor\n  return a\n"},
      {"def f(a, *b, c=1, **d): pass", "def f(a, *b, c = 1, **d)\n  pass\n"},
      {"def f(a, b):\n  # type: (int, List[str]) -> Tensor\n  'doc'\n  return a",
       "def f(a: int, b: ([] List str)) -> Tensor\n  return a\n"},
      {"def f(a, b):  # type: (int, str) -> None\n  pass", "def f(a: int, b: str) -> None\n  pass\n"},
      {"def f(a,  # type: int\n      b  # type: str\n      ):\n  # type: (...) -> float\n  pass",
       "def f(a: int, b: str) -> float\n  pass\n"},
      {"@torch.jit.export\n@g(1)\ndef f(): 'doc'", "@(. (. torch jit) export)\n@(call g 1)\ndef f()\n  pass\n"},
      {"  def f(x):\n    return x\n\n  def g(): pass\n   ", "def f(x)\n  return x\ndef g()\n  pass\n"},
      {"def f():\n  def __inner(a: int) -> int:\n    return a\n  return __inner",
       "def f()\n  def __inner(a: int) -> int\n    return a\n  return __inner\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(file(c.text), c.tree) << c.text;
}

TEST(SyntaxParser, reads_files_and_classes) {
  EXPECT_EQ(file(R"("""What it is for."""
import torch, torch.nn as nn
from .a.b import (c, d as e,)
from x import *

K = 3

class Net(nn.Module, Base):
    """A net."""
    scale: Final[float] = 0.5

    def __init__(self):
        super().__init__()

    @property
    def x(self, i):
        # type: (int) -> int
        return i
)"),
            R"(import torch torch.nn as nn
from .a.b import c d as e
from x import *
K = 3
class Net((. nn Module) Base)
  scale: ([] Final float) = 0.5
  def __init__(self)
    (call (. (call super) __init__))
  @property
  def x(self, i: int) -> int
    return i
)");
  EXPECT_EQ(file(R"(class A(Module):
  __parameters__ = ["w", ]
  training : bool
  __annotations__["0"] = __torch__.B
  def forward(self: __torch__.A,
    x: Tensor) -> Tensor:
    _0 = getattr(self, "0")
    return (_0).forward(x, )
)",
                 Dialect::archive),
            R"(class A(Module)
  __parameters__ = ['w']
  training: bool
  ([] __annotations__ '0') = (. __torch__ B)
  def forward(self: (. __torch__ A), x: Tensor) -> Tensor
    _0 = (call getattr self '0')
    return (call (. _0 forward) x)
)");
}

// What Python runs when it runs the file may be any Python.
TEST(SyntaxParser, skips_the_main_guard) {
  const std::string f = "def f(x):\n  return x\n", alone = file(f);
  EXPECT_EQ(file(f + "if __name__ == '__main__':\n  try:\n    f(1)\n  except* E:\n    pass\n"), alone);
  EXPECT_EQ(file("if __name__ == \"__main__\":\n  with open(a) as b, c as d:\n\n    pass\n\n" + f), alone);
  EXPECT_EQ(file("if __name__ == '__main__': main()\n" + f), alone);
  EXPECT_EQ(file("if __name__ == '__main__':\n  f(1)\nelif x:\n  f(2)\nelse:\n  f(3)\n" + f), alone);
  EXPECT_NE(statements("if __name__ == 'a':\n  f(1)\n"), "");
}

TEST(SyntaxParser, names_what_it_refuses) {
  const Case cases[] = {
      {"x = {1, 2}", "Set aren't supported"},
      {"x = {i for i in y}", "SetComp aren't supported"},
      {"x = {**a}", "Dict expansion (e.g. `{**dict}`) is not supported"},
      {"f(**k)", "keyword-arg expansion is not supported"},
      {"f(a=1, b)", "positional argument follows keyword argument"},
      {"x = (n := 3)", "NamedExpr aren't supported"},
      {"while x := 2: pass", "NamedExpr aren't supported"},
      {"x = lambda: 0", "Lambda aren't supported"},
      {"yield x", "Yield aren't supported"},
      {"x = yield", "Yield aren't supported"},
      {"try:\n  pass\nexcept: pass", "try blocks aren't supported"},
      {"async def f(): pass", "async functions, loops and with statements aren't supported"},
      {"def f(): import os", "import statements aren't supported"},
      {"def f():\n  nonlocal x", "nonlocal variables aren't supported"},
      {"def f():\n  x: int", "annotated assignments without assigned value aren't supported"},
      {"def f(a, /): pass", "positional-only parameters aren't supported"},
      {"def f(a):\n  # type: (int, int) -> int\n  pass",
       "Number of type annotations (2) did not match the number of function parameters (1)"},
      {"for x in y:\n  pass\nelse:\n  pass", "else branches of for loops aren't supported"},
      {"while x:\n  pass\nelse:\n  pass", "else branches of while loops aren't supported"},
      {"[a for a in b if c if d]", "Comprehension ifs are not supported yet"},
      {"[a for a in b for c in d]", "Only a single generator is currently supported"},
      {"x = f'{a!r}'", "Don't support conversion in JoinedStr"},
      {"x = f'{a:3}'", "Don't support formatting in JoinedStr"},
      {"x = f'{a=}'", "Don't support '=' in JoinedStr"},
      {"x = f'{a'", "f-string: expecting '}'"},
      {"x = f'a}'", "f-string: single '}' is not allowed"},
      {"x = f'{}'", "expected ident but found 'eof' here"},
      {"x = b'a'", "bytes literals aren't supported"},
      {"x = '\\N{BULLET}'", "the escape \\N{...} isn't supported in strings"},
      {"x = '\\u12'", "invalid escape: 4 hexadecimal digits are expected"},
      {"x = '\\ud800'", "illegal Unicode character in a string"},
      {"x = 9223372036854775808", "Integral constant out of range (must fit in a signed 64 bit integer)"},
      {"x = - -9223372036854775808", "Integral constant out of range (must fit in a signed 64 bit integer)"},
      {"x = 99999999999999999999", "Integral constant out of range (must fit in a signed 64 bit integer)"},
      {"x = 0x", "invalid number literal '0x'"},
      {"x = 0b12", "invalid number literal '0b12'"},
      {"x = 012", "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers"},
      {"(a, b) += 1", "augmented assignment can only have one LHS expression"},
      {"a: int = b = 1", "Annotated multiple assignment is not supported in python"},
      {"def f():\n    x\n  y", "invalid indent level 2"},
      {"if a:\nb", "expected an indented block but found 'newline' here"},
      {"x = 1\n  y = 2", "expected newline but found 'indent' here"},
      {"x = $", "expected a valid token but found '$' here"},
      {"x = 'abc", "expected a valid token but found ''' here"},
      {"x = '''a\nb'", "expected a valid token but found ''' here"},
      {"__jit_x = 1", "names of variables used in JIT-ed functions can't start with __jit"},
      {"class A(metaclass=B): pass", "keyword arguments of classes aren't supported"},
      {"@a\nb", "expected def but found 'ident' here"},
      {std::string("x\0y", 3), "expected a valid token but found '\0' here"},
  };
  for (const Case& c : cases) EXPECT_STREQ(refusal(c.text).c_str(), c.tree.c_str()) << c.text;
  EXPECT_EQ(refusal("def f():\n  g = lambda y: y\n", Dialect::archive), "expected newline but found 'ident' here");
}

// Whoever reads a tree may recurse: what is too deep for that is refused, and nothing is too deep for the parser.
TEST(SyntaxParser, bounds_depth) {
  EXPECT_EQ(refusal("x = " + repeat("(", 100000)), "the program is nested too deeply: more than 200 levels");
  EXPECT_EQ(refusal("x = " + repeat("-", 100000)), "the program is nested too deeply: more than 200 levels");
  EXPECT_EQ(refusal("x = " + repeat("a ** ", 100000) + "a"), "the program is nested too deeply: more than 200 levels");
  EXPECT_EQ(refusal("x = " + repeat("f'{", 1000)), "f-string: expecting '}'");
  std::string blocks, elifs = "if a: b\n";
  for (int i = 0; i < 1000; ++i) blocks += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  for (int i = 0; i < 1000; ++i) elifs += "elif a: b\n";
  EXPECT_EQ(refusal(blocks), "the program is nested too deeply: more than 200 levels");
  EXPECT_EQ(refusal(elifs), "the program is nested too deeply: more than 200 levels");
  const std::string deep = "the expression is too deep: more than 500 operations in a row";
  EXPECT_EQ(refusal("x = a" + repeat(" + a", 100000)), deep);
  EXPECT_EQ(refusal("x = a" + repeat(".a", 100000)), deep);
  EXPECT_EQ(refusal("x = a" + repeat("()", 100000)), deep);
  EXPECT_EQ(refusal("x = a" + repeat(" < a", 100000)), deep);
  EXPECT_EQ(parse_expression(source("a" + repeat(" + a", 499))).expr->depth, 500);
  // The middle of a chain is computed twice: 60 levels would be computed 2 ** 60 times.
  EXPECT_EQ(refusal("x = " + repeat("0 < (", 60) + "1" + repeat(") < 2", 60)),
            "comparisons are chained inside of chained comparisons more than 5 levels deep");
  EXPECT_EQ(parse_expression(source(repeat("0 < (", 5) + "1" + repeat(") < 2", 5))).expr->doubled, 5);
}

TEST(SyntaxParser, bounds_length) {
  EXPECT_EQ(refusal(std::string(kMaxSourceBytes + 1, ' ')),
            "the text is too long: it has 67108865 bytes, 67108864 are allowed");
}

// Every node's place is the one that PyTorch's messages underline.
TEST(SyntaxParser, knows_where_nodes_stand) {
  const Case cases[] = {
      {"f(x, y)", "f(x, y"},
      {"f()", "f("},
      {"['a', b]", "['a', b"},
      {"{}", "}"},
      {"{'a': f(1)}", "'a': f(1"},
      {"(x + y)", "x + y"},
      {"x.foo", "x.foo"},
      {"x[1]", "x[1]"},
      {"-5", "5"},
      {"-x", "-x"},
      {"a, b", "a, b"},
      {"a if b else c", "a if b else c"},
      {"f(k=1)", "f(k=1"},
      {"'a' 'b'", "'a'"},
  };
  for (const Case& c : cases) EXPECT_EQ(parse_expression(source(c.text)).expr->range.text(), c.tree) << c.text;
  const TreePtr tree = parse(source("def f(x):\n  if x:\n    y = 1\n  return y\n"));
  const auto* def = as<FunctionDef>(tree->body[0]);
  EXPECT_EQ(def->range.text(), "f(x):\n  if x:\n    y = 1\n  return y");
  EXPECT_EQ(def->body[0]->range.text(), "if x:\n    y = 1\n  return");
  EXPECT_EQ(as<If>(def->body[0])->body[0]->range.highlight(),
            "  File \"<string>\", line 3\ndef f(x):\n  if x:\n    y = 1\n    ~~~~~ <--- HERE\n  return y\n");
}

std::vector<std::string> case_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_path(folder))) {
    if (entry.path().extension() == ".safetensors") out.push_back(entry.path().string());
  }
  return out;
}

TEST(SyntaxParser, reads_every_recorded_program) {
  for (const std::string& path : case_files("tests/conformance/programs")) {
    const auto cases = testing::CaseFile::open(path);
    const std::string text = cases.at(0).at("source");
    EXPECT_NO_THROW(file(text)) << path;
  }
}

// Where PyTorch's parser refused a text, we refuse it with the same words at the same place.
TEST(SyntaxParser, refuses_what_pytorch_refused) {
  const auto cases =
      testing::CaseFile::open(testing::source_path("tests/conformance/errors/compile_errors.safetensors"));
  int refused = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& error = cases.at(i).at("error");
    if (!error.is_string() || !error.get<std::string>().starts_with("expected ")) continue;
    ++refused;
    const std::string text = cases.at(i).at("source");
    EXPECT_EQ(testing::error_of([&] { file(text, Dialect::archive); }) + "\n", error.get<std::string>() + "\n");
    EXPECT_THROW(file(text), CompileError);
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace sconce::syntax
