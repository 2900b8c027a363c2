#include "sconce/lowering/overlap.h"

#include <algorithm>

#include "sconce/passes/analysis/rewrite.h"

namespace sconce::lowering {
namespace {

// Indices [begin, end) of a dimension; both count from the same side.
struct Part {
  int64_t dim, begin, end;
};

std::optional<Part> part_of(const ir::Node& node) {
  static const ir::Symbol select("aten::select"), slice("aten::slice");
  const std::optional<int64_t> dim = node.inputs().size() > 1 ? passes::constant_int(node.input(1)) : std::nullopt;
  if (!dim) return std::nullopt;
  if (node.is(select)) {
    const std::optional<int64_t> index = passes::constant_int(node.input(2));
    return index ? std::optional(Part{*dim, *index, *index + 1}) : std::nullopt;
  }
  if (!node.is(slice) || node.inputs().size() != 5) return std::nullopt;
  const auto end = passes::constant_int(node.input(3));
  const auto begin = ir::is_none(node.input(2)) ? 0 : passes::constant_int(node.input(2));
  if (!begin || !end || *begin < 0 || *end < 0) return std::nullopt;  // from both sides at once
  return Part{*dim, *begin, *end};
}

}  // namespace

bool are_disjoint(const Origin& a, const Origin& b) {
  const size_t common = std::min(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < common; ++i) {
    if (a.steps[i].value == b.steps[i].value) continue;
    if (a.steps[i].unpack && a.steps[i].unpack == b.steps[i].unpack) return true;  // parts of one split
    const std::optional<Part> x = part_of(*a.steps[i].node), y = part_of(*b.steps[i].node);
    if (!x || !y || x->dim != y->dim || (x->begin < 0) != (y->begin < 0)) return false;
    return x->end <= y->begin || y->end <= x->begin;
  }
  return false;
}

}  // namespace sconce::lowering
