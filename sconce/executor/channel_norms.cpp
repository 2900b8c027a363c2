#include "sconce/executor/channel_norms.h"

#include <cmath>

#include "sconce/dispatch/registry.h"
#include "sconce/executor/probe.h"
#include "sconce/kernels/cpu/engine/iterate.h"

namespace sconce::executor {
namespace {

// Arguments of the operators: input, weight, bias, running_mean, running_var, then training or nothing, momentum, eps.
struct Norm {
  ValueId input = kNone;
  Tensor weight, bias, mean, var;
  double eps = 0;
};

std::vector<double> doubles(const Tensor& t, int64_t count, double otherwise) {
  std::vector<double> values(static_cast<size_t>(count), otherwise);
  if (!t.defined()) return values;
  const int64_t sizes[] = {count}, strides[] = {1};
  run_copy(sizes, {values.data(), DType::float64, strides}, {t.data(), t.dtype(), t.strides().data()});
  return values;
}

class Expansion {
 public:
  Expansion(Tape& tape, std::vector<BlockId>& sources) : tape_(tape), sources_(sources), used_(tape.values.size()) {
    for (const TapeNode& node : tape.nodes) {
      for (const TensorUse& use : node.uses) used_[use.value] = true;
    }
    for (const ValueId v : tape.outputs()) used_[v] = true;
  }

  void expand(TapeNode& node) {
    Norm norm;
    if (!read(node, norm)) return;
    const Tensor input = tape_.twin(norm.input);
    const DType dtype = input.dtype();
    const int64_t channels = input.size(1);
    std::vector<double> scale = doubles(norm.weight, channels, 1), shift = doubles(norm.bias, channels, 0);
    const std::vector<double> mean = doubles(norm.mean, channels, 0), var = doubles(norm.var, channels, 1);
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= 1 / std::sqrt(var[c] + norm.eps);
      shift[c] -= mean[c] * scale[c];
    }
    static const Op* const addcmul = find_op("aten::addcmul");
    TapeNode made;
    made.op = addcmul;
    made.site = node.site;
    made.args = {Value(), Value(), Value(), Value(int64_t{1})};
    made.uses = {{0, -1, constant(shift, dtype, input.dim())},
                 {1, -1, norm.input},
                 {2, -1, constant(scale, dtype, input.dim())}};
    made.result_sizes = {kNone};
    made.results = {node.results[0]};
    std::vector<Value> results;
    if (!probe(tape_, made, results) || !made.pointwise ||
        !same_geometry(results[0].to_tensor(), tape_.twin(node.results[0])))
      return;
    for (const TensorUse& use : node.uses) {
      if (use.arg != 0) sources_.push_back(tape_.block_of(use.value));
    }
    node = std::move(made);
  }

 private:
  bool read(const TapeNode& node, Norm& norm) const {
    static const Op* const plain = find_op("aten::native_batch_norm");
    static const Op* const inference = find_op("aten::_native_batch_norm_legit_no_training");
    if (node.op != plain && node.op != inference) return false;
    if (node.op == plain && node.args[5].to_bool()) return false;
    for (size_t i = 1; i < node.results.size(); ++i) {
      if (node.results[i] != kNone && used_[node.results[i]]) return false;
    }
    norm.eps = node.args.back().to_double();
    Tensor* const places[] = {nullptr, &norm.weight, &norm.bias, &norm.mean, &norm.var};
    for (const TensorUse& use : node.uses) {
      if (use.arg == 0) {
        norm.input = use.value;
        continue;
      }
      if (!tape_.is_constant(use.value)) return false;
      *places[use.arg] = tape_.constant(use.value);
      if (places[use.arg]->dim() != 1) return false;
    }
    const Tensor& input = tape_.twin(norm.input);
    return norm.mean.defined() && norm.var.defined() && input.numel() > 0 && input.dim() >= 2 &&
           (input.dtype() == DType::float32 || input.dtype() == DType::float64);
  }

  // A new constant [channels, 1, ...] that broadcasts over everything behind the channels.
  ValueId constant(const std::vector<double>& values, DType dtype, int64_t rank) {
    Dims sizes, strides;
    for (int64_t d = 1; d < rank; ++d) {
      sizes.push_back(d == 1 ? static_cast<int64_t>(values.size()) : 1);
      strides.push_back(1);
    }
    const Tensor t = empty_strided_tensor(sizes, strides, dtype);
    convert(t.data(), dtype, values.data(), DType::float64, static_cast<int64_t>(values.size()));
    const auto block = static_cast<BlockId>(tape_.blocks.size());
    const auto value = static_cast<ValueId>(tape_.values.size());
    tape_.values.push_back({Tape::twin_of(t), block, 0});
    tape_.blocks.push_back({TapeBlock::Kind::constant, value, kNone, t});
    return value;
  }

  Tape& tape_;
  std::vector<BlockId>& sources_;
  std::vector<bool> used_;
};

}  // namespace

void expand_channel_norms(Tape& tape, std::vector<BlockId>& sources) {
  Expansion expansion(tape, sources);
  for (TapeNode& node : tape.nodes) expansion.expand(node);
}

}  // namespace sconce::executor
