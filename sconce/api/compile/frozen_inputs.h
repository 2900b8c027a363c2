// Partial evaluation of a graph: inputs that stay the same tensors from call to call, as the weights of a module do,
// become constants of a copy. Plans of the copy have weights packed, and their signatures are short.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sconce/base/export.h"
#include "sconce/ir/function.h"
#include "sconce/tensor/tensor.h"
#include "sconce/types/value.h"

namespace sconce::jit {

class SCONCE_API FrozenInputs {
 public:
  // `inputs`: those of the graph; `frozen`: numbers of tensors among them that become constants, ascending. Those
  // without dimensions stay inputs: constants of that kind are taken for numbers (passes/number_constants.cpp), which
  // promote otherwise. Null when none is left, and when the graph has branches or an operator that writes.
  static std::unique_ptr<FrozenInputs> make(const ir::Graph& graph, std::span<const Value> inputs,
                                            const std::vector<uint32_t>& frozen);
  ~FrozenInputs();
  FrozenInputs(const FrozenInputs&) = delete;

  // Whether the frozen ones are the same tensors, with the same memory, and nobody has written to it since.
  bool hold(std::span<const Value> inputs) const;
  // Takes the other inputs, in their order.
  ir::Function& function() { return *function_; }
  const std::vector<uint32_t>& others() const { return others_; }

 private:
  FrozenInputs() = default;
  struct Known {
    uint32_t input;
    Tensor tensor;
    const void* data;
    int64_t numel;
    uint64_t meta, writes;
  };
  std::vector<Known> known_;
  std::vector<uint32_t> others_;
  ir::CompilationUnit unit_;
  ir::Function* function_ = nullptr;
};

}  // namespace sconce::jit
