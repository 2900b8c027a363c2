// Concatenations of devices as copies of bytes: pieces that lie one behind the other become one launch.
#pragma once

#include <string>
#include <vector>

#include "sconce/codegen/device_maker.h"
#include "sconce/executor/execution_plan.h"

namespace sconce::executor {

struct PieceCopy {
  Place from, to;
  size_t bytes;
};

// Of a cat whose tensors and result are contiguous; empty for other nodes, and where there are more than kMostPieces.
inline constexpr size_t kMostPieces = 64;
std::vector<PieceCopy> pieces_of(const Tape& tape, const TapeNode& node);

class CopiesStep final : public Step {
 public:
  CopiesStep(const codegen::DeviceMaker& maker, Device device, std::vector<PieceCopy> pieces)
      : maker_(maker), device_(device), pieces_(std::move(pieces)) {}
  void run(Frame& frame) const override;
  std::string text() const override { return "copies"; }

 private:
  const codegen::DeviceMaker& maker_;
  const Device device_;
  const std::vector<PieceCopy> pieces_;
};

}  // namespace sconce::executor
