// The step of a plan that a backend compiled.
#pragma once

#include "sconce/executor/backends/taken_parts.h"
#include "sconce/executor/execution_plan.h"

namespace sconce::executor {

class BackendStep final : public Step {
 public:
  // A node with `taken`.
  BackendStep(const TapeNode& node, const Tape& tape);
  // Throws BackendError: what the backend threw, or which of its results is wrong.
  void run(Frame& frame) const override;
  std::string text() const override { return "backend " + call_->backend + call_->text; }

 private:
  void check(size_t i, const Tensor& result) const;

  std::shared_ptr<const BackendCall> call_;
  std::vector<ValueId> inputs_;
  Numbers outputs_;
  std::vector<Tensor> twins_;  // of the outputs
};

}  // namespace sconce::executor
