#include "server/protocol/infer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/protocol/failure.h"
#include "server/protocol/shared_memory.h"

namespace sconce::server {
namespace {

InferRequest read(const std::string& json, const std::string& binary = {}) {
  const SharedMemory none(true);
  return read_infer_request(json + binary, json.size(), none);
}
std::string refusal(const std::string& json, const std::string& binary = {}) {
  try {
    read(json, binary);
    return "";
  } catch (const Failure& f) {
    return f.what();
  }
}
std::string input(const std::string& members) { return R"({"inputs":[{"name":"x",)" + members + "}]}"; }

TEST(InferRequest, TheModelsNameMayBeSaidAgain) {  // KServe's client does
  EXPECT_EQ(refusal(R"({"model_name":"net","inputs":[]})"), "");
  EXPECT_NE(refusal(R"({"model_name":1,"inputs":[]})"), "");
  EXPECT_NE(refusal(R"({"model":"net","inputs":[]})"), "");
}

TEST(InferRequest, JsonOfEveryDatatype) {
  for (const char* datatype : {"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16",
                               "BF16", "FP32", "FP64"}) {
    const InferRequest r = read(input(std::string(R"("shape":[2,1],"data":[1,0],"datatype":")") + datatype + "\""));
    ASSERT_EQ(r.inputs.size(), 1u);
    std::string bytes;
    write_bytes(r.inputs[0], bytes);
    EXPECT_EQ(bytes.size(), byte_size(r.inputs[0]));
    // The same bytes come back as the same tensor.
    const std::string again = input(
        fmt::format(R"("shape":[2,1],"datatype":"{}","parameters":{{"binary_data_size":{}}})", datatype, bytes.size()));
    std::string twice;
    write_bytes(read(again, bytes).inputs[0], twice);
    EXPECT_EQ(bytes, twice) << datatype;
  }
  EXPECT_EQ(read(input(R"("datatype":"BYTES","shape":[2],"data":["a","\u0000b"])")).inputs[0].strings[1],
            std::string("\0b", 2));
}

TEST(InferRequest, NestedData) {
  EXPECT_EQ(refusal(input(R"("datatype":"INT64","shape":[2,2],"data":[[1,2],[3,4]])")), "");
  EXPECT_EQ(refusal(input(R"("datatype":"INT64","shape":[2,2],"data":[1,2,3,4])")), "");
  EXPECT_EQ(refusal(input(R"("datatype":"INT64","shape":[],"data":[7])")), "");
  EXPECT_EQ(refusal(input(R"("datatype":"INT64","shape":[0],"data":[])")), "");
  for (const char* data :
       {"[[1,2,3],[4]]", "[[1,2],3,4]", "[1,2,[3,4]]", "[[[1,2],[3,4]]]", "[[1],[2],[3],[4]]", "[1,2,3]", "[1,2,3,4,5]",
        "7", "{}", "[[1,2],[3,4],[]]", "[null,1,2,3]", "[true,1,2,3]", "[1.5,2,3,4]", "[\"1\",2,3,4]"})
    EXPECT_NE(refusal(input(std::string(R"("datatype":"INT64","shape":[2,2],"data":)") + data)), "") << data;
}

TEST(InferRequest, WrongOnesAreRefused) {
  EXPECT_EQ(refusal(input(R"("datatype":"INT8","shape":[1],"data":[300])")), "tensor 'x': 300 does not fit into INT8");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[1],"data":[1e39])")),
            "tensor 'x': 1e+39 is too large for FP32");
  EXPECT_EQ(refusal(input(R"("datatype":"FP7","shape":[1],"data":[1])")), "input 'x': there is no datatype 'FP7'");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[-1],"data":[1])")), "tensor 'x': a size of its shape is -1");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[4294967296,4294967296],"data":[1])")),
            "tensor 'x': its shape has too many elements");
  EXPECT_NE(refusal(input(R"("datatype":"FP32","shape":[1000000000],"data":[1])")), "");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[1])")),
            "input 'x' needs one of data, binary_data_size and shared_memory_region");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[1],"parameters":{"binary_data_size":8})"), "1234"),
            "input 'x': binary_data_size is 8, and the body has 4 bytes left");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[1],"parameters":{"binary_data_size":3})"), "123"),
            "tensor 'x': FP32 of shape [1] has 4 bytes, got 3");
  EXPECT_NE(refusal(input(R"("datatype":"FP32","shape":[1],"parameters":{"binary_data_size":-4})"), "1234"), "");
  EXPECT_EQ(refusal(input(R"("datatype":"FP32","shape":[1],"data":[1])"), "left"),
            "the body has 4 bytes that belong to no input");
  EXPECT_EQ(refusal(input(R"("datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":8})"),
                    std::string("\xff\xff\xff\xff", 4) + "abcd"),
            "tensor 'x': string 0 has 4294967295 bytes, and 4 are left");
  EXPECT_NE(refusal(input(R"("datatype":"BOOL","shape":[1],"parameters":{"binary_data_size":1})"), "\x02"), "");
  EXPECT_EQ(refusal(R"({"inputs":[],"more":1})"), "the JSON has a member 'more' that is not known here");
  EXPECT_EQ(refusal("{}"), "the request has no inputs");
  EXPECT_EQ(refusal(R"({"inputs":[],"outputs":[{"name":"y","parameters":{"classification":3}}]})"),
            "output 'y': the classification extension is not supported");
  EXPECT_EQ(refusal(R"({"inputs":[],"outputs":[{"name":"y","parameters":{"colour":3}}]})"),
            "output 'y': there is no parameter 'colour'");
  const SharedMemory none(true);
  EXPECT_THROW(read_infer_request("{}", 3, none), Failure);
}

TEST(InferResponse, JsonAndBinary) {
  const SharedMemory none(true);
  InferResponse r{"m", "1", "id", {}};
  r.outputs.push_back(read(input(R"("datatype":"FP32","shape":[2],"data":[1,0.5])")).inputs[0]);
  r.outputs.push_back(read(input(R"("datatype":"BYTES","shape":[1],"data":["ab"])")).inputs[0]);
  InferRequest request;
  EXPECT_EQ(
      write_infer_response(r, request, none).body,
      R"({"model_name":"m","model_version":"1","id":"id","outputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,0.5]},)"
      R"({"name":"x","datatype":"BYTES","shape":[1],"data":["ab"]}]})");
  request.binary_outputs = true;
  const InferBody binary = write_infer_response(r, request, none);
  EXPECT_TRUE(binary.binary);
  EXPECT_EQ(binary.body.size() - binary.json_size, 8u + 6u);
  r.outputs[0].tensor.data<float>()[0] = std::numeric_limits<float>::infinity();
  request.binary_outputs = false;
  EXPECT_THROW(write_infer_response(r, request, none), Failure);
}

TEST(SharedMemory, RegionsAreReadAndWritten) {
  const std::string key = fmt::format("/sconce_test_{}", getpid());
  const int file = shm_open(key.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 64), 0);
  {
    SharedMemory shared(true);
    shared.add({"a", key, 16, 32});
    EXPECT_THROW(shared.add({"a", key, 0, 8}), Failure);
    EXPECT_THROW(shared.add({"b", key, 40, 32}), Failure);  // beyond its end
    EXPECT_THROW(shared.add({"b", "/no/such", 0, 8}), Failure);
    EXPECT_THROW(shared.add({"b", key, UINT64_MAX - 4, 8}), Failure);
    shared.write("a", 4, 8, "hello");
    EXPECT_EQ(shared.read("a", 4, 5), "hello");
    char there[5];
    ASSERT_EQ(pread(file, there, 5, 20), 5);
    EXPECT_EQ(std::string(there, 5), "hello");
    EXPECT_THROW(shared.read("a", 30, 4), Failure);
    EXPECT_THROW(shared.write("a", 0, 2, "hello"), Failure);
    ASSERT_EQ(ftruncate(file, 18), 0);  // the client cuts it short
    EXPECT_THROW(shared.read("a", 4, 5), Failure);
    EXPECT_EQ(shared.list().size(), 1u);
    shared.remove("a");
    EXPECT_THROW(shared.read("a", 0, 1), Failure);
    SharedMemory forbidden(false);
    EXPECT_THROW(forbidden.add({"a", key, 0, 8}), Failure);
  }
  close(file);
  shm_unlink(key.c_str());
}

}  // namespace
}  // namespace sconce::server
