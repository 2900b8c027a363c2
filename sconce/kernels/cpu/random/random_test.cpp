#include "sconce/kernels/cpu/random/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "sconce/serialization/tensors/safetensors.h"
#include "sconce/tensor/element.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce::rng {
namespace {

using Json = nlohmann::json;

Tensor empty(int64_t n, DType dtype) { return empty_tensor({n}, dtype); }

Scalar element(const Tensor& t, int64_t i) {  // of a 1-d tensor
  return load_scalar(t.data<char>() + i * t.stride(0) * static_cast<int64_t>(t.item_size()), t.dtype());
}
double value(const Tensor& t, int64_t i) { return element(t, i).to_double(); }

std::vector<int64_t> integers(const Tensor& t) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.numel(); ++i) out.push_back(element(t, i).to_int());
  return out;
}

using testing::error_of;

// "normal_(17, float16, 1, 2)" -> name and arguments.
struct Call {
  std::string name;
  std::vector<std::string> args;
};
Call parse(const std::string& expr) {
  const size_t open = expr.find('(');
  Call call{expr.substr(0, open), {}};
  std::string arg;
  for (const char c : expr.substr(open + 1, expr.size() - open - 2) + ",") {
    if (c == ',') {
      call.args.push_back(arg);
      arg.clear();
    } else if (c != ' ') {
      arg += c;
    }
  }
  return call;
}

DType dtype_named(const std::string& name) {
  DType t;
  EXPECT_TRUE(dtype_from_name(name, &t)) << name;
  return t;
}

// The value of an expression of the recordings, drawn from the default generator.
Tensor evaluate(const std::string& expr) {
  const Call call = parse(expr);
  const auto n = [&](size_t i) { return std::stoll(call.args.at(i)); };
  if (call.name == "rand" || call.name == "uniform_") {
    const Tensor t = empty(n(0), dtype_named(call.args.at(1)));
    call.name == "rand" ? uniform_(t, 0, 1) : uniform_(t, static_cast<double>(n(2)), static_cast<double>(n(3)));
    return t;
  }
  if (call.name == "randn" || call.name == "normal_") {
    const Tensor t = empty(n(0), dtype_named(call.args.at(1)));
    call.name == "randn" ? normal_(t, 0, 1) : normal_(t, static_cast<double>(n(2)), static_cast<double>(n(3)));
    return t;
  }
  if (call.name == "randint") {
    const Tensor t = empty(n(2), DType::int64);
    random_(t, n(0), call.args[1] == "2**40" ? int64_t{1} << 40 : n(1));
    return t;
  }
  if (call.name == "randperm") {
    const Tensor t = empty(n(0), DType::int64);
    randperm_(t);
    return t;
  }
  if (call.name == "random_") {
    const Tensor t = empty(n(0), dtype_named(call.args.at(1)));
    random_(t);
    return t;
  }
  if (call.name == "bernoulli") {
    const Tensor t = empty(n(1), DType::float32);
    // The recorded probability tensor is not in the file; its draws tell that it was 0.4 everywhere.
    call.args[0] == "p_tensor" ? bernoulli_(t, scalar_tensor_of(0.4, DType::float32)) : bernoulli_(t, 0.3);
    return t;
  }
  if (call.name == "dropout") {
    const Tensor t = empty(std::stoll(call.args[0].substr(5)), DType::float32);
    bernoulli_(t, 0.5);
    for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] *= 2;
    return t;
  }
  if (call.name == "multinomial") {
    const Tensor weights = empty(std::stoll(call.args[0].substr(7)), DType::float32);
    for (int64_t i = 0; i < weights.numel(); ++i) weights.data<float>()[i] = static_cast<float>(i + 1);
    return multinomial(weights, n(1), true);
  }
  const Tensor t = empty(n(0), DType::float32);
  if (call.name == "exponential_") return exponential_(t, 1), t;
  if (call.name == "cauchy_") return cauchy_(t, 0, 1), t;
  if (call.name == "log_normal_") return log_normal_(t, 1, 2), t;
  if (call.name == "geometric_") return geometric_(t, 0.3), t;
  ADD_FAILURE() << "unknown expression " << expr;
  return t;
}

// What goes through log, sin, cos or tan may differ by a few units in the last place between math libraries.
double tolerance(const Call& call, DType dtype) {
  const std::set<std::string> inexact = {"randn", "normal_", "log_normal_", "cauchy_", "exponential_"};
  if (!inexact.contains(call.name)) return 0;
  switch (dtype) {
    case DType::float64:
      return 1e-15;
    case DType::float32:
      return 5e-7;
    case DType::float16:
      return 1.0 / 1024;
    default:
      return 1.0 / 128;
  }
}

TEST(Random, MatchesPyTorch) {
  const auto file = SafetensorsFile::open(testing::source_path("tests/conformance/facts/rng.safetensors"));
  const Json cases = Json::parse(file.metadata().at("cases"));
  ASSERT_EQ(cases.size(), 224u);
  int64_t inexact = 0, total = 0;
  for (const Json& c : cases) {
    const std::string expr = c["expr"];
    manual_seed(c["seed"].get<uint64_t>());
    for (const Json& call : c["calls"]) {
      const Tensor expected = file.tensor(call["t"].get<std::string>());
      const Tensor got = evaluate(expr);
      ASSERT_EQ(got.dtype(), expected.dtype()) << expr;
      ASSERT_EQ(got.sizes(), expected.sizes()) << expr;
      const double allowed = tolerance(parse(expr), got.dtype());
      for (int64_t i = 0; i < got.numel(); ++i, ++total) {
        const double a = value(got, i), b = value(expected, i);
        if (allowed == 0) {
          ASSERT_EQ(a, b) << expr << " at " << i;
        } else {
          inexact += a != b;
          ASSERT_LE(std::abs(a - b), allowed * std::max(2.0, std::abs(b)))
              << expr << " at " << i << ": " << a << " " << b;
        }
      }
    }
  }
  RecordProperty("values", static_cast<int>(total));
  RecordProperty("inexact", static_cast<int>(inexact));  // 0 of 12,252 with glibc 2.36
}

// A view of a fresh tensor with other strides.
Tensor strided(IntList sizes, IntList strides, DType dtype) { return empty_strided_tensor(sizes, strides, dtype); }

TEST(Random, FillsInMemoryOrder) {
  const Tensor plain = empty(12, DType::float32);
  manual_seed(0);
  uniform_(plain, 0, 1);
  EXPECT_FLOAT_EQ(plain.data<float>()[0], 0.49625659f);

  // Dense in another order: the storage looks the same.
  const Tensor transposed = strided({3, 4}, {1, 3}, DType::float32);
  manual_seed(0);
  uniform_(transposed, 0, 1);
  EXPECT_EQ(std::memcmp(transposed.data(), plain.data(), 48), 0);
  const Tensor channels_last = strided({1, 3, 2, 2}, {12, 1, 6, 3}, DType::float32);
  manual_seed(0);
  uniform_(channels_last, 0, 1);
  EXPECT_EQ(std::memcmp(channels_last.data(), plain.data(), 48), 0);

  // With gaps: the inner dimension first, which here is dimension 0.
  const Tensor gaps = strided({4, 3}, {1, 8}, DType::float32);
  manual_seed(0);
  uniform_(gaps, 0, 1);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(gaps.data<float>()[i % 4 + i / 4 * 8], plain.data<float>()[i]) << i;
  const Tensor every_other = strided({2, 3, 2}, {24, 8, 2}, DType::float32);
  manual_seed(0);
  uniform_(every_other, 0, 1);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(every_other.data<float>()[i / 6 * 24 + i / 2 % 3 * 8 + i % 2 * 2], plain.data<float>()[i]) << i;
  }
}

TEST(Random, NormalDependsOnSizeAndLayoutAsInPyTorch) {
  const auto first = [](const Tensor& t) {
    manual_seed(0);
    normal_(t, 0, 1);
    return t.data<float>()[0];
  };
  EXPECT_FLOAT_EQ(first(empty(4, DType::float32)), 1.54099607f);                 // pairs
  EXPECT_FLOAT_EQ(first(empty(16, DType::float32)), -1.12583983f);               // blocks
  EXPECT_FLOAT_EQ(first(strided({6, 4}, {1, 6}, DType::float32)), 1.54099607f);  // dense, but not contiguous: pairs
  EXPECT_FLOAT_EQ(first(empty(8, DType::complex64)), -1.12583983f / std::sqrt(2.0f));  // 16 parts: blocks
}

TEST(Random, TheSecondNormalOfAPairWaits) {
  const Tensor whole = empty(9, DType::float64), start = empty(5, DType::float64), rest = empty(4, DType::float64);
  manual_seed(3);
  normal_(whole, 1, 2);
  manual_seed(3);
  normal_(start, 1, 2);
  normal_(rest, 1, 2);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(value(whole, i), i < 5 ? value(start, i) : value(rest, i - 5));
}

TEST(Random, AnOwnGeneratorLeavesTheDefaultAlone) {
  manual_seed(5);
  const uint32_t expected = default_generator().impl()->random();
  manual_seed(5);
  const Generator own = make_generator(5);
  const Tensor t = empty(3, DType::int32);
  random_(t, own);
  EXPECT_EQ(t.data<int32_t>()[0], static_cast<int32_t>(expected % 0x80000000u));
  EXPECT_EQ(default_generator().impl()->random(), expected);
}

// From here on: what PyTorch gives after manual_seed(0).

TEST(Random, IntegersOfEveryDType) {
  const std::vector<std::pair<DType, std::vector<int64_t>>> cases = {
      {DType::bool_, {0, 1, 1, 0}},
      {DType::uint8, {172, 47, 117, 192}},
      {DType::int8, {44, 47, 117, 64}},
      {DType::int16, {2732, 10799, 9845, 19648}},
      {DType::int32, {209652396, 398764591, 924231285, 1478610112}},
      {DType::int64, {900450186894289455, 3969543146641149120, 1895649597198586619, 827948490035658087}},
      {DType::float16, {1277, 1017, 1661, 999}},
      {DType::bfloat16, {149, 179, 47, 62}},
      {DType::float32, {8325664, 12888472, 1484222, 2214888}},
      {DType::float64, {8737460674930124, 6375474555111176, 4137753702977065, 8293357854226700}},
  };
  for (const auto& [dtype, expected] : cases) {
    const Tensor t = empty(4, dtype);
    manual_seed(0);
    random_(t);
    EXPECT_EQ(integers(t), expected) << dtype_name(dtype);
  }
}

TEST(Random, IntegersOfARange) {
  constexpr auto kNone = std::nullopt;
  struct Case {
    DType dtype;
    int64_t from;
    std::optional<int64_t> to;
    std::vector<int64_t> expected;
  };
  const Case cases[] = {
      {DType::int64,
       -10,
       int64_t{1} << 62,
       {900450186894289425, 3969543146641149090, 1895649597198586589, 827948490035658057}},
      {DType::int64,
       INT64_MIN,
       INT64_MAX,
       {900450186894289455, 3969543146641149120, 1895649597198586619, 827948490035658087}},
      {DType::int64,
       INT64_MIN,
       kNone,
       {-8322921849960486353, -5253828890213626688, -7327722439656189189, -8395423546819117721}},
      {DType::int64, 5, kNone, {900450186894289465, 3969543146641149130, 1895649597198586629, 827948490035658097}},
      {DType::int64, 0, int64_t{1} << 28, {130329135, 136432832, 195187451, 149257575}},
      {DType::int64, 0, (int64_t{1} << 28) - 1, {209652404, 130329144, 118924928, 136432845}},
      {DType::int32, 0, int64_t{1} << 28, {130329135, 136432832, 195187451, 149257575}},
      {DType::int32, -5, kNone, {449724324, 826231914, 1418678927, 1711200758}},
      {DType::uint8, 250, kNone, {252, 253, 255, 250}},
      {DType::bool_, 0, 1, {0, 0, 0, 0}},
      {DType::bool_, 0, 2, {0, 1, 1, 0}},
      {DType::bool_, 0, kNone, {0, 1, 1, 0}},
      {DType::bool_, 1, kNone, {1, 1, 1, 1}},
      {DType::float32, 0, 16777219, {8325384, 12888170, 1483856, 2214456}},
      {DType::float32, 16777217, 16777225, {16777220, 16777224, 16777222, 16777216}},
      {DType::float32, -16777219, 5, {-8452535, -3889804, -15294278, -14563843}},
      {DType::float32, 3, kNone, {8326087, 12888928, 1484774, 2215539}},
      {DType::float32, 1099511627777, 1099512676352, {1099512020992, 1099512283136, 1099512414208, 1099512414208}},
      {DType::float64,
       0,
       18014398509481985,
       {17744659929671678, 6375474555111908, 4137753702977682, 17300557108968250}},
      {DType::float64,
       9007199254740993,
       18014398509481987,
       {17744659929669994, 15382673809850704, 13144952957716824, 17300557108966578}},
      {DType::float64, 7, kNone, {8737460674937992, 6375474555121431, 4137753702985710, 8293357854234512}},
      {DType::bfloat16, 250, 270, {254, 268, 264, 250}},
      {DType::bfloat16, 257, 300, {258, 280, 274, 266}},
      {DType::bfloat16, -300, -257, {-288, -286, -300, -264}},
      {DType::bfloat16, 0, kNone, {149, 179, 47, 62}},
      {DType::float16, 2049, 2060, {2056, 2048, 2052, 2056}},
      {DType::float16, -2051, -2049, {-2052, -2050, -2050, -2052}},
      {DType::float16, 0, 65504, {13104, 42144, 30576, 57984}},
      {DType::float16, 0, 65505, {4124, 3384, 54464, 64480}},
      {DType::float16, 0, kNone, {1277, 1017, 1661, 999}},
  };
  for (const Case& c : cases) {
    const Tensor t = empty(4, c.dtype);
    manual_seed(0);
    random_(t, c.from, c.to);
    EXPECT_EQ(integers(t), c.expected) << dtype_name(c.dtype) << " from " << c.from;
  }
}

TEST(Random, OtherDistributions) {
  const auto near = [](const Tensor& t, const std::vector<double>& expected) {
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(value(t, static_cast<int64_t>(i)), expected[i], 1e-14 * std::abs(expected[i]));
  };
  const Tensor t = empty(4, DType::float64);
  manual_seed(0);
  exponential_(t, 2.5);
  near(t, {1.4033304746830568, 0.49215390567187073, 0.2460176375576046, 1.0140474576863527});
  manual_seed(0);
  cauchy_(t, 1, 3);
  near(t, {32.79318798004689, 3.2943017788177, 0.6151019737504778, 12.799219932983949});
  manual_seed(0);
  log_normal_(t, 0.5, 0.25);
  near(t, {2.4235878553037287, 1.5321052554493706, 0.9562868625441218});
  manual_seed(0);
  uniform_(t, -1, 4);
  near(t, {3.8502650090327655, 2.5390993219989397, 1.2969147156372545});
  for (DType dtype : {DType::uint8, DType::int16, DType::int64, DType::float16, DType::bfloat16, DType::float32}) {
    const Tensor g = empty(4, dtype);
    manual_seed(0);
    geometric_(g, 0.1);
    EXPECT_EQ(integers(g), (std::vector<int64_t>{1, 4, 8, 1})) << dtype_name(dtype);
  }
}

TEST(Random, BernoulliTakesTheProbabilitysPrecision) {
  for (DType dtype : {DType::bool_, DType::int64, DType::float16, DType::float64}) {
    const Tensor t = empty(6, dtype);
    manual_seed(0);
    bernoulli_(t, scalar_tensor_of(0.4, DType::float64));  // 53 bits of two words
    EXPECT_EQ(integers(t), (std::vector<int64_t>{0, 0, 0, 0, 0, 0}));
    manual_seed(0);
    bernoulli_(t, scalar_tensor_of(0.4, DType::bfloat16));  // 24 bits of one
    EXPECT_EQ(integers(t), (std::vector<int64_t>{0, 0, 1, 1, 1, 0}));
  }
}

TEST(Random, ManyDrawsAreTheSameAsOneByOne) {
  for (const double p : {0.0, 0.3, 0.5, 1 - 0x1p-53, 1.0}) {
    const Tensor bits = empty(5003, DType::bool_), reals = empty(5003, DType::float32);
    const Tensor singles = empty(5003, DType::float64);  // drawn one by one
    uint32_t after[3];
    int i = 0;
    for (const Tensor& t : {bits, reals, singles}) {
      manual_seed(3);
      default_generator().impl()->random();  // pairs of words straddle blocks
      bernoulli_(t, p);
      after[i++] = default_generator().impl()->random();
    }
    EXPECT_EQ(after[0], after[2]);
    EXPECT_EQ(after[1], after[2]);
    EXPECT_EQ(integers(bits), integers(singles)) << p;
    EXPECT_EQ(integers(reals), integers(singles)) << p;
  }
}

TEST(Random, BernoulliWalksProbabilitiesInTheOrderOfTheResult) {
  const Tensor p = empty_tensor({4, 3}, DType::float32);
  for (int i = 0; i < 12; ++i) p.data<float>()[i] = static_cast<float>(i) / 11;
  const Tensor t = strided({4, 3}, {1, 8}, DType::float32);
  manual_seed(0);
  bernoulli_(t, p);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(t.data<float>()[i + 8 * j], i < 2 ? 0 : 1);
  }
}

TEST(Random, ComplexNumbersHaveTwoParts) {
  const Tensor t = empty(2, DType::complex64);
  const auto part = [&](int i) { return t.data<float>()[i]; };
  manual_seed(0);
  uniform_(t, 0, 1);
  EXPECT_FLOAT_EQ(part(0), 0.49625659f);
  EXPECT_FLOAT_EQ(part(1), 0.7682218f);
  manual_seed(0);
  normal_(t, 3, 2);
  EXPECT_FLOAT_EQ(part(0), 5.1792974f);
  EXPECT_FLOAT_EQ(part(1), 2.5850289f);
  EXPECT_FLOAT_EQ(part(2), -0.0812735f);
}

TEST(Random, Permutations) {
  const std::vector<int64_t> expected = {4, 1, 7, 5, 3, 9, 0, 8, 6, 2};
  for (DType dtype : {DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16, DType::float64}) {
    const Tensor t = empty(10, dtype);
    manual_seed(0);
    randperm_(t);
    EXPECT_EQ(integers(t), expected);
  }
  const Tensor gaps = strided({10}, {3}, DType::int64);
  manual_seed(0);
  randperm_(gaps);
  EXPECT_EQ(integers(gaps), expected);
  randperm_(empty(0, DType::int64));
  randperm_(empty(256, DType::uint8));
  EXPECT_EQ(error_of([] { randperm_(empty(257, DType::uint8)); }),
            "randperm: n (257) is too large for uint8, which holds integers up to 255");
  EXPECT_NE(error_of([] { randperm_(empty(2050, DType::float16)); }).find("too large for float16"), std::string::npos);
}

TEST(Random, Multinomial) {
  for (DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor weights = empty_tensor({2, 6}, dtype);
    for (int i = 0; i < 12; ++i) {
      store_scalar(weights.data<char>() + i * static_cast<int>(weights.item_size()), dtype, Scalar(i % 5 + 0.1f));
    }
    const auto draw = [&](int64_t samples, bool replacement) {
      manual_seed(0);
      const Tensor t = multinomial(weights, samples, replacement);
      EXPECT_EQ(t.sizes(), IntList({2, samples}));
      return std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + t.numel());
    };
    EXPECT_EQ(draw(8, true), (std::vector<int64_t>{4, 4, 3, 4, 4, 4, 2, 3, 3, 2, 2, 1, 2, 3, 2, 2}));
    EXPECT_EQ(draw(3, false), (std::vector<int64_t>{4, 2, 3, 3, 5, 0}));
    EXPECT_EQ(draw(1, true), (std::vector<int64_t>{4, 3}));
  }
}

TEST(Random, MultinomialNeverTakesAWeightOfZero) {
  const Tensor weights = empty(5, DType::float32);
  for (int i = 0; i < 5; ++i) weights.data<float>()[i] = i % 2 ? 1.0f : 0.0f;
  manual_seed(1);
  const Tensor drawn = multinomial(weights, 1000, true);
  int64_t ones = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t index = drawn.data<int64_t>()[i];
    EXPECT_TRUE(index == 1 || index == 3);
    ones += index == 1;
  }
  EXPECT_NEAR(static_cast<double>(ones), 500, 80);
  for (int i = 0; i < 100; ++i) {
    const Tensor two = multinomial(weights, 2, false);
    EXPECT_EQ(two.data<int64_t>()[0] + two.data<int64_t>()[1], 4);
  }
}

TEST(Random, MetaAndEmptyTensorsDrawNothing) {
  manual_seed(9);
  const uint32_t expected = make_generator(9).impl()->random();
  const Tensor meta = empty_tensor({20}, DType::float32, DeviceType::meta);
  uniform_(meta, 0, 1);
  uniform_(meta, 1, 2);
  normal_(meta, 0, 1);
  random_(meta);
  random_(meta, 0, 5);
  bernoulli_(meta, 0.5);
  bernoulli_(meta, empty(1, DType::float32));
  exponential_(meta, 1);
  randperm_(meta);
  EXPECT_EQ(multinomial(meta, 3, true).sizes(), IntList({3}));
  normal_(empty(0, DType::int64), 0, 1);
  uniform_(empty_tensor({3, 0}, DType::float32), 0, 1);
  EXPECT_EQ(default_generator().impl()->random(), expected);
}

TEST(Random, RefusesWrongArguments) {
  const Tensor f = empty(3, DType::float32), i = empty(3, DType::int64), c = empty(3, DType::complex64);
  const Tensor expanded = empty_strided_tensor({3}, {0}, DType::float32);
  const auto expect = [](auto f, const std::string& part) {
    EXPECT_NE(error_of(f).find(part), std::string::npos) << error_of(f);
  };
  expect([&] { uniform_(f, 1, 0); }, "uniform_: expects a range [from, to), got from=1 > to=0");
  expect([&] { uniform_(f, 0, 1e39); }, "uniform_: to (1e+39) is out of bounds for float32");
  expect([&] { uniform_(f, -3e38, 3e38); }, "uniform_: expects to - from to be at most the largest float32");
  expect([&] { uniform_(f, std::nan(""), 1); }, "uniform_: from (nan) is out of bounds");
  expect([&] { uniform_(i, 0, 1); }, "uniform_: not implemented for 'Long'");
  expect([&] { uniform_(expanded, 0, 1); }, "more than one element");
  expect([&] { normal_(f, 0, -1); }, "normal_: expects std >= 0.0, got std=-1");
  expect([&] { normal_(f, 0, std::nan("")); }, "normal_: expects std >= 0.0");
  expect([&] { normal_(i, 0, 1); }, "normal_: not implemented for 'Long'");
  expect([&] { normal_(expanded, 0, 1); }, "more than one element");
  expect([&] { random_(c); }, "random_: not implemented for 'ComplexFloat'");
  expect([&] { random_(f, 3, 3); }, "random_: expects 'from' to be less than 'to', got from=3 >= to=3");
  expect([&] { random_(empty(3, DType::uint8), 3, 300); }, "random_: to - 1 (299) is out of bounds for uint8");
  expect([&] { random_(empty(3, DType::uint8), -3, 30); }, "random_: from (-3) is out of bounds for uint8");
  expect([&] { random_(empty(3, DType::bool_), 0, 3); }, "random_: to - 1 (2) is out of bounds for bool");
  expect([&] { random_(empty(3, DType::float16), 0, 65506); }, "out of bounds for float16");
  expect([&] { random_(empty(3, DType::int8), INT64_MIN, std::nullopt); }, "random_: the full range of 64 bits");
  expect([&] { random_(f, 1 << 24, std::nullopt); }, "random_: expects 'from' to be less than 16777216");
  expect([&] { random_(empty(0, DType::float32), 3, 3); }, "random_: expects 'from' to be less than 'to'");
  expect([&] { bernoulli_(f, 1.5); }, "bernoulli_: expects p to be in [0, 1], got p=1.5");
  expect([&] { bernoulli_(c, 0.5); }, "bernoulli_: not implemented for 'ComplexFloat'");
  expect([&] { bernoulli_(f, scalar_tensor_of(1.5, DType::float32)); }, "bernoulli_: expects every p to be in [0, 1]");
  expect([&] { bernoulli_(f, i); }, "not implemented for 'Long'");
  expect([&] { bernoulli_(f, empty(4, DType::float32)); }, "expand");
  expect([&] { exponential_(i, 1); }, "must be floating point");
  expect([&] { exponential_(f, 0); }, "exponential_: expects lambda > 0.0, got lambda=0");
  expect([&] { geometric_(f, 1); }, "geometric_: expects p to be in (0, 1), got p=1");
  expect([&] { geometric_(empty(3, DType::bool_), 0.5); }, "geometric_: not implemented for 'Bool'");
  expect([&] { cauchy_(f, 0, 0); }, "cauchy_: expects sigma > 0.0, got sigma=0");
  expect([&] { cauchy_(i, 0, 1); }, "must be floating point");
  expect([&] { log_normal_(f, 0, 0); }, "log_normal_: expects std > 0.0, got std=0");
  expect([&] { log_normal_(i, 0, 1); }, "not implemented for 'Long'");
  expect([&] { randperm_(empty(3, DType::bool_)); }, "randperm: not implemented for 'Bool'");
  expect([&] { multinomial(f, 4, false); }, "multinomial: cannot draw 4 samples of 3 categories without replacement");
  expect([&] { multinomial(f, 0, true); }, "multinomial: cannot draw 0 samples");
  expect([&] { multinomial(i, 1, true); }, "only supports floating-point dtypes, got int64");
  expect([&] { multinomial(empty_tensor({2, 2, 2}, DType::float32), 1, true); }, "must have 1 or 2 dimensions");
  for (const bool replacement : {false, true}) {
    const auto with = [&](float first, float second) {
      const Tensor weights = empty(2, DType::float32);
      weights.data<float>()[0] = first;
      weights.data<float>()[1] = second;
      return error_of([&] { multinomial(weights, 2, replacement); });
    };
    EXPECT_NE(with(0, 0).find("sum of probabilities <= 0"), std::string::npos);
    EXPECT_NE(with(1, -1).find("finite and not negative, got -1"), std::string::npos);
    EXPECT_NE(with(1, NAN).find("finite and not negative, got nan"), std::string::npos);
    EXPECT_NE(with(1, INFINITY).find("finite and not negative, got inf"), std::string::npos);
  }
}

}  // namespace
}  // namespace sconce::rng
