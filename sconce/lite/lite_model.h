// Models of lite libraries: methods of a lite archive or of a compiled file, ready to run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/lite/run_arena.h"
#include "sconce/serialization/file/file_bytes.h"
#include "sconce/types/value.h"

namespace sconce::lite {

// What a method does: bytecode, or the calls of a compiled file.
class MethodBody {
 public:
  virtual ~MethodBody() = default;
  virtual Value run(std::vector<Value>& args) = 0;  // behind the first, which is free for the object
};

struct ModelMethod {
  std::string name, signature;
  std::unique_ptr<Arena> arena;  // of its runs
  std::unique_ptr<MethodBody> body;
};

class Model {
 public:
  // Throws Error; of kind not_implemented where operators are missing, with the list of them.
  Model(const FileBytesPtr& file, bool trust);
  void add(std::string name, std::string signature, std::unique_ptr<MethodBody> body);
  std::vector<ModelMethod> methods;  // above what has tensors in their arenas
  uint64_t steps = 0, bytes = 0;     // limits of a run; 0: none

  // The result is kept until the next run. Throws Error.
  const Value& run(ModelMethod& method, std::vector<Value>& args);  // as MethodBody has them
  size_t arena_bytes() const;
  size_t outside() const { return outside_; }

 private:
  Value result_;
  size_t outside_ = 0;
};

// Readers of kinds of files, of which a selection names those that its models are. Throw Error.
void read_lite_archive(Model& model, const FileBytesPtr& file, bool trust);
void read_compiled_file(Model& model, const FileBytesPtr& file, bool trust);

}  // namespace sconce::lite
