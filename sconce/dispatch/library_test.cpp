#include "sconce/dispatch/library.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

// Registers a block as a library would when it is loaded.
void enter(const char* space, void (*block)(Library&), bool fragment = false) {
  const library::Registration registration(space, fragment, "library_test.cpp", block);
}

Tensor tensor(std::vector<float> values) {
  Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

Tensor squareplus_cpu(const Tensor& self, double b) {
  SCONCE_CHECK(b > 0, "b must be > 0, got {}", b);
  Tensor out = empty_tensor(self.sizes(), self.dtype());
  for (int64_t i = 0; i < self.numel(); ++i) {
    const float x = self.data<float>()[i];
    out.data<float>()[i] = static_cast<float>((x + std::sqrt(x * x + b)) / 2);
  }
  return out;
}
Tensor squareplus_meta(const Tensor& self, double) {
  return empty_tensor(self.sizes(), self.dtype(), Device(DeviceType::meta));
}

TEST(Library, defines_kernels_derivatives_and_bodies) {
  enter("library_test", [](Library& m) {
    m.def("squareplus(Tensor self, float b=4.) -> Tensor", "A smooth relu.");
    m.impl("squareplus", Key::cpu, &squareplus_cpu);
    m.meta("squareplus", &squareplus_meta);
    m.derivative("squareplus", "self: grad * result / (2 * result - self)");
    m.compound("huber_gap(Tensor a, Tensor b) -> Tensor", R"(
      d = (a - b).abs()
      return where(d < 1, d * d / 2, d - 0.5)
    )");
    m.compound("twice(Tensor a) -> Tensor", "return huber_gap(a, -a)");
  });
  EXPECT_FLOAT_EQ(call_op("library_test::squareplus", {tensor({0})})[0].to_tensor().data<float>()[0], 1);
  EXPECT_FLOAT_EQ(call_op("library_test::squareplus", {tensor({0})}, {{"b", 16}})[0].to_tensor().data<float>()[0], 2);
  const Tensor meta = empty_tensor({3, 4}, DType::float32, Device(DeviceType::meta));
  EXPECT_TRUE(call_op("library_test::squareplus", {meta})[0].to_tensor().is_meta());
  EXPECT_EQ(error_of([] { call_op("library_test::squareplus", {tensor({0}), -1.5}); }),
            "library_test::squareplus: b must be > 0, got -1.5 (called with self: float32[1], b=-1.5)");
  EXPECT_FLOAT_EQ(call_op("library_test::huber_gap", {tensor({3}), tensor({1})})[0].to_tensor().data<float>()[0], 1.5);
  EXPECT_FLOAT_EQ(call_op("library_test::twice", {tensor({0.25})})[0].to_tensor().data<float>()[0], 0.125);
  const Op* op = find_op("library_test::squareplus");
  EXPECT_STREQ(op->texts().derivatives, "self: grad * result / (2 * result - self)");
  EXPECT_STREQ(op->texts().doc, "A smooth relu.");
  EXPECT_EQ(op->origin(), "library_test.cpp");
  EXPECT_TRUE(find_op("library_test::huber_gap")->has(Trait::compound));
}

std::tuple<Tensor, int64_t, std::string> everything(KeySet keys, const Tensor& t, const Tensor& maybe,
                                                    std::optional<Tensor> other, std::optional<double> x, IntList ints,
                                                    const std::vector<double>& doubles, TensorList tensors,
                                                    const Scalar& s, std::string_view text, DType dtype,
                                                    std::optional<Device> device, bool flag, Value any,
                                                    ListRef<Scalar> scalars) {
  std::string out = keys.has(Key::cpu) ? "cpu" : "not cpu";
  out += maybe.defined() ? " maybe" : " none";
  out += other ? " other" : " none";
  out += x ? " " + float_repr(*x) : " none";
  out +=
      " " + std::to_string(ints.size()) + " " + std::to_string(doubles.size()) + " " + std::to_string(tensors.size());
  out += " " + s.to_string() + " " + std::string(text) + " " + std::string(dtype_name(dtype));
  out += device ? " " + to_string(*device) : " none";
  out += flag ? " yes " : " no ";
  out += any.repr() + " " + std::to_string(scalars.size());
  return {t, 7, out};
}

void add_one_(const Tensor& self) {
  for (int64_t i = 0; i < self.numel(); ++i) self.data<float>()[i] += 1;
}
std::vector<int64_t> sizes_of(const Tensor& self) { return self.sizes().vec(); }
std::vector<Tensor> both(const Tensor& a, const Tensor& b) { return {a, b}; }

TEST(Library, passes_every_kind_of_argument) {
  enter("library_kinds", [](Library& m) {
    m.def(
        "everything(Tensor t, Tensor? maybe, Tensor? other, float? x, SymInt[] ints, float[] doubles, Tensor[] "
        "tensors, Scalar s, "
        "str text, ScalarType dtype, Device? device, bool flag, t any, Scalar[] scalars) -> (Tensor, int, str)");
    m.impl("everything", Key::cpu, &everything);
    m.def("add_one_(Tensor(a!) self) -> Tensor(a!)");
    m.impl("add_one_", Key::cpu, &add_one_);
    m.def("sizes_of(Tensor self) -> int[]");
    m.impl("sizes_of", Key::cpu, &sizes_of);
    m.def("both(Tensor a, Tensor b) -> Tensor[]");
    m.impl("both", Key::cpu, &both);
  });
  const Tensor t = tensor({1, 2});
  const std::vector<Value> out = call_op(
      "library_kinds::everything", {t, Value(), t, 2, IntList{1, 2, 3}, ListRef<double>{1.5}, std::vector<Tensor>{t, t},
                                    3, "word", DType::int64, "meta", true, IntList{4}, ListRef<double>{1, 2}});
  EXPECT_EQ(out[2].to_string_ref(), "cpu none other 2.0 3 1 2 3 word int64 meta yes [4] 2");
  EXPECT_TRUE(out[0].to_tensor().is_same(t));
  EXPECT_EQ(out[1].to_int(), 7);
  EXPECT_TRUE(call_op("library_kinds::add_one_", {t})[0].to_tensor().is_same(t));
  EXPECT_EQ(t.data<float>()[0], 2);
  EXPECT_EQ(call_op("library_kinds::sizes_of", {t})[0].repr(), "[2]");
  EXPECT_EQ(call_op("library_kinds::both", {t, t})[0].to_list().size(), 2u);
}

int64_t first(const Tensor&, int64_t) { return 1; }

TEST(Library, leaves_nothing_behind_when_something_is_wrong) {
  const auto failure = [](void (*wrong)(Library&)) {
    static void (*block)(Library&);
    block = wrong;
    const std::string text = error_of([] {
      enter("library_wrong", [](Library& m) {
        m.def("good(Tensor self, int n) -> int");
        m.impl("good", Key::cpu, &first);
        block(m);
      });
    });
    EXPECT_EQ(find_op("library_wrong::good"), nullptr);
    return text;
  };
  EXPECT_EQ(failure([](Library& m) { m.def("bad(Tensor self -> Tensor"); }),
            "schema 'library_wrong::bad(Tensor self -> Tensor': column 32: expected ')', got '-'");
  EXPECT_EQ(failure([](Library& m) { m.def("other::bad() -> ()"); }),
            "schema 'other::bad() -> ()' is not of the namespace 'library_wrong'");
  EXPECT_EQ(failure([](Library& m) { m.def("good(int n) -> int"); }),
            "operator 'library_wrong::good' is already defined");
  EXPECT_EQ(failure([](Library& m) { m.impl("missing", Key::cpu, &first); }),
            "there is no operator 'library_wrong::missing' to add a kernel to");
  EXPECT_EQ(failure([](Library& m) { m.impl("good", Key::meta, +[](const Tensor&, double) -> int64_t { return 1; }); }),
            "library_wrong::good: the kernel for Meta takes float where the schema says int n; the schema is "
            "library_wrong::good(Tensor self, int n) -> int");
  EXPECT_EQ(failure([](Library& m) { m.impl("good", Key::meta, +[](const Tensor&) -> int64_t { return 1; }); }),
            "library_wrong::good: the kernel for Meta has 1 parameters, the schema has 2 arguments; the schema is "
            "library_wrong::good(Tensor self, int n) -> int");
  EXPECT_EQ(failure([](Library& m) { m.impl("good", Key::meta, +[](const Tensor& t, int64_t) { return t; }); }),
            "library_wrong::good: the kernel for Meta returns Tensor, the schema says int; the schema is "
            "library_wrong::good(Tensor self, int n) -> int");
  EXPECT_EQ(failure([](Library& m) { m.impl("good", Key::meta, +[](const Tensor&, int64_t) {}); }),
            "library_wrong::good: the kernel for Meta returns nothing; the schema is library_wrong::good(Tensor self, "
            "int n) -> int");
  EXPECT_EQ(failure([](Library& m) { m.derivative("good", "self: grad * slef"); }),
            "library_wrong::good: derivative for 'self' uses 'slef', which is neither an argument nor grad nor result");
  EXPECT_EQ(failure([](Library& m) { m.derivative("good", "slef: grad"); }),
            "library_wrong::good: derivative for 'slef', which is no argument");
  EXPECT_EQ(failure([](Library& m) { m.derivative("aten::abs", "self: grad"); }),
            "a derivative needs an operator that the same library defines, 'aten::abs' is none");
  EXPECT_EQ(failure([](Library& m) { m.compound("c(Tensor a) -> Tensor", "return a +"); }),
            "library_wrong::c: body: line 1, column 11: expected ident but found 'newline' here");
  EXPECT_EQ(failure([](Library& m) { m.compound("c(Tensor a) -> Tensor", "return a + b"); }),
            "library_wrong::c: body: 'b' is neither an argument nor set in the body");
  EXPECT_EQ(failure([](Library&) { throw Error(ErrorKind::runtime, "from the block"); }), "from the block");
}

int64_t answer_one() { return 1; }
int64_t answer_two() { return 2; }

TEST(Library, opens_a_namespace_once_and_fragments_add_to_it) {
  enter("library_space", [](Library& m) {
    m.def("one() -> int");
    m.impl("one", Key::cpu, &answer_one);
  });
  EXPECT_EQ(error_of([] { enter("library_space", [](Library& m) { m.def("two() -> int"); }); }),
            "namespace 'library_space' is taken: use SCONCE_LIBRARY_FRAGMENT to add to it");
  EXPECT_EQ(error_of([] { enter("aten", [](Library& m) { m.def("two() -> int"); }); }),
            "namespace 'aten' is taken: use SCONCE_LIBRARY_FRAGMENT to add to it");
  enter(
      "library_space",
      [](Library& m) {
        m.def("two() -> int");
        m.impl("two", Key::cpu, &answer_two);
        m.impl("one", Key::cpu, &answer_two);  // the last kernel of a key is the one that counts
      },
      true);
  EXPECT_EQ(call_op("library_space::two", {})[0].to_int(), 2);
  EXPECT_EQ(call_op("library_space::one", {})[0].to_int(), 2);
}

int observed = 0;
Tensor watched_abs(KeySet keys, const Tensor& self) {
  ++observed;
  Value args[] = {self}, result;
  find_op("aten::abs")->redispatch_boxed(keys & KeySet::below(Key::observe), args, &result);
  return result.to_tensor();
}

TEST(Library, adds_kernels_to_operators_of_others) {
  enter("aten", [](Library& m) { m.impl("abs", Key::observe, &watched_abs); }, true);
  {
    const ModeGuard observe(Key::observe, KeySet());
    EXPECT_EQ(call_op("aten::abs", {tensor({-2})})[0].to_tensor().data<float>()[0], 2);
  }
  EXPECT_EQ(observed, 1);
  const_cast<Op*>(find_op("aten::abs"))->set_kernel(Key::observe, nullptr);
}

TEST(Library, takes_boxed_kernels_and_fallbacks) {
  enter("library_boxed", [](Library& m) {
    m.def("boxed(int a) -> int");
    m.impl(
        "boxed", Key::cpu, +[](const Op& op, KeySet, Value* args, Value* returns) {
          returns[0] = args[0].to_int() + static_cast<int64_t>(op.schema().arguments.size());
        });
    m.fallback(Key::python, +[](const Op&, KeySet, Value*, Value* returns) { returns[0] = -1; });
  });
  EXPECT_EQ(call_op("library_boxed::boxed", {4})[0].to_int(), 5);
  {
    const ModeGuard python(Key::python, KeySet());
    EXPECT_EQ(call_op("library_boxed::boxed", {4})[0].to_int(), -1);
  }
  set_fallback(Key::python, nullptr);
}

TEST(LoadLibrary, names_a_file_that_cannot_be_loaded) {
  EXPECT_EQ(error_of([] { load_library("/no/such/library.so"); }).find("cannot load library '/no/such/library.so': "),
            0u);
}

}  // namespace
}  // namespace sconce
