#include <gtest/gtest.h>

#include "sconce/dispatch/binding/argument_binder.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    return e.what();
  }
  return "no error";
}

std::string bound(const char* schema, std::vector<Value> args, std::vector<NamedValue> kwargs = {}) {
  std::string out;
  for (const Value& v : bind_arguments(parse_schema(schema), args, kwargs)) {
    if (!out.empty()) out += " ";
    out += v.is_tensor() ? "Tensor" : v.repr();
  }
  return out;
}

Tensor tensor(double v, DType dtype = DType::float32) { return scalar_tensor_of(v, dtype); }

TEST(Bind, fills_in_keywords_and_defaults) {
  const char* schema = "f(int a, float b=1.5, *, str? c=None, int[2] d=1) -> int";
  EXPECT_EQ(bound(schema, {3}), "3 1.5 None [1, 1]");
  EXPECT_EQ(bound(schema, {3, 2.0}, {{"d", IntList{4, 5}}, {"c", "x"}}), "3 2.0 'x' [4, 5]");
  EXPECT_EQ(bound(schema, {}, {{"b", 0.5}, {"a", 1}}), "1 0.5 None [1, 1]");
  EXPECT_EQ(bound("aten::f(Tensor self) -> Tensor", {}, {{"input", tensor(1)}}), "Tensor");
  EXPECT_EQ(bound("f(str s, ...) -> str", {"a", 1, 2}), "'a' (1, 2)");
}

// Where each argument comes from: "p0" by position, "k1" a keyword, "d" the default, "-" nowhere; "!" given twice.
std::string arranged(const char* schema_text, size_t positional, std::vector<std::string_view> names,
                     bool input_is_self = false) {
  const Schema schema = parse_schema(schema_text);
  ArgumentBinder call(schema, positional, names.size(), [&](size_t k) { return names[k]; }, input_is_self);
  std::string out;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const ArgumentBinder::Given given = call.next();
    out += out.empty() ? "" : " ";
    out += "pkd-"[static_cast<size_t>(given.from)];
    if (given.from <= ArgumentBinder::From::keyword) out += std::to_string(given.index);
    if (given.twice) out += "!";
  }
  if (call.left_over() > 0) out += ", " + std::to_string(call.left_over()) + " left";
  if (const auto unused = call.unused_keyword()) {
    out += (unused->is_known ? ", again " : ", unknown ") + std::string(names[unused->index]);
  }
  return out;
}

TEST(ArgumentBinder, gives_each_argument_its_place) {
  const char* schema = "f(int a, int b=1, *, int c, int d=2) -> ()";
  EXPECT_EQ(arranged(schema, 1, {"c"}), "p0 d k0 d");
  EXPECT_EQ(arranged(schema, 2, {"d", "c"}), "p0 p1 k1 k0");
  EXPECT_EQ(arranged(schema, 0, {"b"}), "- k0 - d");
  EXPECT_EQ(arranged(schema, 3, {"c"}), "p0 p1 k0 d, 1 left");
  EXPECT_EQ(arranged(schema, 1, {"c", "a"}), "p0! d k0 d, again a");
  EXPECT_EQ(arranged(schema, 1, {"c", "c"}), "p0 d k0 d, again c");
  EXPECT_EQ(arranged(schema, 1, {"x", "c"}), "p0 d k1 d, unknown x");
  EXPECT_EQ(arranged("f(Tensor self) -> ()", 0, {"input"}, true), "k0");
  EXPECT_EQ(arranged("f(Tensor self) -> ()", 0, {"input"}), "-, unknown input");
}

TEST(Bind, converts) {
  EXPECT_EQ(bound("f(float a) -> ()", {3}), "3.0");
  EXPECT_EQ(bound("f(complex a) -> ()", {3}), "(3+0j)");
  EXPECT_EQ(bound("f(Scalar a, Scalar b, Scalar c) -> ()", {3, 1.5, true}), "3 1.5 True");
  EXPECT_EQ(bound("f(int[2] a, int[1]? b, float[3] c) -> ()", {3, 4, 1}), "[3, 3] [4] [1.0, 1.0, 1.0]");
  EXPECT_EQ(bound("f(int[] a) -> ()", {std::tuple<int, int>(1, 2)}), "[1, 2]");
  EXPECT_EQ(bound("f(float[] a) -> ()", {IntList{1, 2}}), "[1.0, 2.0]");
  EXPECT_EQ(bound("f(SymInt[] size, *, ScalarType? dtype=None) -> ()", {2, 3}, {{"dtype", DType::float32}}),
            "[2, 3] 6");
  EXPECT_EQ(bound("f(Tensor[] a) -> ()", {Value(IntList{})}), "[]");
  EXPECT_EQ(bound("f(int a, float b, Scalar c) -> ()", {tensor(2, DType::int64), tensor(0.5), tensor(1.5)}),
            "2 0.5 1.5");
  EXPECT_EQ(bound("f(Device a) -> ()", {"cuda:1"}), "device(type='cuda', index=1)");
  EXPECT_EQ(bound("f(Scalar[] a) -> ()", {IntList{1, 2}}), "[1, 2]");
}

TEST(Bind, keeps_lists_that_fit_and_copies_defaults) {
  const Value list(IntList{1});
  EXPECT_TRUE(bind_arguments(parse_schema("f(int[] a) -> ()"), {list}, {})[0].is_same(list));
  const Schema schema = parse_schema("f(int[] a=[1]) -> ()");
  bind_arguments(schema, {}, {})[0].to_list().append(2);
  EXPECT_EQ(bind_arguments(schema, {}, {})[0].repr(), "[1]");
}

TEST(Bind, unifies_type_variables) {
  EXPECT_EQ(bound("f(t[] a, t b) -> ()", {IntList{1}, 2}), "[1] 2");
  EXPECT_NE(error_of([] { bound("f(t[] a, t b) -> ()", {IntList{1}, "x"}); }).find("argument 'b'"), std::string::npos);
  Ref<Dict> dict = make_ref<Dict>(string_type(), int_type());
  EXPECT_EQ(bound("f(Dict(str, t) d, t v) -> ()", {Value(dict), 1}), "{} 1");
  EXPECT_NE(error_of([&] { bound("f(Dict(int, t) d, t v) -> ()", {Value(dict), 1}); }).find("'d'"), std::string::npos);
}

TEST(Bind, names_what_does_not_fit) {
  EXPECT_EQ(error_of([] { bound("m::f.o(Tensor a, int b) -> ()", {tensor(1), 2.5}); }),
            "m::f.o: argument 'b': expected int, got float; the schema is m::f.o(Tensor a, int b) -> ()");
  const auto reason = [](const char* schema, std::vector<Value> args, std::vector<NamedValue> kwargs = {}) {
    const std::string text = error_of([&] { bound(schema, args, kwargs); });
    return text.substr(3, text.find("; the schema") - 3);
  };
  EXPECT_EQ(reason("f(int a) -> ()", {}), "argument 'a' is missing");
  EXPECT_EQ(reason("f(int a) -> ()", {1, 2}), "takes 1 positional arguments, got 2");
  EXPECT_EQ(reason("f(int a) -> ()", {1}, {{"a", 1}}), "argument 'a' is given by position and by name");
  EXPECT_EQ(reason("f(int a) -> ()", {1}, {{"b", 1}}), "has no argument 'b'");
  EXPECT_EQ(reason("f(int a, *, int b) -> ()", {1, 2}), "argument 'b' is missing");
  EXPECT_EQ(reason("f(Tensor a) -> ()", {1}), "argument 'a': expected Tensor, got int");
  EXPECT_EQ(reason("f(Tensor a) -> ()", {Value()}), "argument 'a': expected Tensor, got None");
  EXPECT_EQ(reason("f(int a) -> ()", {tensor(1.5)}), "argument 'a': expected int, got Tensor");
  EXPECT_EQ(reason("f(int a) -> ()", {empty_tensor({1}, DType::int64)}), "argument 'a': expected int, got Tensor");
  EXPECT_EQ(reason("f(int[] a) -> ()", {"x"}), "argument 'a': expected int[], got str");
  EXPECT_EQ(reason("f(int[] a) -> ()", {ListRef<double>{1.5}}), "argument 'a': expected int[], got float[]");
  EXPECT_EQ(reason("f(Device a) -> ()", {"gpu"}), "argument 'a': expected Device, got str");
}

TEST(ResolveOverload, tries_without_conversions_first) {
  define_op("bind_test::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  define_op("bind_test::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  define_op("bind_test::add.int(int a, int b) -> int");
  define_op("bind_test::add.float(float a, float b) -> float");
  const Tensor t = empty_tensor({2}, DType::float32);
  const auto chosen = [](const char* name, std::vector<Value> args, std::vector<NamedValue> kwargs = {}) {
    return std::string(resolve_overload(name, args, kwargs).info.overload);
  };
  EXPECT_EQ(chosen("bind_test::add", {t, t}), "Tensor");
  EXPECT_EQ(chosen("bind_test::add", {t, 1}), "Scalar");
  EXPECT_EQ(chosen("bind_test::add", {t, true}), "Scalar");
  EXPECT_EQ(chosen("bind_test::add", {t, t}, {{"alpha", 2}}), "Tensor");
  EXPECT_EQ(chosen("bind_test::add", {t, 1, 2}), "Scalar");
  EXPECT_EQ(chosen("bind_test::add", {1, 2}), "int");
  EXPECT_EQ(chosen("bind_test::add", {1.0, 2.0}), "float");
  EXPECT_EQ(chosen("bind_test::add", {1, 2.0}), "float");

  define_op("bind_test::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  define_op("bind_test::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor");
  EXPECT_EQ(chosen("bind_test::sum", {t}), "");
  EXPECT_EQ(chosen("bind_test::sum", {t, 1}), "dim_IntList");
  EXPECT_EQ(chosen("bind_test::sum", {t, Value(), true}), "dim_IntList");

  EXPECT_EQ(
      error_of([&] { chosen("bind_test::sum", {t, "x"}); }),
      "bind_test::sum: no overload takes (Tensor, str)\n"
      "  bind_test::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor: takes 1 positional arguments, got 2\n"
      "  bind_test::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor: argument 'dim': expected "
      "int[]?, got str");
}

TEST(CallOp, finds_and_calls) {
  define_op("bind_test::twice(int a) -> (int, int)")
      .set_kernel(Key::cpu, SCONCE_BOXED_KERNEL(+[](const Op&, KeySet, Value* args, Value* returns) {
                    returns[0] = args[0];
                    returns[1] = args[0].to_int() * 2;
                  }));
  EXPECT_EQ(call_op("bind_test::twice", {4})[1].to_int(), 8);
  EXPECT_EQ(call_op("bind_test::twice", {}, {{"a", 5}})[1].to_int(), 10);
  EXPECT_THROW(call_op("bind_test::missing", {}), Error);
  EXPECT_THROW(call_op("bind_test::twice.other", {4}), Error);
  EXPECT_THROW(call_op("bind_test::twice", {"x"}), Error);
}

}  // namespace
}  // namespace sconce
