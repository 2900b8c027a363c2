#include "sconce/lite/lite_model.h"

#include <cstring>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/lite/lite_budget.h"
#include "sconce/lite/read_error.h"
#include "sconce/lite/selected.h"
#include "sconce/serialization/file/records.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::lite {

Model::Model(const FileBytesPtr& file, bool trust) {
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "PTMF", 4) == 0)
    refuse_as(ErrorKind::not_implemented,
              "%s: lite archives in a flatbuffer (PTMF) are not supported; those in a zip file, which "
              "_save_for_lite_interpreter writes, are",
              file->name().c_str());
  const Records records(file);
  const bool is_compiled = records.find("calls.scx") != nullptr;
  const ReadModel read = is_compiled ? compiled_reader : archive_reader;
  if (!read)
    refuse("%s: is a %s, and this library was built for models of the other kind", file->name().c_str(),
           is_compiled ? "compiled file" : "lite archive");
  read(*this, records, trust);
}

void Model::reserve(size_t count) { room_ = std::make_unique<ModelMethod[]>(count); }

void Model::add(std::string_view name, std::string_view signature, size_t number) {
  methods = {room_.get(), methods.size() + 1};
  ModelMethod& method = methods.back();
  method.name = name;
  method.signature = signature;
  method.number = number;
}

const Value& Model::run(ModelMethod& method, std::vector<Value>& args) {
  result_ = Value();
  const NoGrad no_grad;
  last_ = &method;
  Limits limits;
  if (steps != 0) limits.steps = steps;
  if (bytes != 0) limits.memory = bytes;
  std::optional<OwnBudget> budget;
  if (limits.any()) budget.emplace(limits, "the call");
  ActiveArena active(method.arena);
  result_ = body->run(method.number, args);
  active.succeeded();
  return result_;
}

size_t Model::arena_bytes() const {
  size_t sum = 0;
  for (const ModelMethod& m : methods) sum += m.arena.bytes();
  return sum;
}

}  // namespace sconce::lite
