#include "bench/rows/model_rows.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "bench/rows/row_arguments.h"
#include "sconce/api/jit.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::bench {
namespace {

using Json = nlohmann::json;

// The first tensor in a result.
Tensor first_tensor(const Value& v) {
  if (v.is_tensor()) return v.to_tensor();
  if (v.is_tuple()) return first_tensor(v.to_tuple().items.at(0));
  if (v.is_list()) return first_tensor(v.to_list().get(0));
  SCONCE_CHECK(v.is_dict(), "a model returned a {}", v.type()->annotation());
  Tensor first;
  v.to_dict().for_each([&](const Value&, const Value& item) {
    if (!first.defined()) first = first_tensor(item);
  });
  return first;
}

class ModelWork final : public Work {
 public:
  ModelWork(const Json& row, std::string path, bool loads)
      : path_(std::move(path)), loads_(loads), module_(jit::load(path_)) {
    RowArguments arguments;
    for (const Json& json : row["args"]) args_.push_back(arguments.read(json, tensor_type()));
  }
  void run(int64_t calls) override {
    const InferenceMode quiet;
    for (int64_t i = 0; i < calls; ++i) {
      if (loads_)
        module_ = jit::load(path_);
      else
        module_.call(args_);
    }
  }
  Tensor result() override {
    const InferenceMode quiet;
    return first_tensor(module_.call(args_));
  }

 private:
  std::string path_;
  bool loads_;
  jit::Module module_;
  std::vector<Value> args_;
};

}  // namespace

std::vector<Row> model_rows(const std::string& path, const std::string& root) {
  std::ifstream file(path);
  SCONCE_CHECK(file, "cannot read {}", path);
  std::vector<Row> rows;
  for (const Json& row : Json::parse(file)) {
    const std::string model = root + "/" + row["file"].get<std::string>();
    if (!std::filesystem::exists(model)) continue;
    for (const bool loads : {true, false}) {
      rows.push_back({(loads ? "load " : "model ") + row["model"].get<std::string>(),
                      [=]() -> std::unique_ptr<Work> { return std::make_unique<ModelWork>(row, model, loads); }});
    }
  }
  return rows;
}

}  // namespace sconce::bench
