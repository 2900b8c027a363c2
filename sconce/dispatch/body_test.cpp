#include "sconce/dispatch/body.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// What a body gives for arguments a, b, c.
std::string result(std::string_view text, std::vector<Value> args = {}) {
  args.resize(3);
  return Body(text, "").run({"a", "b", "c"}, args.data()).repr();
}

std::string error_of(std::string_view text, std::vector<Value> args = {}) {
  try {
    result(text, std::move(args));
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Tensor tensor(std::vector<float> values) {
  Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

std::vector<float> tensor_result(std::string_view text, std::vector<Value> args) {
  args.resize(3);
  const Value v = Body(text, "").run({"a", "b", "c"}, args.data());
  const Tensor& t = v.to_tensor();
  std::vector<float> out;
  for (int64_t i = 0; i < t.numel(); ++i)
    out.push_back(static_cast<float>(t.data<float>()[t.dim() == 0 ? 0 : i * t.stride(-1)]));
  return out;
}

using Floats = std::vector<float>;

TEST(Body, computes_with_numbers_as_python) {
  struct Case {
    const char* text;
    const char* result;
  };
  const Case cases[] = {
      {"7 // -2", "-4"},
      {"-7 // 2", "-4"},
      {"7 % -3", "-2"},
      {"-7 % 3", "2"},
      {"-7.5 % 2", "0.5"},
      {"7 / 2", "3.5"},
      {"2 ** 3", "8"},
      {"2 ** -1", "0.5"},
      {"2.0 ** 0.5", "1.4142135623730951"},
      {"-2 ** 2", "-4"},
      {"2 ** 3 ** 2", "512"},
      {"1 + 2 * 3 - 4", "3"},
      {"(1 + 2) * 3", "9"},
      {"1 - 2 - 3", "-4"},
      {"True + 1", "2"},
      {"3 == 3.0", "True"},
      {"1 < 2 < 3", "True"},
      {"1 < 3 < 2", "False"},
      {"6 & 3 | 8", "10"},
      {"1 << 4 >> 1", "8"},
      {"5 ^ 1", "4"},
      {"~5", "-6"},
      {"-(3)", "-3"},
      {"+True", "1"},
      {"not 0", "True"},
      {"1 and 0", "False"},
      {"0 or 2", "True"},
      {"1 if 0 else 2", "2"},
      {"'a' + \"b\"", "'ab'"},
      {"'a' in 'bac'", "True"},
      {"[1, 2] + [3]", "[1, 2, 3]"},
      {"[0] * 3", "[0, 0, 0]"},
      {"2 in [1, 2]", "True"},
      {"3 not in (1, 2)", "True"},
      {"None is None", "True"},
      {"1 is not None", "True"},
      {"(1, 2.5, 'x')", "(1, 2.5, 'x')"},
      {"()", "()"},
      {"(1,)", "(1,)"},
      {"1, 2", "(1, 2)"},
      {"[1, 2, 3][-1]", "3"},
      {"[1, 2, 3, 4][1:3]", "[2, 3]"},
      {"[1, 2, 3, 4][::-1]", "[4, 3, 2, 1]"},
      {"[1, 2, 3][:-1]", "[1, 2]"},
      {"(1, 2, 3)[1:]", "(2, 3)"},
      {"[1, 2.5]", "[1, 2.5]"},
      {"1e-5", "1e-05"},
      {"1_000", "1000"},
      {"2j * 2j", "(-4+0j)"},
      {"len([1, 2])", "2"},
      {"min(3, 1, 2)", "1"},
      {"max([3, 5])", "5"},
      {"sum([1, 2, 3])", "6"},
      {"prod([2, 3])", "6"},
      {"abs(-2)", "2"},
      {"int(-2.5)", "-2"},
      {"float(3)", "3.0"},
      {"bool([])", "False"},
      {"float('inf')", "inf"},
      {"sqrt(16)", "4.0"},
      {"math.floor(-1.5)", "-2"},
      {"ceil(1.2)", "2"},
      {"round(2.5)", "2"},
      {"range(5)", "[0, 1, 2, 3, 4]"},
      {"range(5, 0, -2)", "[5, 3, 1]"},
      {"torch.float32", "6"},
      {"torch.channels_last", "2"},
      {"inf", "inf"},
      {"wrap_dim(-1, 3)", "2"},
      {"broadcast_shapes([3, 1], [4])", "[3, 4]"},
      {"inverse_permutation([2, 0, 1])", "[1, 2, 0]"},
      {"f\"{1 + 1} and {'x'}, {{}}\"", "'2 and x, {}'"},
      {"[1, 2] == [1, 2.0]", "True"},
      {"(1, 2) < (1, 3)", "True"},
      {"9223372036854775807 + 1", "-9223372036854775808"},
      {"7.0 // 2", "3.0"},
      {"1 if 2 > 1 else 1 / 0", "1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(result(std::string("return ") + c.text), c.result);
  }
}

TEST(Body, runs_statements) {
  EXPECT_EQ(result("x = 1\ny, z = x + 1, [3]\n(p, q) = (y, z)\nreturn p, q"), "(2, [3])");
  EXPECT_EQ(result("x = 5\nx += 2\nx *= 3\nx //= 2\nx **= 2\nreturn x"), "100");
  EXPECT_EQ(result("if a > 1:\n  return 'big'\nelif a == 1:\n  return 'one'\nelse:\n  return 'small'", {1}), "'one'");
  EXPECT_EQ(result("s = 0\nfor i in range(10):\n  if i == 2: continue\n  if i == 5: break\n  s += i\nreturn s"), "8");
  EXPECT_EQ(result("s = ''\nfor x, y in [(1, 'a'), (2, 'b')]:\n  s = s + y\nreturn s"), "'ab'");
  EXPECT_EQ(result("n = 0\nwhile n * n < a:\n  n += 1\nreturn n", {50}), "8");
  EXPECT_EQ(result("while True:\n  while True:\n    return 3"), "3");
  EXPECT_EQ(result("l = [1]\nl.append(2)\nl.insert(0, 0)\nl[1] = 9\nl.extend([7])\nx = l.pop()\nreturn l, x"),
            "([0, 9, 2], 7)");
  EXPECT_EQ(result("\n    # indented in a table\n    x = (1 +\n      2)  # in brackets lines go on\n\n    return x\n"),
            "3");
  EXPECT_EQ(result("'a text'\npass; x = 1; return x"), "1");
  EXPECT_EQ(result("x = y = 2\nreturn x + y"), "4");
  EXPECT_EQ(result("x = 1"), "None");
  EXPECT_EQ(result(""), "None");
  EXPECT_EQ(result("x = a\nx += [2]\nreturn a, x", {IntList{1}}), "([1], [1, 2])");
}

TEST(Body, shows_the_place_of_an_error) {
  EXPECT_EQ(error_of("x = 1\nreturn y"), "line 2, column 8: name 'y' is not defined");
  EXPECT_EQ(error_of("if a:\n  y = 1\nreturn y"), "line 3, column 8: 'y' is used before it is set");
  EXPECT_EQ(error_of("return 1 + 'a'"), "line 1, column 8: unsupported operand types for +: int and str");
  EXPECT_EQ(error_of("return 1 // 0"), "line 1, column 8: division by zero");
  EXPECT_EQ(error_of("return [1][3]"), "line 1, column 8: index 3 is out of range for 1 items");
  EXPECT_EQ(error_of("x, y = 1, 2, 3"), "line 1, column 1: cannot unpack 3 values into 2 names");
  EXPECT_EQ(error_of("assert a > 0, f'a must be > 0, got {a}'", {-1}), "line 1, column 1: a must be > 0, got -1");
  EXPECT_EQ(error_of("\nraise ValueError('bad')"), "line 2, column 1: bad");
  EXPECT_EQ(error_of("return no_such_operator(1)"), "line 1, column 8: there is no operator 'aten::no_such_operator'");
  EXPECT_EQ(error_of("return a.foo", {1}), "line 1, column 8: int has no attribute 'foo'");
  EXPECT_EQ(error_of("return a(1)", {1}), "line 1, column 8: 'a' is a value: it cannot be called");
  EXPECT_EQ(error_of("return torch.foo"), "line 1, column 8: there is no 'torch.foo'");

  EXPECT_EQ(error_of("return (1 +"), "line 1, column 12: expected ident but found 'eof' here");
  EXPECT_EQ(error_of("if a\n  return 1"), "line 2, column 1: expected : but found 'indent' here");
  EXPECT_EQ(error_of("if a:\nreturn 1"), "line 2, column 1: expected an indented block but found 'newline' here");
  EXPECT_EQ(error_of("x = 1\n  y = 2"), "line 2, column 1: expected newline but found 'indent' here");
  EXPECT_EQ(error_of("if a:\n    x = 1\n  y = 2"), "line 3, column 1: invalid indent level 2");
  EXPECT_EQ(error_of("return [i for i in a]"),
            "line 1, column 8: there are no comprehensions in the body of an operator");
  EXPECT_EQ(error_of("break"), "line 1, column 1: 'break' outside of a loop");
  EXPECT_EQ(error_of("x = {}"), "line 1, column 6: there are no dicts in the body of an operator");
  EXPECT_EQ(error_of("f(*x)"), "line 1, column 3: there are no starred values in the body of an operator");
  EXPECT_EQ(error_of("raise x"), "line 1, column 1: expected an exception with a message: raise ValueError('...')");
  EXPECT_EQ(error_of("with x: pass"),
            "line 1, column 1: only statements that compute can stand in the body of an operator");
  EXPECT_EQ(error_of("a.b = x"), "line 1, column 1: only names and items of lists can be assigned");
  EXPECT_EQ(error_of("1 = x"), "line 1, column 1: only names and items of lists can be assigned");
  EXPECT_EQ(error_of("x = 'abc"), "line 1, column 5: expected a valid token but found ''' here");
  EXPECT_EQ(error_of("x = $"), "line 1, column 5: expected a valid token but found '$' here");
  EXPECT_EQ(error_of("import os"), "line 1, column 1: import statements aren't supported");
  EXPECT_EQ(error_of("f(x=1, 2)"), "line 1, column 8: positional argument follows keyword argument");
  EXPECT_NE(error_of("return " + std::string(5000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of("return " + std::string(5000, '-') + "1").find("nested too deeply"), std::string::npos);
  std::string sum = "return 1", power = "return 1", calls = "return a", branches = "if a: pass\n";
  for (int i = 0; i < 100000; ++i) {
    sum += "+1";
    power += "**1";
    calls += "[0]";
    branches += "elif a: pass\n";
  }
  EXPECT_NE(error_of(sum).find("the expression is too deep"), std::string::npos);
  EXPECT_NE(error_of(power).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of(calls).find("the expression is too deep"), std::string::npos);
  EXPECT_NE(error_of(branches).find("nested too deeply"), std::string::npos);
}

TEST(Body, says_which_names_it_needs) {
  EXPECT_EQ(Body("d = (a - b).abs()\nreturn where(d < inf, torch.sqrt(d), c.shape[0])", "").free_names(),
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Body, calls_operators_for_tensors) {
  const Tensor a = tensor({1, -2, 3}), b = tensor({0.5, -4, 3});
  EXPECT_EQ(tensor_result("return a + b", {a, b}), (Floats{1.5, -6, 6}));
  EXPECT_EQ(tensor_result("return 2 - a * 3", {a}), (Floats{-1, 8, -7}));
  EXPECT_EQ(tensor_result("return -a / 2", {a}), (Floats{-0.5, 1, -1.5}));
  EXPECT_EQ(tensor_result("return a.abs() ** 2", {a}), (Floats{1, 4, 9}));
  EXPECT_EQ(tensor_result("return abs(a)", {a}), (Floats{1, 2, 3}));
  EXPECT_EQ(tensor_result("return torch.abs(a).add(b, alpha=1)", {a, b}), (Floats{1.5, -2, 6}));
  EXPECT_EQ(tensor_result("d = (a - b).abs()\nreturn where(d < 1, d * d / 2, d - 0.5)", {a, b}),
            (Floats{0.125, 1.5, 0}));
  EXPECT_EQ(tensor_result("x = a\nx += 1\nreturn a", {a}), (Floats{1, -2, 3}));
  EXPECT_EQ(result("return a.shape, a.ndim, a.dtype, a.device, a.size(0), a.numel(), len(a)", {a}),
            "([3], 1, 6, device(type='cpu'), 3, 3, 3)");
  EXPECT_EQ(result("return a is None, b is not None, a == None", {a}), "(False, False, False)");
  EXPECT_EQ(result("s = 0\nfor x in a:\n  s += x.item()\nif a.sum() > 1: s += 10\nreturn s", {a}), "12.0");
  EXPECT_EQ(tensor_result("return a[1:]", {a}), (Floats{-2, 3}));
  EXPECT_EQ(tensor_result("return a[-1]", {a}), (Floats{3}));
  EXPECT_EQ(result("return a[None, 1:, None].shape", {a}), "[1, 2, 1]");
  EXPECT_EQ(result("return ones(2, 3).shape, ones([4]).shape"), "([2, 3], [4])");
  EXPECT_NE(error_of("if a > 0: pass", {a}).find("line 1, column 4: Boolean value of Tensor with more than one value"),
            std::string::npos);
  EXPECT_NE(error_of("return a + 'x'", {a}).find("column 8: unsupported operand types for +: Tensor and str"),
            std::string::npos);
}

TEST(Body, is_a_kernel) {
  OpInfo info{};
  info.body = "if n < 1:\n  return x\nreturn torch.ops.body_test.repeat_add(x + 1, n - 1)";
  define_op("body_test::repeat_add(Tensor x, int n) -> Tensor", info)
      .set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  EXPECT_EQ(call_op("body_test::repeat_add", {tensor({1}), 3})[0].to_tensor().data<float>()[0], 4);
  try {
    call_op("body_test::repeat_add", {tensor({1}), 1000});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("more than 200 levels deep"), std::string::npos);
  }

  info.body = "x.fill_(v)";
  define_op("body_test::set_(Tensor(a!) x, float v) -> Tensor(a!)", info)
      .set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  const Tensor t = tensor({1, 2});
  EXPECT_TRUE(call_op("body_test::set_", {t, 5})[0].to_tensor().is_same(t));
  EXPECT_EQ(t.data<float>()[1], 5);

  info.body = "return 1, x";
  define_op("body_test::pair(int x) -> (float, int)", info).set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  const std::vector<Value> pair = call_op("body_test::pair", {7});
  EXPECT_EQ(pair[0].to_double(), 1.0);
  EXPECT_EQ(pair[1].to_int(), 7);

  info.body = "return 'text'";
  define_op("body_test::wrong(int x) -> Tensor", info).set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  try {
    call_op("body_test::wrong", {7});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "body_test::wrong: the body returned str, the schema says Tensor (called with x=7)");
  }

  info.body = "return x + 1, x + 2";
  define_op("body_test::next(int x) -> (int first, int second)", info)
      .set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  EXPECT_EQ(result("both = torch.ops.body_test.next(1)\nreturn both.second, both[0]"), "(3, 2)");
}

}  // namespace
}  // namespace sconce
