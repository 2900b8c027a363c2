#include <gtest/gtest.h>

#include "server/protocol/failure.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"

namespace sconce::server {
namespace {

std::string refusal(std::string_view text) {
  try {
    JsonReader in(text);
    in.skip();
    in.end();
    return "";
  } catch (const Failure& f) {
    EXPECT_EQ(f.code, Code::invalid_argument);
    return f.what();
  }
}

TEST(JsonReader, ReadsValues) {
  JsonReader in(R"( {"a": [1, -2.5e3, true, null, "x\u00e9\ud83d\ude00\n"], "b": {}} )");
  std::string seen;
  in.object([&](const std::string& key) {
    seen += key;
    if (key == "b") return in.object([](const std::string&) {});
    int i = 0;
    in.array([&] {
      switch (i++) {
        case 0:
          EXPECT_EQ(in.integer(), 1);
          break;
        case 1:
          EXPECT_EQ(in.number(), -2500);
          break;
        case 2:
          EXPECT_TRUE(in.boolean());
          break;
        case 3:
          in.null();
          break;
        default:
          EXPECT_EQ(in.string(), "x\xc3\xa9\xf0\x9f\x98\x80\n");
      }
    });
  });
  in.end();
  EXPECT_EQ(seen, "ab");
}

TEST(JsonReader, SkipsAndRefuses) {
  EXPECT_EQ(refusal(R"([{"a":[[],{}]},"\\\"",0,-0.1e-7,false])"), "");
  for (const char* wrong : {"",
                            "[",
                            "]",
                            "{",
                            "[1,]",
                            "{\"a\"}",
                            "{\"a\":}",
                            "{a:1}",
                            "01",
                            "1.",
                            ".5",
                            "+1",
                            "1e",
                            "tru",
                            "nul",
                            "\"",
                            "\"\\x\"",
                            "\"\\u12\"",
                            "\"\\ud800\"",
                            "\"\\ud800\\u0041\"",
                            "\"\\udc00\"",
                            "\"\n\"",
                            "[1 2]",
                            "1 2",
                            "NaN",
                            "[1}",
                            "{\"a\":1,}"})
    EXPECT_NE(refusal(wrong), "") << wrong;
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(refusal(std::string(65, '[') + std::string(65, ']')), "");
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
}

TEST(JsonReader, NumbersThatDoNotFit) {
  EXPECT_EQ(JsonReader("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_THROW(JsonReader("9223372036854775808").integer(), Failure);
  EXPECT_THROW(JsonReader("1.0").integer(), Failure);
  EXPECT_THROW(JsonReader("-1").unsigned_integer(), Failure);
  EXPECT_EQ(JsonReader("18446744073709551615").unsigned_integer(), UINT64_MAX);
  EXPECT_THROW(JsonReader("1e400").number(), Failure);
}

TEST(JsonWriter, EscapesAndReplaces) {
  JsonWriter out;
  out.open('{')
      .key("a\"")
      .text("\\\n\x01\xff\xc3\xa9")
      .key("b")
      .open('[')
      .number(1)
      .number(0.1f)
      .boolean(true)
      .close(']')
      .close('}');
  EXPECT_EQ(out.str(), "{\"a\\\"\":\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\",\"b\":[1,0.1,true]}");
}

}  // namespace
}  // namespace sconce::server
