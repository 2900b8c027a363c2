#include "sconce/testing/conformance/case_value.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/testing/conformance/case_builder.h"

namespace sconce::testing {
namespace {

CaseFile file_of(const std::string& cases) {
  return CaseFile::parse(CaseBuilder().tensor("t0", {2, 3}, {0, 1, 2, 3, 4, 5}).tensor("s", {}, {7}).bytes(cases), "f");
}

Value read(const std::string& json, TypePtr wanted = nullptr) {
  const CaseFile file = file_of(R"([{"v": )" + json + "}]");
  return read_value(file.at(0)["v"], file.tensors(), wanted);
}

std::string error_of(const std::string& json) {
  try {
    read(json);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(CaseValue, PlainJson) {
  EXPECT_TRUE(read("null").is_none());
  EXPECT_EQ(read("true").to_bool(), true);
  EXPECT_EQ(read("-3").to_int(), -3);
  EXPECT_EQ(read("2.5").to_double(), 2.5);
  EXPECT_EQ(read("\"mean\"").to_string_ref(), "mean");
}

TEST(CaseValue, SpecialForms) {
  EXPECT_TRUE(std::isnan(read(R"({"f": "nan"})").to_double()));
  EXPECT_EQ(read(R"({"f": "-inf"})").to_double(), -INFINITY);
  EXPECT_EQ(read(R"({"c": [1, {"f": "inf"}]})").to_complex(), std::complex<double>(1, INFINITY));
  EXPECT_EQ(read(R"({"dtype": "bfloat16"})").to_int(), static_cast<int64_t>(DType::bfloat16));
  EXPECT_EQ(read(R"({"device": "cpu"})").to_device(), Device());
  EXPECT_EQ(read(R"({"memory_format": "channels_last"})").to_int(), static_cast<int64_t>(MemoryFormat::channels_last));
  EXPECT_EQ(read(R"({"layout": "strided"})").to_int(), 0);
  EXPECT_EQ(read(R"({"tuple": [1, "a"]})").to_tuple().items.size(), 2u);
  EXPECT_EQ(read(R"({"dict": [["k", 1]]})").to_dict().find(Value("k"))->to_int(), 1);
  EXPECT_EQ(read(R"({"namedtuple": ["P", ["x", "y"], [1, 2]]})").to_tuple().named_type->fields()[1], "y");
  EXPECT_EQ(read(R"({"enum": ["Color", "RED"]})").to_enum().name, "RED");
}

TEST(CaseValue, ListsFollowTheWantedType) {
  EXPECT_EQ(read("[1, 2]").to_list().ints(), IntList({1, 2}));
  EXPECT_EQ(read("[1, 2.5]").to_list().doubles(), ListRef<double>({1, 2.5}));
  EXPECT_EQ(read("[1, 2]", list_type(float_type())).to_list().doubles(), ListRef<double>({1, 2}));
  EXPECT_EQ(read(R"({"tuple": [1, 2]})", optional_type(list_type(int_type()))).to_list().ints(), IntList({1, 2}));
  EXPECT_EQ(read("[]", list_type(tensor_type())).to_list().tensors().size(), 0u);
  const Value indices = read(R"([{"t": "t0"}, null])", list_type(optional_type(tensor_type())));
  EXPECT_TRUE(indices.to_list().get(0).is_tensor());
  EXPECT_TRUE(indices.to_list().get(1).is_none());
}

TEST(CaseValue, ConvertsToTheWantedType) {
  EXPECT_EQ(read("\"cpu\"", optional_type(device_type())).to_device(), Device());
  const Value number = read("2", tensor_type());
  EXPECT_TRUE(number.to_tensor().is_wrapped_number());
  EXPECT_EQ(number.to_tensor().dtype(), DType::int64);
  EXPECT_EQ(read("2.5", tensor_type()).to_tensor().dtype(), DType::float64);
}

TEST(CaseValue, TensorsTakeTheirStrides) {
  const Tensor plain = read(R"({"t": "t0"})").to_tensor();
  EXPECT_TRUE(plain.is_contiguous());
  const Tensor column = read(R"({"t": "t0", "strides": [1, 4]})").to_tensor();
  EXPECT_EQ(column.strides(), IntList({1, 4}));
  EXPECT_EQ(elements<float>(column), elements<float>(plain));
  EXPECT_EQ(column.data<float>()[2], 0) << "gaps are zero";
  const CaseFile file = CaseFile::parse(
      CaseBuilder().tensor("t", {2, 3}, {1, 1, 1, 2, 2, 2}).bytes(R"([{"v": {"t": "t", "strides": [1, 0]}}])"), "f");
  const Tensor expanded = read_value(file.at(0)["v"], file.tensors()).to_tensor();
  EXPECT_EQ(elements<float>(expanded), (std::vector<float>{1, 1, 1, 2, 2, 2}));
}

TEST(CaseValue, FlattenAndMeta) {
  const std::vector<Value> flat = flatten({read(R"({"tuple": [1, [{"t": "t0"}], null]})")});
  ASSERT_EQ(flat.size(), 3u);
  EXPECT_TRUE(flat[1].is_tensor());
  const Value meta = to_meta(read(R"([{"t": "t0", "strides": [1, 2]}])"));
  const Tensor t = meta.to_list().get(0).to_tensor();
  EXPECT_TRUE(t.is_meta());
  EXPECT_EQ(t.strides(), IntList({1, 2}));
}

TEST(CaseValue, StridedKeepsTheElements) {
  const Tensor plain = read(R"({"t": "t0"})").to_tensor();
  const Tensor strided = to_strided(plain).to_tensor();
  EXPECT_EQ(strided.strides(), IntList({2, 4}));
  EXPECT_EQ(elements<float>(strided), elements<float>(plain));
}

TEST(CaseValue, BrokenFormsAreRefused) {
  EXPECT_EQ(error_of(R"({"t": "gone"})"), "f: has no tensor 'gone'");
  EXPECT_EQ(error_of(R"({"t": 3})"), R"({"t":3} holds 3 where a text belongs)");
  EXPECT_EQ(error_of(R"({"t": "t0", "strides": [1]})"), R"({"strides":[1],"t":"t0"}: the tensor has 2 dimensions)");
  EXPECT_EQ(error_of(R"({"t": "t0", "strides": [1, -1]})"), R"({"strides":[1,-1],"t":"t0"} has the stride -1)");
  EXPECT_EQ(error_of(R"({"t": "t0", "strides": [9223372036854775807, 9223372036854775807]})"),
            R"({"strides":[9223372036854775807,9223372036854775807],"t":"t0"}: the strides reach too far)");
  EXPECT_EQ(error_of(R"({"f": "two"})"), R"({"f":"two"} is no float)");
  EXPECT_EQ(error_of(R"({"c": [1]})"), R"({"c":[1]} is no complex number)");
  EXPECT_EQ(error_of(R"({"dtype": "int3"})"), "dtype 'int3' is not supported");
  EXPECT_EQ(error_of(R"({"what": 1})"), R"({"what":1} is no known form of value)");
  EXPECT_EQ(error_of(R"({"slice": [1, 2, 3]})"), R"({"slice":[1,2,3]}: no operator takes a slice)");
  EXPECT_EQ(error_of("18446744073709551615"), "18446744073709551615 does not fit into 64 bits");
}

TEST(CaseFile, CorruptFilesAreRefused) {
  const auto error = [](std::string bytes) -> std::string {
    try {
      CaseFile::parse(std::move(bytes), "f");
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(""), "f: 0 bytes are too few for a safetensors file");
  EXPECT_EQ(error(CaseBuilder().bytes("[{}")), "f: 'cases' is not a JSON list");
  EXPECT_EQ(error(CaseBuilder().bytes("{}")), "f: 'cases' is not a JSON list");
  EXPECT_EQ(error(CaseBuilder().bytes("[{}, 3]")), "f: case 1 is not a JSON object");
  EXPECT_EQ(error(std::string("\x02\0\0\0\0\0\0\0{}", 10)), "f: the metadata has no 'cases'");
  EXPECT_EQ(error(CaseBuilder().bytes("[{}]")), "no error");
}

}  // namespace
}  // namespace sconce::testing
