#include "sconce/types/value.h"

#include "sconce/types/class_info.h"

#include <gtest/gtest.h>

#include <thread>

#include "sconce/testing/error_of.h"
#include "sconce/types/hash.h"

namespace sconce {
namespace {

using testing::error_of;

Tensor number_tensor(double v) { return scalar_tensor_of(v, DType::float64); }

TEST(Value, keeps_what_it_was_given) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_EQ(Value(true).to_bool(), true);
  EXPECT_EQ(Value(-3).to_int(), -3);
  EXPECT_EQ(Value(2.5).to_double(), 2.5);
  EXPECT_EQ(Value("text").to_string_ref(), "text");
  EXPECT_EQ(Value(std::complex<double>(1, 2)).to_complex(), std::complex<double>(1, 2));
  EXPECT_EQ(Value(Device(DeviceType::cuda, 1)).to_device(), Device(DeviceType::cuda, 1));
  EXPECT_EQ(Value(Device(DeviceType::meta)).to_device(), Device(DeviceType::meta));
  EXPECT_EQ(Value(DType::float32).to_int(), 6);
  EXPECT_TRUE(Value(std::optional<int64_t>()).is_none());
  EXPECT_EQ(Value(std::optional<int64_t>(4)).to_int(), 4);
  EXPECT_EQ(Value(Scalar(1.5)).to_double(), 1.5);
  EXPECT_TRUE(Value(Scalar(true)).is_bool());
  EXPECT_EQ(Value(std::tuple<int, const char*>(1, "a")).repr(), "(1, 'a')");
  EXPECT_TRUE(Value(Tensor()).is_none());
  EXPECT_FALSE(Value().to_optional_tensor().defined());
  EXPECT_FALSE(Value().to_generator().defined());
  const Tensor t = number_tensor(1);
  EXPECT_TRUE(Value(t).to_tensor().is_same(t));
}

TEST(Value, counts_what_it_owns) {
  const Tensor t = number_tensor(1);
  {
    Value a(t);
    Value b(a), c;
    c = b;
    Value d(std::move(c));
    EXPECT_TRUE(c.is_none());
    EXPECT_EQ(t.impl()->count.owners(), 4u);
    a = a;
    EXPECT_EQ(t.impl()->count.owners(), 4u);
  }
  EXPECT_EQ(t.impl()->count.owners(), 1u);
}

TEST(Value, says_what_it_is_when_asked_for_something_else) {
  EXPECT_EQ(error_of([] { Value(1).to_tensor(); }), "expected a value of type Tensor, got int");
  EXPECT_EQ(error_of([] { Value().to_int(); }), "expected a value of type int, got None");
  EXPECT_EQ(error_of([] { Value(IntList{1, 2}).to_string_ref(); }), "expected a value of type str, got int[]");
  EXPECT_EQ(error_of([] { Value("a").to_scalar(); }), "expected a number, got str");
}

TEST(Value, prints_as_python) {
  EXPECT_EQ(Value().repr(), "None");
  EXPECT_EQ(Value(true).repr(), "True");
  EXPECT_EQ(Value(1.0).repr(), "1.0");
  EXPECT_EQ(Value(1e-05).repr(), "1e-05");
  EXPECT_EQ(Value(0.0001).repr(), "0.0001");
  EXPECT_EQ(Value(1e16).repr(), "1e+16");
  EXPECT_EQ(Value(123456789012345680.0).repr(), "1.2345678901234568e+17");
  EXPECT_EQ(Value(1234567890123456.0).repr(), "1234567890123456.0");
  EXPECT_EQ(Value(0.1).repr(), "0.1");
  EXPECT_EQ(Value(-0.0).repr(), "-0.0");
  EXPECT_EQ(Value(std::nan("")).repr(), "nan");
  EXPECT_EQ(Value(-INFINITY).repr(), "-inf");
  EXPECT_EQ(Value(std::complex<double>(1, -2)).repr(), "(1-2j)");
  EXPECT_EQ(Value(std::complex<double>(0, 0.5)).repr(), "0.5j");
  EXPECT_EQ(Value("it's").repr(), "\"it's\"");
  EXPECT_EQ(Value("a'\"\n\x01").repr(), "'a\\'\"\\n\\x01'");
  EXPECT_EQ(Value(Device(DeviceType::cuda, 1)).repr(), "device(type='cuda', index=1)");
  EXPECT_EQ(Value(IntList{1, 2}).repr(), "[1, 2]");
  EXPECT_EQ(Value(std::tuple<int>(1)).repr(), "(1,)");
  EXPECT_EQ(Value(std::tuple<>()).repr(), "()");
  Ref<Dict> dict = make_ref<Dict>(string_type(), any_type());
  dict->set("b", 1);
  dict->set("a", Value(dict));
  EXPECT_EQ(Value(dict).repr(), "{'b': 1, 'a': {...}}");
  dict->clear();  // or the cycle keeps it alive
  const TypePtr pair = named_tuple_type("__torch__.m.ReprPair", {int_type(), int_type()}, {"x", "y"});
  EXPECT_EQ(Value(make_ref<Tuple>(std::vector<Value>{1, 2}, pair)).repr(), "ReprPair(x=1, y=2)");
  const TypePtr color = make_enum_type("__torch__.m.ReprColor", int_type());
  EXPECT_EQ(Value(make_ref<EnumValue>(color, "RED", 3)).repr(), "<ReprColor.RED: 3>");
}

TEST(Value, equals_as_python) {
  EXPECT_TRUE(Value(1).equals(1.0));
  EXPECT_TRUE(Value(true).equals(1));
  EXPECT_TRUE(Value(2).equals(std::complex<double>(2, 0)));
  EXPECT_FALSE(Value(int64_t{9007199254740993}).equals(9007199254740992.0));
  EXPECT_FALSE(Value(std::nan("")).equals(std::nan("")));
  EXPECT_TRUE(Value("a").equals("a"));
  EXPECT_FALSE(Value("1").equals(1));
  EXPECT_FALSE(Value().equals(0));
  EXPECT_TRUE(Value(IntList{1, 2}).equals(ListRef<double>{1.0, 2.0}));
  EXPECT_FALSE(Value(IntList{1, 2}).equals(IntList{1}));
  EXPECT_FALSE(Value(IntList{1}).equals(std::tuple<int>(1)));
  EXPECT_TRUE(Value(number_tensor(2)).equals(2));
  EXPECT_FALSE(Value(number_tensor(2)).equals(Value()));
  const Tensor many = empty_tensor({3}, DType::float32);
  EXPECT_EQ(error_of([&] { Value(many).equals(many); }),
            "Boolean value of Tensor with more than one value is ambiguous: compared tensors must have one element");
  EXPECT_TRUE(Value(std::vector<Tensor>{many}).equals(std::vector<Tensor>{many}));  // the same object
}

TEST(Value, hashes_equal_values_alike) {
  EXPECT_EQ(Value(1).hash(), Value(1.0).hash());
  EXPECT_EQ(Value(1).hash(), Value(true).hash());
  EXPECT_EQ(Value(3.0).hash(), Value(std::complex<double>(3, 0)).hash());
  EXPECT_EQ(Value("ab").hash(), Value("ab").hash());
  EXPECT_EQ(Value(std::tuple<int, double>(1, 2)).hash(), Value(std::tuple<double, int>(1, 2)).hash());
  EXPECT_EQ(error_of([] { Value(IntList{1}).hash(); }), "unhashable type: 'list'");
}

TEST(List, stores_by_kind) {
  EXPECT_TRUE(List(int_type()).is_ints());
  EXPECT_TRUE(List(simple_type(TypeKind::sym_int)).is_ints());
  EXPECT_TRUE(List(float_type()).is_doubles());
  EXPECT_TRUE(List(bool_type()).is_bools());
  EXPECT_TRUE(List(optional_type(tensor_type())).is_tensors());
  EXPECT_FALSE(List(string_type()).is_ints());
  EXPECT_TRUE(List(string_type()).ints().empty());

  const Value v(IntList{4, 5, 6});
  EXPECT_EQ(v.to_list().ints(), IntList({4, 5, 6}));
  EXPECT_EQ(v.type(), list_type(int_type()));
  EXPECT_EQ(Value(ListRef<bool>{true, false}).to_list().bools()[0], true);
  EXPECT_EQ(error_of([&] { v.to_list().doubles(); }), "expected a list of float, got int[]");
  EXPECT_EQ(error_of([&] { v.to_list().append(1.5); }), "expected a value of type int, got float");

  Ref<List> holes = make_ref<List>(optional_type(tensor_type()));
  holes->append(Value());
  EXPECT_FALSE(holes->tensors()[0].defined());
  EXPECT_TRUE(holes->get(0).is_none());
  EXPECT_THROW(make_ref<List>(tensor_type())->append(Value()), Error);
}

TEST(List, edits) {
  Ref<List> list = make_ref<List>(string_type());
  for (const char* text : {"a", "b", "d"}) list->append(text);
  list->insert(2, "c");
  list->set(0, "z");
  EXPECT_EQ(Value(list).repr(), "['z', 'b', 'c', 'd']");
  const Ref<List> copy = list->copy();
  list->erase(1, 3);
  list->reverse();
  EXPECT_EQ(Value(list).repr(), "['d', 'z']");
  EXPECT_EQ(copy->size(), 4u);
  EXPECT_EQ(error_of([&] { list->get(2); }), "list index out of range: 2 in a list of 2");
  EXPECT_THROW(list->erase(1, 3), Error);
  EXPECT_THROW(list->insert(3, "x"), Error);
}

TEST(Dict, keeps_insertion_order_while_growing_and_shrinking) {
  Dict dict(int_type(), int_type());
  for (int i = 0; i < 1000; ++i) dict.set(i, i * i);
  for (int i = 0; i < 1000; i += 2) EXPECT_TRUE(dict.erase(i));
  EXPECT_FALSE(dict.erase(0));
  dict.set(1, -1);  // keeps its place
  for (int i = 0; i < 200; i += 2) dict.set(i, 7);
  EXPECT_EQ(dict.size(), 600u);
  const auto items = dict.items();
  EXPECT_EQ(items[0].first.to_int(), 1);
  EXPECT_EQ(items[0].second.to_int(), -1);
  EXPECT_EQ(items[499].first.to_int(), 999);
  EXPECT_EQ(items[500].first.to_int(), 0);
  for (int i = 1; i < 1000; i += 2) ASSERT_NE(dict.find(i), nullptr);
  EXPECT_EQ(dict.find(200), nullptr);
  EXPECT_EQ(dict.copy()->find(999)->to_int(), 998001);
}

TEST(Dict, does_not_grow_when_keys_come_and_go) {
  Dict dict(int_type(), int_type());
  for (int i = 0; i < 100000; ++i) {
    dict.set(i, i);
    if (i >= 20) {
      EXPECT_TRUE(dict.erase(i - 20));
    }
  }
  EXPECT_EQ(dict.size(), 20u);
  EXPECT_NE(dict.find(99999), nullptr);
}

TEST(Dict, finds_keys_by_pythons_equality) {
  Dict dict(any_type(), any_type());
  dict.set(1, "one");
  dict.set(true, "true");
  EXPECT_EQ(dict.size(), 1u);
  EXPECT_EQ(dict.find(1.0)->to_string_ref(), "true");
  const Tensor a = empty_tensor({2}, DType::float32), b = empty_tensor({2}, DType::float32);
  dict.set(a, 1);
  dict.set(b, 2);
  EXPECT_EQ(dict.find(a)->to_int(), 1);
  dict.set(Value(std::tuple<Tensor, int>(a, 1)), 3);
  EXPECT_EQ(dict.find(Value(std::tuple<Tensor, double>(a, 1.0)))->to_int(), 3);
  EXPECT_EQ(dict.find(Value(std::tuple<Tensor, int>(b, 1))), nullptr);
}

TEST(Object, has_attributes_in_slots) {
  const TypePtr type = class_type("__torch__.m.Point");
  type->class_info()->attributes = {{"x", int_type()}, {"y", int_type()}};
  Object point(type);
  point.set_attr("y", 5);
  EXPECT_EQ(point.slot(1).to_int(), 5);
  EXPECT_TRUE(point.attr("x").is_none());
  EXPECT_EQ(error_of([&] { point.attr("z"); }), "__torch__.m.Point has no attribute 'z'");
  EXPECT_EQ(error_of([&] { point.set_attr("z", 1); }), "__torch__.m.Point has no attribute 'z'");
  EXPECT_THROW(make_ref<Object>(int_type()), Error);
}

TEST(Future, gives_its_value_to_those_who_wait) {
  Ref<Future> future = make_ref<Future>(int_type());
  int seen = 0;
  future->then([&](Future& f) { seen += static_cast<int>(f.value().to_int()); });
  std::thread thread([&] { future->complete(7); });
  EXPECT_EQ(future->value().to_int(), 7);
  thread.join();
  EXPECT_EQ(seen, 7);
  future->then([&](Future& f) { seen += static_cast<int>(f.value().to_int()); });
  EXPECT_EQ(seen, 14);
  EXPECT_TRUE(future->done());
  EXPECT_EQ(error_of([&] { future->complete(8); }), "the future already has its result");
}

TEST(Future, gives_its_error_to_those_who_wait) {
  Future future(int_type());
  future.fail(std::make_exception_ptr(Error(ErrorKind::value, "broken")));
  EXPECT_EQ(error_of([&] { future.value(); }), "broken");
  future.wait();
}

// What a program sees of an identity must not tell it where things lie.
TEST(Value, IdentitiesAreNoAddresses) {
  const Ref<Future> future = make_ref<Future>(int_type());
  const Value v(future), same(future), other(make_ref<Future>(int_type()));
  EXPECT_EQ(v.hash(), same.hash());
  EXPECT_NE(v.hash(), other.hash());
  EXPECT_EQ(v.repr(), same.repr());
  EXPECT_NE(v.repr(), other.repr());
  char address[32];
  std::snprintf(address, sizeof address, "%zx", static_cast<size_t>(v.bits()));
  EXPECT_EQ(v.repr().find(address), std::string::npos) << v.repr();
  EXPECT_NE(v.hash(), mix_hash(v.bits()));
  EXPECT_NE(v.hash(), mix_hash(v.bits() >> 4));
}

}  // namespace
}  // namespace sconce
