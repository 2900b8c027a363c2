// Pickles that try to hurt: cycles, depth, sharing without end, numbers that do not fit.
#include <gtest/gtest.h>

#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using namespace std::string_literals;

// A pickle that may name one class, whose objects are their state.
struct OneClass final : PickleContext {
  Tensor storage(const std::string&, std::optional<DType> dtype, int64_t count) override {
    SCONCE_CHECK(count <= 100, "too large");
    return empty_tensor({count}, dtype.value_or(DType::uint8));
  }
  TypePtr find_class(const std::string&) override { return class_type("__torch__.K"); }
  TypePtr find_type(std::string_view text) override { return parse_type(text); }
  Value build(TypePtr, Value state) override { return state; }
};

Value unpickle(const std::string& body) {
  OneClass context;
  return read_pickle("\x80\x02" + body + ".", "f", context);
}

std::string text(const std::string& t) { return "X"s + static_cast<char>(t.size()) + "\0\0\0"s + t; }

#define EXPECT_REFUSED(body, part)                                              \
  do {                                                                          \
    const std::string message = testing::error_of([&] { unpickle(body); });     \
    EXPECT_NE(message.find(part), std::string::npos) << "got: " << message;     \
    EXPECT_TRUE(message.starts_with("f: pickle, byte ")) << "got: " << message; \
  } while (false)

TEST(HostilePickle, NothingContainsItself) {
  EXPECT_REFUSED("]q\0h\0a"s, "a list contains itself");
  EXPECT_REFUSED("}q\0K\1h\0s"s, "a dict contains itself");
  EXPECT_REFUSED("]q\0h\0\x85\x61"s, "changed after it was put into another");
  EXPECT_REFUSED("]2\x85\x61"s, "changed after it was put into another");
  EXPECT_REFUSED("]q\0]q\1h\0aa"s, "changed after it was put into another");
  EXPECT_REFUSED("}q\0c__torch__\nK\n)\x81h\0bh\0K\1h\0s"s, "changed after it was put into another");
  EXPECT_REFUSED("]q\0(h\0tq\1h\0h\1a"s, "changed after it was put into another");
}

TEST(HostilePickle, SharedListsMayStillGrowBeforeTheyAreUsed) {
  EXPECT_EQ(unpickle("]q\0K\1a0h\0K\2\x61"s).repr(), "[1, 2]");
  EXPECT_EQ(unpickle("]q\0K\1ah\0\x86"s).repr(), "([1], [1])");
}

TEST(HostilePickle, DepthIsLimitedByEveryRoad) {
  const auto times = [](size_t n, const std::string& s) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += s;
    return all;
  };
  const char* why = "nested more than 1000 deep";
  EXPECT_REFUSED(")" + std::string(kMaxPickleDepth, '\x85'), why);
  EXPECT_REFUSED(times(kMaxPickleDepth + 1, "]") + times(kMaxPickleDepth, "a"), why);
  EXPECT_REFUSED(times(kMaxPickleDepth + 1, "}K\1") + "N" + times(kMaxPickleDepth + 1, "s"), why);
  EXPECT_REFUSED(")" + times(kMaxPickleDepth + 1, "q\0c__torch__\nK\n)\x81h\0b"s), why);
  // The memo knows a list as it was when it was put there, and as it is now.
  EXPECT_REFUSED("]q\0"s + times(kMaxPickleDepth + 1, "]q\1h\0a0h\1q\0"s), why);
  EXPECT_EQ(testing::error_of([&] { unpickle(")" + std::string(kMaxPickleDepth - 1, '\x85')); }), "no error");
}

TEST(HostilePickle, SharingDoesNotGrowWithoutBound) {
  std::string laughs = "]";
  for (int i = 0; i < 60; ++i) laughs += "q\0h\0\x86"s;
  EXPECT_REFUSED(laughs, "values are shared too often");
  std::string lists = "]q\0"s;
  for (int i = 0; i < 60; ++i) lists += "](h\0h\0eq\0"s;
  EXPECT_REFUSED(lists, "values are shared too often");
  std::string key = ")";
  for (int i = 0; i < 10; ++i) key += "q\0h\0\x86"s;
  EXPECT_REFUSED("}" + key + "Ns", "a key of a dict has more than 100 parts");
}

TEST(HostilePickle, KeysCanBeHashed) {
  EXPECT_REFUSED("}]Ns", "a key of a dict cannot be hashed");
  EXPECT_REFUSED("}]\x85Ns", "a key of a dict cannot be hashed");
}

TEST(HostilePickle, MarksAndStacksAreBalanced) {
  EXPECT_REFUSED("t", "there is no mark");
  EXPECT_REFUSED("K\1(\x85", "the stack is empty");
  EXPECT_REFUSED("(K\1", "items on the stack");
  EXPECT_REFUSED("](K\1K\2K\3", "items on the stack");
  EXPECT_REFUSED("}(K\1u", "a key has no value");
  EXPECT_REFUSED("1", "there is no mark");
  EXPECT_REFUSED("K\1K\2\x61", "items are appended to something that is no list");
  EXPECT_REFUSED("]K\2K\3s", "items are set in something that is no dict");
}

TEST(HostilePickle, NumbersFit) {
  EXPECT_REFUSED("\x8b\xff\xff\xff\xff"s, "unexpected end");
  EXPECT_REFUSED("\x8b\0\1\0\0"s + std::string(256, 'x'), "an integer has more than 255 bytes");
  EXPECT_EQ(unpickle("\x8a\0"s).to_int(), 0);
}

TEST(HostilePickle, TensorsStayInsideTheirStorage) {
  const std::string storage = "(" + text("storage") + "ctorch\nByteStorage\n" + text("0") + text("cpu") + "K\x08tQ";
  const auto tensor = [&](const std::string& geometry) {
    return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + geometry + "\x89}tR";
  };
  const std::string most = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;
  EXPECT_EQ(testing::error_of([&] { unpickle(tensor("K\0K\x08\x85K\1\x85"s)); }), "no error");
  EXPECT_REFUSED(tensor("K\1K\x08\x85K\1\x85"), "out of bounds");
  EXPECT_REFUSED(tensor("K\0K\2\x85K\x08\x85"s), "out of bounds");
  EXPECT_REFUSED(tensor("K\0K\2\x85J\xff\xff\xff\xff\x85"s), "must not be negative");
  EXPECT_REFUSED(tensor("K\0J\xff\xff\xff\xff\x85K\1\x85"s), "must not be negative");
  EXPECT_REFUSED(tensor("K\0K\2\x85"s + most + "\x85"), "out of bounds");
  EXPECT_REFUSED(tensor("K\0K\2K\2\x86"s + most + most + "\x86"), "out of bounds");
  EXPECT_REFUSED(tensor(most + "K\1\x85K\1\x85"), "invalid storage offset");
  EXPECT_REFUSED(tensor("K\0"s + most + "K\2\x86K\0K\0\x86"s), "does not fit into 64 bits");
  EXPECT_REFUSED(tensor("K\0K\2\x85K\1K\1\x86"s), "must have the same length");
  std::string ones;
  for (int i = 0; i < 65; ++i) ones += "K\1";
  EXPECT_REFUSED(tensor("K\0("s + ones + "t(" + ones + "t"), "at most 64 dimensions");
}

TEST(HostilePickle, TypesOfTagsAreTrue) {
  const auto tagged = [](const std::string& body, const std::string& tag) {
    return "ctorch.jit._pickle\nrestore_type_tag\n" + body + text(tag) + "\x86R";
  };
  EXPECT_EQ(unpickle(tagged("](" + text("a") + "e", "List[str]")).type()->annotation(), "List[str]");
  EXPECT_REFUSED(tagged("](K\1e", "List[str]"), "a value of type int stands where str belongs");
  EXPECT_REFUSED(tagged("]", "int"), "tags 'int' where a list or a dict is meant");
  EXPECT_REFUSED(tagged("}K\1K\2s", "Dict[str, int]"), "a value of type int stands where str belongs");
  EXPECT_REFUSED(tagged("](]e", "List[Tuple[int, int]]"), "stands where Tuple[int, int] belongs");
  EXPECT_REFUSED(tagged("](K\1\x85\x65", "List[Tuple[int, int]]"), "a tuple has 1 items where Tuple[int, int] has 2");
  EXPECT_REFUSED(tagged("]", std::string(70, '[')), "f: pickle");
  std::string deep = "int";
  for (int i = 0; i < 40; ++i) deep += "[]";
  EXPECT_EQ(testing::error_of([&] { unpickle(tagged("]", deep)); }), "no error");
}

}  // namespace
}  // namespace sconce
