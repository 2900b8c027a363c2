#include "bench/rows/family_rows.h"

#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/rows/row_arguments.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::bench {
namespace {

using Json = nlohmann::json;

class OperatorWork final : public Work {
 public:
  explicit OperatorWork(const Json& row) : op_(find_op(row["op"].get<std::string>())), result_(row.value("result", 0)) {
    SCONCE_CHECK(op_ != nullptr, "there is no operator {}", row["op"].get<std::string>());
    RowArguments inputs;
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
