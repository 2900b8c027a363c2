// What PyTorch does with limited dtypes, recorded by tools/record_limited_dtypes.py. The calls that it accepts are
// cases of operators (tests/conformance/dtypes/accepted); here are its refusals, its conversions and its promotion.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/promotion.h"
#include "sconce/testing/conformance/recorded_call.h"
#include "sconce/testing/source_tree.h"

namespace sconce::testing {
namespace {

std::string folder() { return source_path("tests/conformance/"); }

DType dtype_named(const std::string& name) {
  DType t = DType::bool_;
  EXPECT_TRUE(dtype_from_name(name, &t)) << name;
  return t;
}

// The tensor with another dtype and the same strides; its magnitudes where that has no sign.
Tensor converted(const Tensor& t, DType dtype) {
  const Tensor positive = is_unsigned(dtype) && t.dtype() != DType::uint8 ? abs(t) : t;
  Tensor out = empty_strided_tensor(t.sizes(), t.strides(), dtype);
  copy_(out, positive);
  return out;
}

Value converted(const Value& v, DType from, DType to) {
  if (v.is_tensor()) return v.to_tensor().dtype() == from ? converted(v.to_tensor(), to) : v;
  if (!v.is_list() || !v.to_list().is_tensors()) return v;
  auto list = make_ref<List>(v.to_list().element_type());
  for (const Value& item : v.to_list().values()) list->append(item.is_none() ? item : converted(item, from, to));
  return list;
}

// The message of the call with numbers of this dtype, or "" where it works.
std::string refusal(const CaseFile& file, size_t index, DType dtype) {
  const Json& json = file.at(index);
  const Op* op = find_op(json.at("op").get<std::string>());
  if (op == nullptr) return "no operator";
  RecordedCall call = bind_call(*op, json, file.tensors());
  std::optional<DType> numbers;
  for (const Tensor& t : call.tensors) {
    const bool counts = is_integral(t.dtype()) || is_floating(t.dtype());
    if (counts && !numbers) numbers = t.dtype();
  }
  for (Value& v : call.args) v = converted(v, *numbers, dtype);
  try {
    invoke(call);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// A line "path index dtype[ dtype ...][: message]" of a list of refusals.
struct Refusals {
  std::string path;
  size_t index = 0;
  std::vector<std::string> dtypes;
  std::string message;
};

std::vector<Refusals> read_refusals(const std::string& name) {
  std::ifstream lines(folder() + "dtypes/" + name);
  std::vector<Refusals> all;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    Refusals r;
    if (colon != std::string::npos) r.message = line.substr(colon + 2);
    std::istringstream words(line.substr(0, colon));
    words >> r.path >> r.index;
    for (std::string dtype; words >> dtype;) r.dtypes.push_back(dtype);
    all.push_back(std::move(r));
  }
  return all;
}

TEST(LimitedDTypes, are_refused_where_pytorch_refuses_them) {
  std::map<std::string, CaseFile> files;
  size_t count = 0;
  for (const Refusals& r : read_refusals("refused.txt")) {
    if (!files.contains(r.path)) files.emplace(r.path, CaseFile::open(folder() + r.path));
    for (const std::string& name : r.dtypes) {
      const DType dtype = dtype_named(name);
      std::string expected = r.message.empty() ? "not implemented for '{}'" : r.message;
      for (size_t at; (at = expected.find("{}")) != std::string::npos;)
        expected.replace(at, 2, dtype_legacy_name(dtype));
      const std::string got = refusal(files.at(r.path), r.index, dtype);
      EXPECT_NE(got.find(expected), std::string::npos)
          << r.path << " " << r.index << " " << name << "\n  got: " << got << "\n  expected: " << expected;
      ++count;
    }
  }
  EXPECT_GT(count, 1000u);
}

// Known differences: calls that PyTorch refuses, too, but in other words (both stand in the list), and those that we
// take ("| Sconce: accepts it"). A line that is not true any more belongs into refused.txt.
TEST(LimitedDTypes, differ_from_pytorchs_refusals_where_the_list_says_so) {
  std::map<std::string, CaseFile> files;
  for (Refusals r : read_refusals("refused_in_other_words.txt")) {
    const bool accepted = r.message.ends_with("accepts it");
    if (!files.contains(r.path)) files.emplace(r.path, CaseFile::open(folder() + r.path));
    std::erase_if(r.dtypes, [](const std::string& word) { return word == "|" || word == "Sconce"; });
    EXPECT_FALSE(r.dtypes.empty()) << r.path << " " << r.index;
    for (const std::string& name : r.dtypes) {
      const std::string got = refusal(files.at(r.path), r.index, dtype_named(name));
      EXPECT_EQ(got.empty(), accepted) << r.path << " " << r.index << " " << name << "\n  got: " << got;
    }
  }
}

Json facts() {
  std::ifstream file(folder() + "dtypes/facts.json");
  return Json::parse(file);
}

double real(const std::string& text) { return text.ends_with("nan") ? NAN : std::stod(text); }

TEST(LimitedDTypes, float8_has_pytorchs_values) {
  const Json all = facts().at("float8");
  for (const auto& [name, fact] : all.items()) {
    const DType dtype = dtype_named(name);
    const Tensor bytes = to(arange(256), DType::uint8);
    const Tensor values = to(view(bytes, dtype), DType::float32);
    for (size_t i = 0; i < 256; ++i) {
      const double expected = real(fact.at("patterns").at(i));
      const double got = values.data<float>()[i], alone = load_scalar(bytes.data<char>() + i, dtype).to_double();
      EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << name << " " << i << ": " << got;
      EXPECT_TRUE(alone == expected || (std::isnan(alone) && std::isnan(expected)))
          << name << " " << i << ": " << alone;
    }
    for (size_t i = 0; i < fact.at("floats").size(); ++i) {
      const double f = real(fact.at("floats").at(i));
      if (std::isnan(f)) continue;  // whose sign a text does not tell
      const auto bits = fact.at("bits").at(i).get<uint8_t>();
      uint8_t alone = 0;
      store_scalar(&alone, dtype, f);
      EXPECT_EQ(alone, bits) << name << " " << f;
      EXPECT_EQ(*to(full({2}, f, DType::float32), dtype).data<uint8_t>(), bits) << name << " " << f;
    }
  }
}

std::string text_of(const Tensor& t, int64_t i) {
  const Tensor one = select(t, 0, i);
  if (t.dtype() == DType::uint64) return std::to_string(*one.data<uint64_t>());
  const Scalar s = load_scalar(one.data(), t.dtype());
  return s.is_real() ? "" : s.to_string();
}

TEST(LimitedDTypes, unsigned_integers_convert_as_in_pytorch) {
  const Json all = facts().at("unsigned");
  for (const auto& [name, fact] : all.items()) {
    const DType dtype = dtype_named(name);
    const auto doubles = fact.at("doubles").get<std::vector<double>>();
    for (size_t i = 0; i < doubles.size(); ++i) {
      EXPECT_EQ(text_of(to(full({1}, doubles[i], DType::float64), dtype), 0), fact.at("made").at(i).get<std::string>())
          << name;
    }
    const auto held = fact.at("held").get<std::vector<std::string>>();
    const auto count = static_cast<int64_t>(held.size());
    Tensor words = empty_tensor({count}, DType::uint64);
    for (size_t i = 0; i < held.size(); ++i) words.data<uint64_t>()[i] = std::stoull(held[i]);
    const Tensor all = to(words, dtype);
    for (const auto& [target, values] : fact.at("to").items()) {
      const Tensor made = to(all, dtype_named(target));
      for (int64_t i = 0; i < count; ++i) {
        const auto expected = values.at(static_cast<size_t>(i)).get<std::string>();
        if (is_floating(made.dtype())) {
          EXPECT_EQ(load_scalar(select(made, 0, i).data(), made.dtype()).to_double(), std::stod(expected)) << target;
        } else {
          EXPECT_EQ(text_of(made, i), expected) << name << " to " << target;
        }
      }
    }
  }
}

// One side of a key: "uint16:dim", "uint8:zerodim" or "scalar:float", as in facts/type_promotion.json.
void add_operand(ResultType& r, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), what = text.substr(colon + 1);
  if (kind != "scalar") return r.add(empty_tensor(what == "dim" ? IntList({2}) : IntList(), dtype_named(kind)));
  if (what == "bool") return r.add(Scalar(true));
  if (what == "int") return r.add(Scalar(3));
  if (what == "float") return r.add(Scalar(1.5));
  r.add(Scalar(std::complex<double>(0, 1)));
}

TEST(LimitedDTypes, promote_as_in_pytorch) {
  const Json all = facts().at("promotion");
  for (const auto& [key, expected] : all.items()) {
    const size_t space = key.find(' ');
    std::string got;
    try {
      ResultType r;
      add_operand(r, key.substr(0, space));
      add_operand(r, key.substr(space + 1));
      got = dtype_name(r.get());
    } catch (const Error& error) {
      got = error.message();
    }
    EXPECT_EQ(got, expected.get<std::string>()) << key;
  }
}

}  // namespace
}  // namespace sconce::testing
