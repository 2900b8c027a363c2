#include "sconce/dispatch/custom/body.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

// An operator with this body: `arguments` as in a schema, "Tensor a, int b".
const Op& op_of(std::string_view text, std::string_view arguments) {
  static int count = 0;
  const std::string body(text);
  OpInfo info{};
  info.texts.body = body.c_str();
  return define_op("op_bodies_test::f" + std::to_string(count++) + "(" + std::string(arguments) + ") -> ()", info);
}

Value value_of(std::string_view text, std::string_view arguments, const std::vector<Value>& args) {
  return body_runner()->run_body(op_of(text, arguments), args.data());
}

std::string result(std::string_view text, std::string_view arguments = "", const std::vector<Value>& args = {}) {
  return value_of(text, arguments, args).repr();
}

std::string refusal(std::string_view text, std::string_view arguments = "", const std::vector<Value>& args = {}) {
  return error_of([&] { result(text, arguments, args); });
}

Tensor tensor(std::vector<float> values) {
  Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

std::vector<float> tensor_result(std::string_view text, std::string_view arguments, const std::vector<Value>& args) {
  const Value v = value_of(text, arguments, args);
  const Tensor& t = v.to_tensor();
  std::vector<float> out;
  for (int64_t i = 0; i < t.numel(); ++i) out.push_back(t.data<float>()[t.dim() == 0 ? 0 : i * t.stride(-1)]);
  return out;
}

using Floats = std::vector<float>;

TEST(OpBodies, compute_with_numbers_as_torchscript) {
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
      {"2 ** 3", "8.0"},
      {"2 ** -1", "0.5"},
      {"2.0 ** 0.5", "1.4142135623730951"},
      {"-2 ** 2", "-4.0"},
      {"2 ** 3 ** 2", "512.0"},
      {"1 + 2 * 3 - 4", "3"},
      {"(1 + 2) * 3", "9"},
      {"1 - 2 - 3", "-4"},
      {"3 == 3.0", "True"},
      {"1 < 2 < 3", "True"},
      {"1 < 3 < 2", "False"},
      {"6 & 3 | 8", "10"},
      {"1 << 4 >> 1", "8"},
      {"5 ^ 1", "4"},
      {"-(3)", "-3"},
      {"not 0", "True"},
      {"1 and 0", "False"},
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
      {"(1,)", "(1,)"},
      {"1, 2", "(1, 2)"},
      {"[1, 2, 3][-1]", "3"},
      {"[1, 2, 3, 4][1:3]", "[2, 3]"},
      {"[1, 2, 3, 4][::-1]", "[4, 3, 2, 1]"},
      {"[1, 2, 3][:-1]", "[1, 2]"},
      {"(1, 2, 3)[1:]", "(2, 3)"},
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
      {"float('inf')", "inf"},
      {"sqrt(16)", "4.0"},
      {"math.floor(-1.5)", "-2"},
      {"ceil(1.2)", "2"},
      {"round(2.5)", "2.0"},
      {"torch.float32", "6"},
      {"torch.channels_last", "2"},
      {"inf", "inf"},
      {"wrap_dim(-1, 3)", "2"},
      {"broadcast_shapes([3, 1], [4])", "[3, 4]"},
      {"inverse_permutation([2, 0, 1])", "[1, 2, 0]"},
      {"f\"{1 + 1} and {'x'}, {{}}\"", "'2 and x, {}'"},
      {"9223372036854775807 + 1", "-9223372036854775808"},
      {"7.0 // 2", "3.0"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(result(std::string("return ") + c.text), c.result);
  }
}

TEST(OpBodies, runs_statements) {
  EXPECT_EQ(result("x = 1\ny, z = x + 1, [3]\n(p, q) = (y, z)\nreturn p, q"), "(2, [3])");
  EXPECT_EQ(result("x = 5\nx += 2\nx *= 3\nx //= 2\nreturn x"), "10");
  EXPECT_EQ(result("if a > 1:\n  return 'big'\nelif a == 1:\n  return 'one'\nelse:\n  return 'small'", "int a", {1}),
            "'one'");
  EXPECT_EQ(result("s = 0\nfor i in range(10):\n  if i == 2: continue\n  if i == 5: break\n  s += i\nreturn s"), "8");
  EXPECT_EQ(result("s = ''\nfor x, y in [(1, 'a'), (2, 'b')]:\n  s = s + y\nreturn s"), "'ab'");
  EXPECT_EQ(result("n = 0\nwhile n * n < a:\n  n += 1\nreturn n", "int a", {50}), "8");
  EXPECT_EQ(result("l = [1]\nl.append(2)\nl.insert(0, 0)\nl[1] = 9\nl.extend([7])\nx = l.pop()\nreturn l, x"),
            "([0, 9, 2], 7)");
  EXPECT_EQ(result("\n    # indented in a table\n    x = (1 +\n      2)  # in brackets lines go on\n\n    return x\n"),
            "3");
  EXPECT_EQ(result("'a text'\npass; x = 1; return x"), "1");
  EXPECT_EQ(result("x = 1"), "None");
  EXPECT_EQ(result(""), "None");
  EXPECT_EQ(result("x = a\nx += [2]\nreturn a, x", "int[] a", {IntList{1}}), "([1], [1, 2])");
}

TEST(OpBodies, shows_the_place_of_an_error) {
  // Compiled
  EXPECT_EQ(refusal("x = 1\nreturn y"), "line 2, column 8: undefined value y");
  EXPECT_EQ(refusal("x, y = 1, 2, 3").find("line 1, column 1: "), 0u);
  EXPECT_EQ(refusal("return no_such_operator(1)").find("line 1, column 8: "), 0u);
  EXPECT_EQ(refusal("return a.foo", "int a", {1}).find("line 1, column 8: "), 0u);
  EXPECT_EQ(refusal("return torch.foo").find("line 1, column 8: "), 0u);
  // Run
  EXPECT_EQ(refusal("\nreturn 1 // a", "int a", {0}), "line 2, column 8: division by 0");
  EXPECT_EQ(refusal("assert a > 0, f'a must be > 0, got {a}'", "int a", {-1}),
            "line 1, column 1: AssertionError: a must be > 0, got -1");
  EXPECT_EQ(refusal("\nraise ValueError('bad')"), "line 2, column 1: bad");

  // Parsed
  EXPECT_EQ(refusal("return (1 +"), "line 1, column 12: expected ident but found 'eof' here");
  EXPECT_EQ(refusal("if a\n  return 1"), "line 2, column 1: expected : but found 'indent' here");
  EXPECT_EQ(refusal("if a:\nreturn 1"), "line 2, column 1: expected an indented block but found 'newline' here");
  EXPECT_EQ(refusal("x = 1\n  y = 2"), "line 2, column 1: expected newline but found 'indent' here");
  EXPECT_EQ(refusal("if a:\n    x = 1\n  y = 2"), "line 3, column 1: invalid indent level 2");
  EXPECT_EQ(refusal("return [i for i in a]"),
            "line 1, column 8: there are no comprehensions in the body of an operator");
  EXPECT_EQ(refusal("break"), "line 1, column 1: 'break' outside of a loop");
  EXPECT_EQ(refusal("x = {}"), "line 1, column 6: there are no dicts in the body of an operator");
  EXPECT_EQ(refusal("f(*x)"), "line 1, column 3: there are no starred values in the body of an operator");
  EXPECT_EQ(refusal("raise x"), "line 1, column 1: expected an exception with a message: raise ValueError('...')");
  EXPECT_EQ(refusal("with x: pass"),
            "line 1, column 1: only statements that compute can stand in the body of an operator");
  EXPECT_EQ(refusal("a.b = x"), "line 1, column 1: only names and items of lists can be assigned");
  EXPECT_EQ(refusal("1 = x"), "line 1, column 1: only names and items of lists can be assigned");
  EXPECT_EQ(refusal("x = 'abc"), "line 1, column 5: expected a valid token but found ''' here");
  EXPECT_EQ(refusal("x = $"), "line 1, column 5: expected a valid token but found '$' here");
  EXPECT_EQ(refusal("import os"), "line 1, column 1: import statements aren't supported");
  EXPECT_EQ(refusal("f(x=1, 2)"), "line 1, column 8: positional argument follows keyword argument");
  EXPECT_NE(refusal("return " + std::string(5000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal("return " + std::string(5000, '-') + "1").find("nested too deeply"), std::string::npos);
  std::string sum = "return 1", power = "return 1", calls = "return a", branches = "if a: pass\n";
  for (int i = 0; i < 100000; ++i) {
    sum += "+1";
    power += "**1";
    calls += "[0]";
    branches += "elif a: pass\n";
  }
  EXPECT_NE(refusal(sum).find("the expression is too deep"), std::string::npos);
  EXPECT_NE(refusal(power).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal(calls).find("the expression is too deep"), std::string::npos);
  EXPECT_NE(refusal(branches).find("nested too deeply"), std::string::npos);
}

TEST(OpBodies, say_which_names_they_need) {
  const auto names = [](std::string_view text) { return body_runner()->free_names(text, 1, 1).value(); };
  EXPECT_EQ(names("d = (a - b).abs()\nreturn where(d < inf, torch.sqrt(d), c.shape[0])"),
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(OpBodies, call_operators_for_tensors) {
  const Tensor a = tensor({1, -2, 3}), b = tensor({0.5, -4, 3});
  const char *one = "Tensor a", *two = "Tensor a, Tensor b";
  EXPECT_EQ(tensor_result("return a + b", two, {a, b}), (Floats{1.5, -6, 6}));
  EXPECT_EQ(tensor_result("return 2 - a * 3", one, {a}), (Floats{-1, 8, -7}));
  EXPECT_EQ(tensor_result("return -a / 2", one, {a}), (Floats{-0.5, 1, -1.5}));
  EXPECT_EQ(tensor_result("return a.abs() ** 2", one, {a}), (Floats{1, 4, 9}));
  EXPECT_EQ(tensor_result("return abs(a)", one, {a}), (Floats{1, 2, 3}));
  EXPECT_EQ(tensor_result("return torch.abs(a).add(b, alpha=1)", two, {a, b}), (Floats{1.5, -2, 6}));
  EXPECT_EQ(tensor_result("d = (a - b).abs()\nreturn where(d < 1, d * d / 2, d - 0.5)", two, {a, b}),
            (Floats{0.125, 1.5, 0}));
  EXPECT_EQ(tensor_result("x = a\nx += 1\nreturn a", one, {a}), (Floats{1, -2, 3}));
  EXPECT_EQ(result("return a.shape, a.ndim, a.dtype, a.device, a.size(0), a.numel(), len(a)", one, {a}),
            "([3], 1, 6, device(type='cpu'), 3, 3, 3)");
  EXPECT_EQ(result("return a is None, b is not None", "Tensor? a, Tensor? b", {a, Value()}), "(False, False)");
  EXPECT_EQ(result("s = 0.\nfor x in a:\n  s += float(x)\nif a.sum() > 1: s += 10\nreturn s", one, {a}), "12.0");
  EXPECT_EQ(tensor_result("return a[1:]", one, {a}), (Floats{-2, 3}));
  EXPECT_EQ(tensor_result("return a[-1]", one, {a}), (Floats{3}));
  EXPECT_EQ(result("return a[None, 1:, None].shape", one, {a}), "[1, 2, 1]");
  EXPECT_EQ(result("return ones([2, 3]).shape, ones([4]).shape"), "([2, 3], [4])");
  EXPECT_NE(
      refusal("if a > 0:\n  return 1\nreturn 2", one, {a}).find("Boolean value of Tensor with more than one value"),
      std::string::npos);
}

const Op& compound(const char* schema, const char* body) {
  OpInfo info{};
  info.texts.body = body;
  Op& op = define_op(schema, info);
  op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(run_body));
  return op;
}

TEST(OpBodies, are_kernels) {
  compound("body_test::repeat_add(Tensor x, int n) -> Tensor",
           "if n < 1:\n  return x\nreturn torch.ops.body_test.repeat_add(x + 1, n - 1)");
  EXPECT_EQ(call_op("body_test::repeat_add", {tensor({1}), 3})[0].to_tensor().data<float>()[0], 4);
  EXPECT_NE(error_of([] { call_op("body_test::repeat_add", {tensor({1}), 1000}); }).find("more than 200 levels deep"),
            std::string::npos);

  compound("body_test::set_(Tensor(a!) x, float v) -> Tensor(a!)", "x.fill_(v)");
  const Tensor t = tensor({1, 2});
  EXPECT_TRUE(call_op("body_test::set_", {t, 5})[0].to_tensor().is_same(t));
  EXPECT_EQ(t.data<float>()[1], 5);

  compound("body_test::pair(int x) -> (float, int)", "return 1, x");
  const std::vector<Value> pair = call_op("body_test::pair", {7});
  EXPECT_EQ(pair[0].to_double(), 1.0);
  EXPECT_EQ(pair[1].to_int(), 7);

  compound("body_test::wrong(int x) -> Tensor", "return 'text'");
  EXPECT_EQ(error_of([] { call_op("body_test::wrong", {7}); }),
            "body_test::wrong: the body returned str, the schema says Tensor (called with x=7)");

  compound("body_test::next(int x) -> (int first, int second)", "return x + 1, x + 2");
  EXPECT_EQ(result("both = torch.ops.body_test.next(1)\nreturn both.second, both[0]"), "(3, 2)");

  compound("body_test::none(int x) -> int", "pass");
  EXPECT_EQ(error_of([] { call_op("body_test::none", {7}); }),
            "body_test::none: the body returned None, the schema says int (called with x=7)");

  compound("body_test::typed(int x) -> int", "raise TypeError(f'not {x}')");
  try {
    call_op("body_test::typed", {7});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_EQ(e.message(), "body_test::typed: line 1, column 1: not 7 (called with x=7)");
  }
}

// Where one is missing the operator and what to link are named; such a program is linked by a test of its own.
TEST(OpBodies, need_a_front_end) {
  const Op& op = compound("body_test::twice(Tensor a) -> Tensor", "return a + a");
  EXPECT_EQ(error_of([&] { fail_no_front_end(op); }),
            "body_test::twice is written in the script language, and this program has no front end to compile it: link "
            "the whole library (sconce), not its core");
}

}  // namespace
}  // namespace sconce
