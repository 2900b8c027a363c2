#include "sconce/loops/batch_norm_calls.h"

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"

namespace sconce::loops {
namespace {

bool is_usual_float(DType t) {
  return t == DType::float32 || t == DType::float64 || t == DType::float16 || t == DType::bfloat16;
}

class Appender {
 public:
  Appender(FuseGraph& graph, std::deque<LoopCall>& calls, std::vector<std::pair<int32_t, int32_t>>& views)
      : graph_(graph), calls_(calls), views_(views) {}

  void run(const BatchNorm& norm) {
    const GraphValue input = graph_.values[norm.input];
    per_channel_.push_back(input.sizes[1]);
    for (size_t d = 2; d < input.sizes.size(); ++d) per_channel_.push_back(1);
    const DType wide = DType::float64, compute = input.dtype == wide ? wide : DType::float32;

    const int32_t var = converted(channel(norm.running_var), wide);
    const int32_t mean = converted(channel(norm.running_mean), wide);
    int32_t scale = call("aten::reciprocal", {call("aten::sqrt", {call("aten::add.Scalar", {var}, {norm.eps, 1})})});
    if (norm.weight >= 0) scale = call("aten::mul.Tensor", {converted(channel(norm.weight), wide), scale});
    const int32_t product = call("aten::mul.Tensor", {mean, scale});
    const int32_t shift = norm.bias >= 0 ? call("aten::sub.Tensor", {converted(channel(norm.bias), wide), product}, {1})
                                         : call("aten::rsub.Scalar", {product}, {0, 1});
    const bool rounds = input.dtype != compute;
    const int32_t x = rounds ? converted(norm.input, compute) : norm.input;
    const int32_t to = rounds ? new_value(compute, input.sizes) : norm.output;
    if (rounds) graph_.values[x].strides = graph_.values[to].strides = Dims(graph_.values[norm.output].strides);
    add("aten::addcmul", compute, {converted(shift, compute), x, converted(scale, compute)}, {1}, to);
    if (rounds) convert(to, norm.output);
    graph_.nodes.back().visible = norm.visible;
  }

 private:
  int32_t new_value(DType dtype, const Dims& sizes) {
    GraphValue v{dtype, sizes, Dims(sizes.size())};
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) v.strides[d] = stride;
    graph_.values.push_back(v);
    return static_cast<int32_t>(graph_.values.size() - 1);
  }

  // [C] seen as [C, 1, 1].
  int32_t channel(int32_t value) {
    const GraphValue given = graph_.values[value];
    GraphValue seen{given.dtype, per_channel_, Dims(per_channel_.size(), 0)};
    seen.strides[0] = given.strides.empty() ? 1 : given.strides.back();
    graph_.values.push_back(seen);
    const auto number = static_cast<int32_t>(graph_.values.size() - 1);
    views_.emplace_back(number, value);
    return number;
  }

  int32_t converted(int32_t value, DType to) {
    if (graph_.values[value].dtype == to) return value;
    const int32_t out = new_value(to, Dims(graph_.values[value].sizes));
    convert(value, out);
    return out;
  }
  void convert(int32_t from, int32_t to) {
    calls_.push_back(make_conversion(graph_.values[to].dtype));
    add_node({from}, to);
  }

  // One number for each channel, in float64.
  int32_t call(const char* name, std::initializer_list<int32_t> in, std::initializer_list<double> numbers = {}) {
    const int32_t out = new_value(DType::float64, per_channel_);
    add(name, DType::float64, in, numbers, out);
    return out;
  }
  void add(const char* name, DType compute, std::initializer_list<int32_t> in, std::initializer_list<double> numbers,
           int32_t out) {
    const Op* op = find_op(name);
    SCONCE_ASSERT(op != nullptr);
    const auto cases = op->info.entry->pointwise();
    LoopCall call = make_call(*op, *cases[cases.size() - 1].loops, compute, compute);
    for (const double x : numbers) call.params.push_back(Param::from_float(x));
    calls_.push_back(call);
    add_node(in, out);
  }
  void add_node(std::initializer_list<int32_t> in, int32_t out) {
    GraphNode node;
    node.call = &calls_.back();
    for (const int32_t v : in) node.inputs.push_back(v);
    node.outputs.push_back(out);
    graph_.nodes.push_back(node);
  }

  FuseGraph& graph_;
  std::deque<LoopCall>& calls_;
  std::vector<std::pair<int32_t, int32_t>>& views_;
  Dims per_channel_;
};

}  // namespace

bool can_append(const FuseGraph& graph, const BatchNorm& norm) {
  const GraphValue& input = graph.values[norm.input];
  if (input.sizes.size() < 2 || norm.running_mean < 0 || norm.running_var < 0) return false;
  if (!is_usual_float(input.dtype) || graph.values[norm.output].dtype != input.dtype) return false;
  for (const int32_t v : {norm.weight, norm.bias, norm.running_mean, norm.running_var}) {
    if (v < 0) continue;
    const GraphValue& value = graph.values[v];
    if (!is_usual_float(value.dtype) || value.sizes.size() != 1 || value.sizes[0] != input.sizes[1]) return false;
  }
  return true;
}

void append_batch_norm(FuseGraph& graph, std::deque<LoopCall>& calls, const BatchNorm& norm,
                       std::vector<std::pair<int32_t, int32_t>>& views) {
  SCONCE_CHECK(can_append(graph, norm),
               "append_batch_norm: the input of {} and sizes {} needs floats, and one number for each channel",
               dtype_name(graph.values[norm.input].dtype), IntList(graph.values[norm.input].sizes));
  Appender(graph, calls, views).run(norm);
}

}  // namespace sconce::loops
