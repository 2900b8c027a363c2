#include "sconce/serialization/pickle/pickle_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/tensor/copy.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/second_device/second_device.h"
#include "sconce/types/class_info.h"

namespace sconce {
namespace {

using namespace std::string_literals;

// Reads back what was written; storages come from the table itself.
struct Context final : PickleContext {
  explicit Context(const StorageTable& table) : table(table) {}
  Tensor storage(const std::string& key, std::optional<DType> dtype, int64_t count) override {
    for (const auto& [name, bytes] : table.storages()) {
      if (name == key) return make_tensor(Ref<Storage>::share(bytes.storage()), *dtype, {count}, {1}, 0);
    }
    fail("no storage {}", key);
  }
  TypePtr find_class(const std::string& name) override {
    SCONCE_CHECK(type && type->name() == name, "no class {}", name);
    return type;
  }
  TypePtr find_type(std::string_view text) override {
    return parse_type(text, [this](std::string_view) { return type; });
  }
  Value build(TypePtr t, Value state) override {
    Ref<Object> object = make_ref<Object>(t);
    if (!state.is_dict()) return object->set_slot(0, state), object;
    state.to_dict().for_each([&](const Value& key, const Value& v) { object->set_attr(key.to_string_ref(), v); });
    return object;
  }
  const StorageTable& table;
  TypePtr type = nullptr;
};

std::string written(const Value& v, const PickleOptions& options = {}) {
  StorageTable table;
  return write_pickle(v, table, options);
}

Value read_back(const Value& v, TypePtr type = nullptr, const PickleOptions& options = {}) {
  StorageTable table;
  const std::string bytes = write_pickle(v, table, options);
  Context context(table);
  context.type = type;
  return read_pickle(bytes, "pickle", context);
}

Value tuple(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }

Value list_of(TypePtr element, const std::vector<Value>& items) {
  Ref<List> list = make_ref<List>(element);
  for (const Value& item : items) list->append(item);
  return list;
}

TEST(PickleWriter, Numbers) {
  EXPECT_EQ(written(Value()), "\x80\2N."s);
  EXPECT_EQ(written(true), "\x80\2\x88."s);
  EXPECT_EQ(written(255), "\x80\2K\xff."s);
  EXPECT_EQ(written(256), "\x80\2M\0\1."s);
  EXPECT_EQ(written(65536), "\x80\2J\0\0\1\0."s);
  EXPECT_EQ(written(-1), "\x80\2J\xff\xff\xff\xff."s);
  EXPECT_EQ(written(int64_t{1} << 31), "\x80\2\x8a\x08\0\0\0\x80\0\0\0\0."s);
  EXPECT_EQ(written(1.5), "\x80\2G\x3f\xf8\0\0\0\0\0\0."s);
  for (const int64_t v : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                          int64_t{std::numeric_limits<int32_t>::min()} - 1, int64_t{-65536}}) {
    EXPECT_EQ(read_back(v).to_int(), v);
  }
  EXPECT_TRUE(std::isnan(read_back(std::nan("")).to_double()));
  EXPECT_EQ(read_back(-INFINITY).to_double(), -INFINITY);
  EXPECT_TRUE(std::signbit(read_back(-0.0).to_double()));
  EXPECT_EQ(read_back(std::complex<double>(1, -INFINITY)).to_complex(), std::complex<double>(1, -INFINITY));
}

TEST(PickleWriter, TextsAndDevicesOnce) {
  EXPECT_EQ(written(tuple({"ab", "ab"})), "\x80\2X\2\0\0\0abq\0h\0\x86."s);
  EXPECT_EQ(read_back("zero\0inside\n\xc3\xa9"s).to_string_ref(), "zero\0inside\n\xc3\xa9"s);
  EXPECT_EQ(written(tuple({Device{}, Device{}})), "\x80\2ctorch\ndevice\nq\0X\3\0\0\0cpuq\1\x85Rq\2h\2\x86."s);
}

TEST(PickleWriter, Tuples) {
  EXPECT_EQ(written(tuple({})), "\x80\2)."s);
  EXPECT_EQ(written(tuple({1, 2, 3, 4})), "\x80\2(K\1K\2K\3K\4t."s);
  EXPECT_EQ(read_back(tuple({1, tuple({}), tuple({"a", 2.5, Value()})})).repr(), "(1, (), ('a', 2.5, None))");
}

TEST(PickleWriter, ListsAndDictsKeepTheirTypes) {
  EXPECT_EQ(written(list_of(int_type(), {7})), "\x80\2ctorch.jit._pickle\nbuild_intlist\nq\0(](K\7etR."s);
  EXPECT_EQ(written(list_of(string_type(), {})),
            "\x80\2ctorch.jit._pickle\nrestore_type_tag\nq\0](eX\x09\0\0\0List[str]q\1\x86R."s);
  for (const Value& v :
       {list_of(int_type(), {1, -2}), list_of(float_type(), {0.5}), list_of(bool_type(), {true, false}),
        list_of(optional_type(int_type()), {1, Value()}), list_of(string_type(), {"a", "b"}),
        list_of(list_type(int_type()), {list_of(int_type(), {3})})}) {
    const Value back = read_back(v);
    EXPECT_EQ(back.repr(), v.repr());
    EXPECT_EQ(back.type(), v.type());
  }
  Ref<Dict> dict = make_ref<Dict>(string_type(), list_type(int_type()));
  dict->set("z", list_of(int_type(), {1}));
  dict->set("a", list_of(int_type(), {}));
  EXPECT_EQ(read_back(dict).repr(), "{'z': [1], 'a': []}");
  EXPECT_EQ(read_back(dict).type()->annotation(), "Dict[str, List[int]]");
}

TEST(PickleWriter, WhatIsSharedStaysShared) {
  const Value list = list_of(int_type(), {1});
  const Value back = read_back(tuple({list, list, list_of(int_type(), {1})}));
  EXPECT_TRUE(back.to_tuple().items[0].is_same(back.to_tuple().items[1]));
  EXPECT_FALSE(back.to_tuple().items[0].is_same(back.to_tuple().items[2]));
}

TEST(PickleWriter, MoreThan256Memos) {
  std::vector<Value> items;
  for (int i = 0; i < 600; ++i) items.emplace_back(std::to_string(i % 300));
  EXPECT_EQ(read_back(tuple(items)).repr(), tuple(items).repr());
}

TEST(PickleWriter, TensorsAndTheirMemory) {
  const Tensor base = empty_tensor({2, 3}, DType::float32);
  for (int i = 0; i < 6; ++i) base.data<float>()[i] = static_cast<float>(i);
  base.impl()->meta |= TensorImpl::requires_grad;
  const Tensor column = shallow_copy(make_view(base, {2}, {3}, 1)), empty = empty_tensor({0, 4}, DType::bool_);
  StorageTable table(".storage");
  const std::string bytes = write_pickle(tuple({base, column, empty, base}), table);
  ASSERT_EQ(table.storages().size(), 2u);
  EXPECT_EQ(table.storages()[0].first, "0.storage");
  EXPECT_EQ(table.storages()[1].first, "1.storage");
  Context context(table);
  const Value back = read_pickle(bytes, "pickle", context);
  const Tensor& first = back.to_tuple().items[0].to_tensor();
  const Tensor& second = back.to_tuple().items[1].to_tensor();
  EXPECT_EQ(first.to_string(), base.to_string());
  EXPECT_EQ(second.to_string(), column.to_string());
  EXPECT_EQ(first.storage(), second.storage());
  EXPECT_TRUE(first.requires_grad());
  EXPECT_FALSE(second.requires_grad());
  EXPECT_TRUE(first.is_same(back.to_tuple().items[3].to_tensor()));
  EXPECT_EQ(back.to_tuple().items[2].to_tensor().sizes(), IntList({0, 4}));
}

TEST(PickleWriter, EveryDType) {
  for (const DType dtype : kAllDTypes) {
    const Tensor t = empty_tensor({3}, dtype);
    std::memset(t.data(), 0, 3 * t.item_size());
    EXPECT_EQ(read_back(t).to_tensor().to_string(), t.to_string()) << dtype_name(dtype);
  }
}

TEST(PickleWriter, EnumsAndObjects) {
  const TypePtr color = make_enum_type("__torch__.m.PickledColor", string_type());
  color->enum_info()->members = {{"RED", make_ref<EnumValue>(color, "RED", Value("r"))}};
  const Value red = color->enum_info()->members[0].second;
  EXPECT_EQ(written(red), "\x80\2c__torch__.m\nPickledColor\nq\0X\1\0\0\0rq\1R."s);
  EXPECT_TRUE(read_back(red, color).is_same(red));

  const TypePtr type = make_class_type("__torch__.m.Pickled");
  type->class_info()->attributes = {{"x", int_type()}, {"y", string_type()}};
  Ref<Object> object = make_ref<Object>(type);
  object->set_slot(0, 5);
  object->set_slot(1, "t");
  EXPECT_EQ(written(object), "\x80\2c__torch__.m\nPickled\nq\0)\x81}(X\1\0\0\0xq\1K\5X\1\0\0\0yq\2X\1\0\0\0tq\3ub."s);
  EXPECT_EQ(read_back(object, type).to_object().attr("y").to_string_ref(), "t");
  PickleOptions options;
  options.state_of = [](const Value&) { return Value(9); };
  EXPECT_EQ(written(object, options), "\x80\2c__torch__.m\nPickled\nq\0)\x81K\x09\x62."s);
}

// Values of any shape: what is read is what was written, and written again it gives the same bytes.
class RandomValues {
 public:
  explicit RandomValues(uint32_t seed) : random_(seed) {}
  Value make(int depth) {
    const int kind = below(depth > 0 ? 10 : 6);
    if (kind < 6) return leaf(kind);
    if (kind < 8 && !made_.empty() && below(3) == 0)
      return made_[static_cast<size_t>(below(static_cast<int>(made_.size())))];
    Value v = container(kind, depth);
    made_.push_back(v);
    return v;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  Value leaf(int kind) {
    switch (kind) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<int64_t>(random_()) << below(33) >> below(33);
      case 3:
        return static_cast<double>(random_()) / 3;
      case 4:
        return std::string(static_cast<size_t>(below(3)), static_cast<char>('a' + below(3)));
      default:
        return Device{};
    }
  }
  Value container(int kind, int depth) {
    const int n = below(5);
    if (kind == 6) {
      std::vector<Value> items;
      for (int i = 0; i < n; ++i) items.push_back(make(depth - 1));
      return tuple(std::move(items));
    }
    if (kind == 7) {
      Ref<Dict> dict = make_ref<Dict>(int_type(), any_type());
      for (int i = 0; i < n; ++i) dict->set(i, make(depth - 1));
      return dict;
    }
    Ref<List> list = make_ref<List>(kind == 8 ? any_type() : int_type());
    for (int i = 0; i < n; ++i) list->append(kind == 8 ? make(depth - 1) : Value(below(1000)));
    return list;
  }
  std::mt19937 random_;
  std::vector<Value> made_;
};

TEST(PickleWriter, ValuesOfAnyShape) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Value v = RandomValues(seed).make(6), back = read_back(v);
    ASSERT_EQ(back.repr(), v.repr()) << seed;
    ASSERT_EQ(written(back), written(v)) << seed;
  }
}

TEST(PickleWriter, PlainFilesHaveNoTypeTags) {
  PickleOptions plain;
  plain.plain = true;
  EXPECT_EQ(written(list_of(int_type(), {7}), plain), "\x80\2](K\7e."s);
  EXPECT_EQ(written(list_of(int_type(), {}), plain), "\x80\2]."s);
  Ref<Dict> dict = make_ref<Dict>(string_type(), int_type());
  EXPECT_EQ(written(dict, plain), "\x80\2}."s);
  dict->set("a", 1);
  EXPECT_EQ(written(dict, plain), "\x80\2}(X\1\0\0\0aq\0K\1u."s);
  Ref<Dict> state = make_ref<Dict>(any_type(), any_type()), result = make_ref<Dict>(string_type(), tensor_type());
  state->set("w", empty_tensor({1}, DType::int64));
  result->set("w", empty_tensor({1}, DType::int64));
  EXPECT_TRUE(written(result, plain).starts_with("\x80\2}(X\1\0\0\0w"s));
  EXPECT_TRUE(written(state, plain)
                  .starts_with("\x80\2"
                               "ccollections\nOrderedDict\nq\0)R(X\1\0\0\0w"s));
  EXPECT_EQ(written(Device{DeviceType::cuda, 1}, plain), "\x80\2ctorch\ndevice\nq\0X\4\0\0\0cudaq\1K\1\x86Rq\2."s);
}

TEST(PickleWriter, RefusesWhatCannotBeSaved) {
  PickleOptions options;
  options.name = "a.pt: data.pkl";
  const auto why = [&](const Value& v) { return testing::error_of([&] { written(v, options); }); };
  EXPECT_EQ(why(tuple({1, make_ref<Future>(int_type())})),
            "a.pt: data.pkl: [1]: a value of type Future[int] cannot be saved");
  Ref<Dict> dict = make_ref<Dict>(string_type(), any_type());
  dict->set("k", tuple({make_ref<Future>(int_type())}));
  EXPECT_NE(why(dict).find("data.pkl: ['k'][0]: a value of type Future[int]"), std::string::npos) << why(dict);
  EXPECT_NE(why(empty_tensor({1}, DType::float32, Device{DeviceType::meta})).find("on device meta cannot be saved"),
            std::string::npos);

  Ref<List> inside = make_ref<List>(any_type());
  inside->append(tuple({Value(inside)}));
  EXPECT_EQ(why(inside), "a.pt: data.pkl: [0][0]: an object that contains itself cannot be saved");
  inside->clear();

  Value deep = tuple({});
  for (int i = 0; i < kMaxPickleDepth - 1; ++i) deep = tuple({deep});
  EXPECT_EQ(why(deep), "no error");
  read_back(deep);
  EXPECT_NE(why(tuple({deep})).find("nested more than 1000 deep"), std::string::npos);

  EXPECT_EQ(why(tuple({make_foreign("complex32", tuple({2}))})),
            "a.pt: data.pkl: [0]: a tensor of complex32 (2,) cannot be saved");
  const Tensor odd =
      make_tensor(Ref<Storage>::share(empty_tensor({8}, DType::uint8).storage()), DType::uint8, {8}, {1}, 0);
  odd.impl()->meta = make_tensor(Ref<Storage>::share(odd.storage()), DType::int16, {3}, {1}, 0).impl()->meta;
  odd.impl()->data = odd.data<char>() + 1;
  EXPECT_NE(why(odd).find("lie between those of its memory"), std::string::npos);

  options.plain = true;
  const TypePtr type = make_class_type("__torch__.m.Refused");
  type->class_info()->attributes = {};
  EXPECT_EQ(why(make_ref<Object>(type)),
            "a.pt: data.pkl: an object of class '__torch__.m.Refused' can be saved only with its code, in an archive");
  const Tensor t = empty_tensor({4}, DType::int32);
  const Tensor bytes = make_tensor(Ref<Storage>::share(t.storage()), DType::uint8, {16}, {1}, 0);
  EXPECT_NE(why(tuple({t, bytes})).find("have different dtypes"), std::string::npos);
}

TEST(PickleWriter, TensorsOfOtherDevicesAreFetched) {
  testing::register_second_device();
  const Tensor here = make_tensor(make_storage(12, Device()), DType::float32, {3}, {1}, 0);
  for (int i = 0; i < 3; ++i) here.data<float>()[i] = static_cast<float>(i);
  const Tensor there = empty_tensor({3}, DType::float32, testing::kSecondDevice);
  copy_tensor(there, here);
  StorageTable table;
  const std::string pickle = write_pickle(Value(there), table);
  EXPECT_NE(pickle.find("privateuseone:0"), std::string::npos);  // where PyTorch would put it
  ASSERT_EQ(table.storages().size(), 1u);
  const Tensor& bytes = table.storages()[0].second;
  EXPECT_EQ(bytes.device(), Device());
  EXPECT_EQ(std::memcmp(bytes.data(), here.data(), 12), 0);
  EXPECT_EQ(testing::take_touch(), "");
}

}  // namespace
}  // namespace sconce
