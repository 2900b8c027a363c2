#include "bench/rows/row_arguments.h"

#include <nlohmann/json.hpp>

#include "bench/rows/inputs.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/testing/conformance/case_value.h"

namespace sconce::bench {
namespace {

using Json = nlohmann::json;

const SafetensorsFile& no_tensors() {
  static const SafetensorsFile file =
      SafetensorsFile::parse(std::string("\2\0\0\0\0\0\0\0{}", 10), "a row of the benchmarks");
  return file;
}

Tensor finished(Tensor tensor, const Json& json) {
  if (json.contains("transpose")) tensor = tensor.transpose(json["transpose"][0], json["transpose"][1]);
  if (json.value("format", "") == "channels_last") tensor = tensor.contiguous(MemoryFormat::channels_last);
  const std::string dtype = json.value("dtype", "float32");
  SCONCE_CHECK(dtype == "float32" || dtype == "bfloat16" || dtype == "float16", "no rows of {}", dtype);
  if (dtype != "float32") tensor = tensor.to(dtype == "bfloat16" ? DType::bfloat16 : DType::float16);
  return tensor;
}

}  // namespace

Value RowArguments::read(const Json& json, TypePtr type) {
  if (json.is_array() && !json.empty() && json[0].is_object()) {
    std::vector<Tensor> tensors;
    for (const Json& element : json) tensors.push_back(tensor(element));
    return Value(tensors);
  }
  if (json.is_object() && !json.contains("dtype") && !json.contains("memory_format")) return tensor(json);
  if (json.is_object() && json.size() > 1) return tensor(json);
  return testing::read_value(json, no_tensors(), type);
}

Tensor RowArguments::tensor(const Json& json) {
  const uint32_t seed = ++seed_;
  if (json.contains("index")) return index(json["index"].get<std::vector<int64_t>>(), seed, json["below"]);
  if (json.contains("mask")) return mask(json["mask"].get<std::vector<int64_t>>(), seed);
  if (json.contains("ramp")) return ramp(json["ramp"][0]);
  if (json.contains("gram")) return gram(json["gram"].get<std::vector<int64_t>>(), seed);
  return finished(
      uniform(json.at("tensor").get<std::vector<int64_t>>(), seed, json.value("low", -1.0f), json.value("high", 1.0f)),
      json);
}

}  // namespace sconce::bench
