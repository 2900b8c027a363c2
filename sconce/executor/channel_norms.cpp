#include "sconce/executor/channel_norms.h"

#include <cmath>

#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/probe.h"
#include "sconce/kernels/any/layers/channel_factors.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::executor {
namespace {

SCONCE_VARIANT(expanded_norm, "plan.channel_norm", "a batch norm with constant statistics, as scale and shift");

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

  void expand_all() {
    std::vector<TapeNode> nodes;
    for (TapeNode& node : tape_.nodes) {
      if (!expanded_norm(expand(node, nodes))) nodes.push_back(std::move(node));
    }
    tape_.nodes = std::move(nodes);
    for (NodeId n = 0; n < tape_.nodes.size(); ++n) {
      for (const ValueId r : tape_.nodes[n].results) {
        if (r == kNone) continue;
        TapeBlock& block = tape_.blocks[tape_.block_of(r)];
        if (block.first == r && block.kind == TapeBlock::Kind::made) block.maker = n;
      }
    }
  }

 private:
  bool expand(const TapeNode& node, std::vector<TapeNode>& nodes) {
    Norm norm;
    if (!read(node, norm)) return false;
    static const Op* const addcmul = find_op("aten::addcmul");
    static const Op* const conversion = find_op("aten::to.dtype");
    const DType dtype = tape_.twin(norm.input).dtype();
    const int64_t rank = tape_.twin(norm.input).dim();
    const size_t values = tape_.values.size(), blocks = tape_.blocks.size();
    const auto [scale, shift] = is_on_host() ? factors_of_host(norm) : factors_of_device(norm);
    TapeNode made;
    made.op = addcmul;
    made.site = node.site;
    made.args = {Value(), Value(), Value(), Value(int64_t{1})};
    made.uses = {{0, -1, constant(shift, rank)}, {1, -1, norm.input}, {2, -1, constant(scale, rank)}};
    made.result_sizes = {kNone};
    made.results = {node.results[0]};
    std::vector<Value> results;
    bool fits = probe(tape_, made, results) && made.pointwise;
    TapeNode converted;
    if (fits && shift.dtype() != dtype) {
      made.results = {result(results[0].to_tensor())};
      converted.op = conversion;
      converted.site = node.site;
      converted.args = {Value(), Value(dtype), Value(false), Value(false), Value()};
      converted.uses = {{0, -1, made.results[0]}};
      converted.result_sizes = {kNone};
      converted.results = {node.results[0]};
      fits = probe(tape_, converted, results);
    }
    if (!fits || !same_geometry(results[0].to_tensor(), tape_.twin(node.results[0]))) {
      tape_.values.resize(values);
      tape_.blocks.resize(blocks);
      return false;
    }
    for (const TensorUse& use : node.uses) {
      if (use.arg != 0) sources_.push_back(tape_.block_of(use.value));
    }
    nodes.push_back(std::move(made));
    if (converted.op) nodes.push_back(std::move(converted));
    return true;
  }

  bool is_on_host() const { return tape_.device.type == DeviceType::cpu; }

  // As kernels/cpu/norm/batch_norm.cpp computes them.
  ChannelFactors factors_of_host(const Norm& norm) const {
    const Tensor& input = tape_.twin(norm.input);
    const int64_t channels = input.size(1);
    std::vector<double> scale = doubles(norm.weight, channels, 1), shift = doubles(norm.bias, channels, 0);
    const std::vector<double> mean = doubles(norm.mean, channels, 0), var = doubles(norm.var, channels, 1);
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= 1 / std::sqrt(var[c] + norm.eps);
      shift[c] -= mean[c] * scale[c];
    }
    const auto of = [&](const std::vector<double>& numbers) {
      const Tensor t = empty_tensor({channels}, input.dtype());
      convert(t.data(), t.dtype(), numbers.data(), DType::float64, channels);
      return t;
    };
    return {of(scale), of(shift)};
  }
  // As kernels of devices do.
  ChannelFactors factors_of_device(const Norm& norm) const {
    const NoGrad without_gradients;
    const DType compute = norm_dtype(tape_.twin(norm.input).dtype());
    return channel_factors(in_compute(norm.mean, compute), inverse_deviation(in_compute(norm.var, compute), norm.eps),
                           in_compute(norm.weight, compute), in_compute(norm.bias, compute));
  }

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
           (input.dtype() == DType::float32 || input.dtype() == DType::float64 ||
            (!is_on_host() && is_reduced_float(input.dtype())));
  }

  // A new constant [channels, 1, ...] that broadcasts over everything behind the channels of the input.
  ValueId constant(const Tensor& channels, int64_t rank) {
    Dims sizes, strides;
    for (int64_t d = 1; d < rank; ++d) {
      sizes.push_back(d == 1 ? channels.numel() : 1);
      strides.push_back(1);
    }
    const Tensor t = make_view(channels, sizes, strides, channels.storage_offset());
    return add(t, {TapeBlock::Kind::constant, kNone, kNone, t});
  }
  // A tensor between the nodes.
  ValueId result(const Tensor& twin) { return add(twin, {TapeBlock::Kind::made, kNone, kNone, {}}); }
  ValueId add(const Tensor& t, TapeBlock block) {
    const auto value = static_cast<ValueId>(tape_.values.size());
    block.first = value;
    tape_.values.push_back({Tape::twin_of(t), static_cast<BlockId>(tape_.blocks.size()), 0, tape_.device});
    tape_.blocks.push_back(std::move(block));
    return value;
  }

  Tape& tape_;
  std::vector<BlockId>& sources_;
  std::vector<bool> used_;
};

}  // namespace

void expand_channel_norms(Tape& tape, std::vector<BlockId>& sources) { Expansion(tape, sources).expand_all(); }

}  // namespace sconce::executor
