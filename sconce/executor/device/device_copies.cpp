#include "sconce/executor/device/device_copies.h"

#include "sconce/dispatch/registry.h"

namespace sconce::executor {

std::vector<PieceCopy> pieces_of(const Tape& tape, const TapeNode& node) {
  static const Op* const cat = find_op("aten::cat");
  if (node.op != cat || node.results.size() != 1 || node.results[0] == kNone) return {};
  const TapeValue& result = tape.values[node.results[0]];
  const Tensor& out = result.twin;
  if (!(result.device == tape.device) || !out.is_contiguous() || out.numel() == 0 || out.dim() == 0) return {};
  const int64_t given = node.args[1].to_int(), dim = given < 0 ? given + out.dim() : given;
  const auto item = static_cast<int64_t>(out.item_size());
  int64_t outer = 1, inner = item;
  for (int64_t d = 0; d < out.dim(); ++d) {
    if (d < dim) outer *= out.size(d);
    if (d > dim) inner *= out.size(d);
  }
  const int64_t line = out.size(dim) * inner;
  std::vector<PieceCopy> pieces;
  int64_t offset = 0;
  for (const TensorUse& use : node.uses) {
    const TapeValue& part = tape.values[use.value];
    if (!(part.device == tape.device) || part.twin.dtype() != out.dtype() || !part.twin.is_contiguous()) return {};
    if (part.twin.numel() == 0) continue;
    if (part.twin.dim() != out.dim() || pieces.size() + static_cast<size_t>(outer) > kMostPieces) return {};
    const int64_t bytes = part.twin.size(dim) * inner;
    for (int64_t o = 0; o < outer; ++o) {
      pieces.push_back({{part.block, part.offset + o * bytes},
                        {result.block, result.offset + o * line + offset},
                        static_cast<size_t>(bytes)});
    }
    offset += bytes;
  }
  return pieces;
}

void CopiesStep::run(Frame& frame) const {
  codegen::ByteCopy copies[kMostPieces];
  for (size_t i = 0; i < pieces_.size(); ++i)
    copies[i] = {pieces_[i].to.in(frame), pieces_[i].from.in(frame), pieces_[i].bytes};
  maker_.copy({copies, pieces_.size()}, device_);
}

}  // namespace sconce::executor
