#include "server/protocol/generate.h"

#include <gtest/gtest.h>

#include "server/protocol/failure.h"

namespace sconce::server {
namespace {

// "name datatype [shape]" of each input, then "name" of each parameter.
std::string read(std::string_view body, std::string_view known = "ANY") {
  const InferRequest r =
      read_generate_request(body, [&](const std::string& name) { return name == "x" ? known : std::string_view(); });
  std::string out = r.id;
  for (const WireTensor& t : r.inputs) out += fmt::format("{} {} [{}];", t.name, t.datatype, fmt::join(t.shape, ","));
  for (const auto& [name, value] : r.parameters) out += name + ";";
  return out;
}

TEST(Generate, MembersAreTensorsAndParameters) {
  EXPECT_EQ(read("{}"), "");
  EXPECT_EQ(read(R"({"id":"a","x":1,"k":2,"parameters":{"max_steps":3}})"), "ax INT64 [1];k;max_steps;");
  EXPECT_EQ(read(R"({"x":[1,2.5]})"), "x FP32 [2];");
  EXPECT_EQ(read(R"({"x":[[true],[false]]})"), "x BOOL [2,1];");
  EXPECT_EQ(read(R"({"x":"text"})"), "x BYTES [1];");
  EXPECT_EQ(read(R"({"x":[]})"), "x INT64 [0];");
  EXPECT_EQ(read(R"({"x":[[],[]]})"), "x INT64 [2,0];");
  EXPECT_EQ(read(R"({"y.0":[1e0]})"), "y.0 FP32 [1];");  // an array is a tensor, whatever its name
  EXPECT_EQ(read(R"({"x":[1]})", "FP16"), "x FP16 [1];");
}

TEST(Generate, RefusesWhatFitsNowhere) {
  for (const char* body : {"", "[]", R"({"x":null})", R"({"x":{}})", R"({"x":[1,[2]]})", R"({"x":[[1],[2,3]]})",
                           R"({"x":[1,"a"]})", R"({"x":1,"x":2})", R"({"k":1,"parameters":{"k":1}})", R"({"k":null})",
                           R"({"id":1})", R"({"x":9223372036854775808})", R"({"x":1e99})", R"({"x":1} 2)"})
    EXPECT_THROW(read(body), Failure) << body;
  EXPECT_THROW(read(R"({"x":1.5})", "INT32"), Failure);
  EXPECT_THROW(read(R"({"x":"a"})", "FP32"), Failure);
}

TEST(Generate, ResponsesAreFlat) {
  InferResponse r{"m", "2", "", {}};
  r.outputs.push_back(make_wire_strings("text_output", {"a\n\"b\""}));
  r.outputs.push_back(make_wire_strings("all", {"a", "b"}));
  r.outputs.push_back(make_wire_strings("none", {}));
  EXPECT_EQ(write_generate_response(r),
            R"({"model_name":"m","model_version":"2","text_output":"a\n\"b\"","all":["a","b"],"none":[]})");
}

}  // namespace
}  // namespace sconce::server
