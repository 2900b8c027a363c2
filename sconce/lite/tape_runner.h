// Tape runner: the calls of a compiled file, one after the other, without plans: no loops are joined and no weights
// packed, and the bits are those of the program all the same.
#pragma once

#include <vector>

#include "sconce/lite/lite_model.h"
#include "sconce/serialization/compiled/compiled_program.h"

namespace sconce::lite {

class TapeRunner final : public ModelBody {
 public:
  TapeRunner(compiled::CompiledFunction function, std::string signature, std::string file);
  const std::string& name() const { return function_.name; }
  const std::string& signature() const { return signature_; }
  // Throws Error; for arguments that the file was not compiled for, one that names both.
  Value run(size_t number, std::vector<Value>& args) override;

 private:
  struct Call {
    std::vector<executor::ValueId> dying;  // tensors that no later call and no result uses
  };
  struct Steps {
    std::vector<Call> calls;
    std::vector<Tensor> values;
    std::vector<Value> args, results;  // of the largest call
  };
  // The inputs of a program, if these are arguments for it.
  bool take_inputs(const compiled::Program& program, Steps& steps, const std::vector<Value>& args) const;
  void call(const compiled::Program& program, Steps& steps, size_t node) const;

  compiled::CompiledFunction function_;
  std::string signature_, file_;
  std::vector<Steps> steps_;
};

}  // namespace sconce::lite
