// Models of lite libraries: methods of a lite archive or of a compiled file, ready to run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/lite/run_arena.h"
#include "sconce/serialization/file/records.h"
#include "sconce/types/value.h"

namespace sconce::lite {

// What methods do: those of bytecode, or the calls of a compiled file.
class ModelBody {
 public:
  virtual ~ModelBody() = default;
  // Method `number`, with the arguments behind the first, which is free for the object.
  virtual Value run(size_t number, std::vector<Value>& args) = 0;
};

struct ModelMethod {
  std::string_view name, signature;  // of the body; null characters follow
  size_t number = 0;                 // for the body
  Arena arena;                       // of its runs
};

class Model {
  std::unique_ptr<ModelMethod[]> room_;  // above what has tensors in their arenas

 public:
  // Throws Error; of kind not_implemented where operators are missing, with the list of them.
  Model(const FileBytesPtr& file, bool trust);
  void reserve(size_t count);  // methods, before the first is added
  void add(std::string_view name, std::string_view signature, size_t number);
  std::span<ModelMethod> methods;
  std::unique_ptr<ModelBody> body;
  uint64_t steps = 0, bytes = 0;  // limits of a run; 0: none

  // The result is kept until the next run. Throws Error.
  const Value& run(ModelMethod& method, std::vector<Value>& args);  // as ModelBody has them
  size_t arena_bytes() const;
  size_t outside() const { return last_ ? last_->arena.outside() : 0; }  // of the last run

 private:
  const ModelMethod* last_ = nullptr;  // that ran
  Value result_;
};

// Readers of kinds of files, of which a selection names those that its models are. Throw Error.
void read_lite_archive(Model& model, const Records& records, bool trust);
void read_compiled_file(Model& model, const Records& records, bool trust);

}  // namespace sconce::lite
