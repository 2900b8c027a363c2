#include "sconce/lite/lite_model.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/serialization/file/load_budget.h"
#include "sconce/serialization/file/records.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::lite {

Model::Model(const FileBytesPtr& file, bool trust) {
  const bool is_compiled = Records(file).find("calls.scx") != nullptr;
  const ReadModel read = is_compiled ? compiled_reader : archive_reader;
  if (!read)
    refuse("%s: is a %s, and this library was built for models of the other kind", file->name().c_str(),
           is_compiled ? "compiled file" : "lite archive");
  read(*this, file, trust);
}

void Model::add(std::string_view name, std::string signature, size_t number) {
  methods.push_back({std::string(name), std::move(signature), number, std::make_unique<Arena>()});
}

const Value& Model::run(ModelMethod& method, std::vector<Value>& args) {
  result_ = Value();
  const NoGrad no_grad;
  struct Count {
    Model& model;
    ModelMethod& method;
    ~Count() { model.outside_ = method.arena->outside(); }
  } count{*this, method};
  Limits limits;
  if (steps != 0) limits.steps = steps;
  if (bytes != 0) limits.memory = bytes;
  const BudgetScope scope(steps == 0 && bytes == 0 ? nullptr : named_budget(limits, {}));
  ActiveArena active(*method.arena);
  result_ = body->run(method.number, args);
  active.succeeded();
  return result_;
}

size_t Model::arena_bytes() const {
  size_t sum = 0;
  for (const ModelMethod& m : methods) sum += m.arena->bytes();
  return sum;
}

}  // namespace sconce::lite
