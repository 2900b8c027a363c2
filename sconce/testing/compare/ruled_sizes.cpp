#include "sconce/testing/compare/ruled_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sconce/dispatch/entry.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/graph_code.h"

namespace sconce::testing {
namespace {

std::vector<int64_t> sizes_of(const Value& list) {
  std::vector<int64_t> out;
  for (const Value& v : list.to_list().values()) out.push_back(v.to_int());
  return out;
}

Difference compare_one(const Value& ruled, const Tensor& got, size_t index) {
  if (!got.defined()) return {};
  const std::vector<int64_t> want = sizes_of(ruled), sizes(got.sizes().begin(), got.sizes().end());
  if (want == sizes) return {};
  return fmt::format("output {} has the sizes [{}], the shape rule says [{}]", index, fmt::join(sizes, ", "),
                     fmt::join(want, ", "));
}

}  // namespace

RuledSizes::RuledSizes(const Op& op, std::vector<Value> args) {
  if (!op.info.entry || !op.info.entry->shape) return;
  const ir::Graph* graph = passes::op_graphs()->shape(op);
  if (!graph) {
    error_ = "its shape rule cannot be compiled";
    return;
  }
  try {
    const Value result = runtime::GraphCode(*graph, "shape", nullptr, false).run(args);
    if (result.is_tuple())
      sizes_ = result.to_tuple().items;
    else
      sizes_.push_back(result);
  } catch (const Error& e) {
    error_ = fmt::format("its shape rule fails: {}", e.what());
  }
}

Difference RuledSizes::compare(const std::vector<Value>& returns) const {
  if (!error_.empty()) return error_;
  for (size_t i = 0; i < sizes_.size() && i < returns.size(); ++i) {
    if (returns[i].is_tensor()) {
      if (Difference d = compare_one(sizes_[i], returns[i].to_tensor(), i)) return d;
    } else if (returns[i].is_list()) {
      const std::vector<Value> got = returns[i].to_list().values(), want = sizes_[i].to_list().values();
      if (got.size() != want.size())
        return fmt::format("output {} has {} tensors, the shape rule says {}", i, got.size(), want.size());
      for (size_t k = 0; k < got.size(); ++k) {
        if (Difference d = compare_one(want[k], got[k].to_tensor(), i)) return d;
      }
    }
  }
  return {};
}

}  // namespace sconce::testing
