#include "sconce/executor/device/device_calls.h"

#include <algorithm>

#include "sconce/dispatch/registry.h"

namespace sconce::executor {
namespace {

using loops::LoopCall;
using loops::RowOp;

struct Query {
  const Tape& tape;
  TapeNode& node;
  const std::vector<Numbers>& users;
  const std::vector<bool>& leaves;

  // The tensor of an argument; kNone: there is none.
  ValueId tensor(uint32_t arg) const {
    for (const TensorUse& use : node.uses) {
      if (use.arg == arg && use.item < 0) return use.value;
    }
    return kNone;
  }
  bool is_unused(size_t result) const {
    if (result >= node.results.size() || node.results[result] == kNone) return true;
    const ValueId v = node.results[result];
    return users[v].empty() && !leaves[v];
  }
};

using Made = std::unique_ptr<LoopCall>;

Made pointwise_call(const Query& q) {
  const PointwiseCall& as_run = *q.node.pointwise;
  auto call = std::make_unique<LoopCall>(loops::make_call(*q.node.op, *as_run.loops, as_run.common, as_run.result));
  for (const Param& p : as_run.params) call->params.push_back(p);
  return loops::fusible(*call) ? std::move(call) : nullptr;
}

void set_inputs(TapeNode& node, std::vector<ValueId> inputs) {
  node.pointwise = std::make_unique<PointwiseCall>();
  node.pointwise->inputs = std::move(inputs);
}

// Of an operator that copies its first argument.
Made conversion(const Query& q) {
  const ValueId from = q.tensor(0);
  if (!(q.tape.twin(from).sizes() == q.tape.twin(q.node.results[0]).sizes())) return nullptr;
  const DType source = q.tape.twin(from).dtype(), target = q.tape.twin(q.node.results[0]).dtype();
  if (is_complex(source) && !is_complex(target)) return nullptr;
  auto call = std::make_unique<LoopCall>(loops::make_conversion(target));
  if (is_quantized(source) || !loops::fusible(*call)) return nullptr;
  set_inputs(q.node, {from});
  return call;
}

Made row_call(const Query& q, RowOp op, int64_t longest) {
  const ValueId from = q.tensor(0);
  const Tensor &x = q.tape.twin(from), &y = q.tape.twin(q.node.results[0]);
  if (x.dim() == 0 || x.numel() == 0 || x.size(-1) > longest || x.dtype() != y.dtype()) return nullptr;
  double eps = 0;
  std::vector<ValueId> inputs{from};
  if (op == RowOp::softmax || op == RowOp::log_softmax) {
    const int64_t dim = q.node.args[1].to_int();
    if (dim != -1 && dim != x.dim() - 1) return nullptr;
  } else {
    if (q.node.args[1].to_list().size() != 1 || !q.is_unused(1) || !q.is_unused(2)) return nullptr;
    const ValueId weight = q.tensor(2), bias = op == RowOp::layer_norm ? q.tensor(3) : kNone;
    if (weight == kNone && bias != kNone) return nullptr;
    for (const ValueId v : {weight, bias}) {
      if (v != kNone) inputs.push_back(v);
    }
    const Value& given = q.node.args.back();
    const DType t = x.dtype();
    const double least = t == DType::float64   ? 0x1p-52
                         : t == DType::float32 ? 0x1p-23
                         : t == DType::float16 ? 0x1p-10
                                               : 0x1p-7;
    eps = given.is_none() ? least : given.to_double();
  }
  auto call = std::make_unique<LoopCall>(loops::make_row_call(op, x.dtype(), eps));
  if (!loops::fusible(*call)) return nullptr;
  set_inputs(q.node, std::move(inputs));
  return call;
}

}  // namespace

Made device_loop_call(const Tape& tape, TapeNode& node, const codegen::DeviceMaker& maker,
                      const std::vector<Numbers>& users, const std::vector<bool>& leaves) {
  static const Op* const conversions[] = {find_op("aten::to.dtype"), find_op("aten::to.dtype_layout"),
                                          find_op("aten::to.device"), find_op("aten::to.other"),
                                          find_op("aten::_to_copy")};
  static const Op* const softmax = find_op("aten::_softmax");
  static const Op* const log_softmax = find_op("aten::_log_softmax");
  static const Op* const layer_norm = find_op("aten::native_layer_norm");
  static const Op* const rms_norm = find_op("aten::_fused_rms_norm");
  const auto is_here = [&](ValueId v) { return v == kNone || tape.values[v].device == tape.device; };
  if (node.results.empty() || node.results[0] == kNone ||
      !std::all_of(node.results.begin(), node.results.end(), is_here) ||
      !std::all_of(node.uses.begin(), node.uses.end(), [&](const TensorUse& use) { return is_here(use.value); }))
    return nullptr;
  const Query q{tape, node, users, leaves};
  if (node.pointwise) return pointwise_call(q);
  if (std::find(std::begin(conversions), std::end(conversions), node.op) != std::end(conversions)) return conversion(q);
  if (node.op == softmax) return row_call(q, RowOp::softmax, maker.longest_row);
  if (node.op == log_softmax) return row_call(q, RowOp::log_softmax, maker.longest_row);
  if (node.op == layer_norm) return row_call(q, RowOp::layer_norm, maker.longest_row);
  if (node.op == rms_norm) return row_call(q, RowOp::rms_norm, maker.longest_row);
  return nullptr;
}

}  // namespace sconce::executor
