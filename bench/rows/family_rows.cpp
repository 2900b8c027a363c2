#include "bench/rows/family_rows.h"

#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/rows/inputs.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/case_value.h"

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

// Reads the arguments of a row, in order; each tensor has a seed of its own.
class Inputs {
 public:
  Value read(const Json& json, TypePtr type) {
    if (json.is_array() && !json.empty() && json[0].is_object()) {
      std::vector<Tensor> tensors;
      for (const Json& element : json) tensors.push_back(tensor(element));
      return Value(tensors);
    }
    if (json.is_object() && !json.contains("dtype") && !json.contains("memory_format")) return tensor(json);
    if (json.is_object() && json.size() > 1) return tensor(json);
    return testing::read_value(json, no_tensors(), type);
  }

 private:
  Tensor tensor(const Json& json) {
    const uint32_t seed = ++seed_;
    if (json.contains("index")) return index(json["index"].get<std::vector<int64_t>>(), seed, json["below"]);
    if (json.contains("mask")) return mask(json["mask"].get<std::vector<int64_t>>(), seed);
    if (json.contains("ramp")) return ramp(json["ramp"][0]);
    if (json.contains("gram")) return gram(json["gram"].get<std::vector<int64_t>>(), seed);
    return finished(uniform(json.at("tensor").get<std::vector<int64_t>>(), seed, json.value("low", -1.0f),
                            json.value("high", 1.0f)),
                    json);
  }

  uint32_t seed_ = 0;
};

class OperatorWork final : public Work {
 public:
  explicit OperatorWork(const Json& row) : op_(find_op(row["op"].get<std::string>())), result_(row.value("result", 0)) {
    SCONCE_CHECK(op_ != nullptr, "there is no operator {}", row["op"].get<std::string>());
    Inputs inputs;
    const Json& args = row["args"];
    for (const Argument& argument : op_->schema().arguments) {
      if (args_.size() < args.size())
        args_.push_back(inputs.read(args[args_.size()], argument.type));
      else if (row.contains(argument.name))
        args_.push_back(inputs.read(row[argument.name], argument.type));
      else
        args_.push_back(argument.default_value.value());
    }
  }

  void run(int64_t calls) override {
    for (int64_t i = 0; i < calls; ++i) call();
  }

  Tensor result() override { return call()[result_].to_tensor(); }

 private:
  std::vector<Value> call() const {
    std::vector<Value> args = args_, returns(op_->schema().returns.size());
    op_->call_boxed(args.data(), returns.data());
    return returns;
  }

  const Op* op_;
  size_t result_;
  std::vector<Value> args_;
};

}  // namespace

std::vector<Row> family_rows(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file, "cannot read {}", path);
  std::vector<Row> rows;
  for (const Json& row : Json::parse(file)) {
    rows.push_back({row["row"], [row]() -> std::unique_ptr<Work> { return std::make_unique<OperatorWork>(row); }});
  }
  return rows;
}

}  // namespace sconce::bench
