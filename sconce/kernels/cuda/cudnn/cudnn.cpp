#include "sconce/kernels/cuda/cudnn/cudnn.h"

#include <cmath>
#include <limits>

#include "sconce/kernels/cuda/cudnn/dnn_graph.h"
#include "sconce/tensor/libraries/float32_precision.h"

namespace sconce::cuda {
namespace {

using namespace dnn;

void append(std::vector<int64_t>& key, const Tensor& t) {
  key.push_back(static_cast<int64_t>(t.dtype()));
  for (const IntList list : {t.sizes(), t.strides()}) key.insert(key.end(), list.begin(), list.end());
}

bool is_aligned(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; }

// --- convolution ----------------------------------------------------------------------------------------------------

// Sizes and strides with at least two spatial dimensions.
TensorSides sides_of(const Tensor& t) {
  TensorSides s{t.sizes().vec(), t.strides().vec()};
  if (t.dim() == 3) {
    s.sizes.insert(s.sizes.begin() + 2, 1);
    s.strides.insert(s.strides.begin() + 2, s.strides[2] * s.sizes[3]);
  }
  return s;
}
std::vector<int64_t> numbers_of(IntList given, size_t rank, int64_t beside) {
  std::vector<int64_t> all = given.vec();
  if (all.size() == 1) all.resize(std::max<size_t>(rank, 1), all[0]);
  if (all.size() == 1) all.insert(all.begin(), beside);
  return all;
}

void describe_convolution(GraphParts& graph, const ConvolutionCall& call) {
  const auto rank = static_cast<size_t>(call.x->dim() - 2);
  const int type = type_of(call.x->dtype());
  const Made &x = graph.tensor(1, type, sides_of(*call.x)), &w = graph.tensor(2, type, sides_of(*call.w)),
             &y = graph.tensor(3, type, sides_of(*call.y));
  const std::vector<int64_t> strides = numbers_of(call.stride, rank, 1), pads = numbers_of(call.padding, rank, 0),
                             dilations = numbers_of(call.dilation, rank, 1);
  const auto spatial = static_cast<int64_t>(strides.size());
  constexpr int kCrossCorrelation = 1;
  Made& convolution = graph.make(kConvolution);
  convolution.set(100, kIsDataType, 1, &kSingle).set(101, kIsConvolutionMode, 1, &kCrossCorrelation);
  convolution.set(106, kIsInteger, 1, &spatial).set_integers(102, dilations).set_integers(103, strides);
  convolution.set_integers(104, pads).set_integers(105, pads);
  if (!convolution.finish()) return graph.refuse();
  // Of each kind: the descriptor and the first of its attributes: alpha, beta, convolution, w, x, y.
  const bool forward = call.product == ConvolutionProduct::places, of_image = call.product == ConvolutionProduct::image;
  const int first = forward ? 700 : of_image ? 706 : 712;
  const float one = 1, none = 0;
  Made& operation = graph.make(forward ? kForward : of_image ? kOfImage : kOfWeight);
  operation.set(first, kIsFloat, 1, &one).set(first + 1, kIsFloat, 1, &none).set(first + 2, convolution);
  operation.set(first + 3, w).set(first + 4, x).set(first + 5, y);
  graph.operation(operation);
}

// --- attention ------------------------------------------------------------------------------------------------------

// cudnnPointwiseMode_t, cudnnReduceTensorOp_t
constexpr int kAdd = 0, kMultiply = 1, kDivide = 6, kSubtract = 9, kExp = 13, kLog = 15, kNotLess = 303, kIndex = 501,
              kSelect = 601, kSum = 0, kLargest = 3;
// Tensors with memory.
constexpr int64_t kQuery = 1, kKey = 2, kValue = 3, kOut = 4, kLevel = 5, kScale = 6, kLowest = 7;

// Scores, their softmax row by row with its level, products with values: what cuDNN's engines of attention recognise.
void describe_attention(GraphParts& graph, const AttentionCall& call) {
  const Tensor &q = *call.query, &k = *call.key, &v = *call.value;
  const int type = type_of(q.dtype());
  const int64_t b = q.size(0), h = q.size(1), n = q.size(2), m = k.size(2);
  const TensorSides scores{{b, h, n, m}, {h * n * m, n * m, m, 1}}, rows{{b, h, n, 1}, {h * n, n, 1, 1}};
  TensorSides level{rows.sizes, call.level->strides().vec()};
  level.strides.push_back(1);
  TensorSides turned = {k.sizes().vec(), k.strides().vec()};  // keys, transposed
  std::swap(turned.sizes[2], turned.sizes[3]);
  std::swap(turned.strides[2], turned.strides[3]);
  const Made& query = graph.tensor(kQuery, type, {q.sizes().vec(), q.strides().vec()});
  const Made& key = graph.tensor(kKey, type, turned);
  const Made& products = graph.inner(kSingle, scores);
  graph.product(query, key, products);
  const Made* at = &graph.inner(kSingle, scores);
  graph.pointwise(kMultiply, products, &graph.number(kScale), *at);
  if (call.is_causal) {
    const Made &row = graph.inner(kInt32, scores), &column = graph.inner(kInt32, scores),
               &shown = graph.inner(kBool, scores), &left = graph.inner(kSingle, scores);
    graph.pointwise(kIndex, *at, nullptr, row, nullptr, kInt32, 2);
    graph.pointwise(kIndex, *at, nullptr, column, nullptr, kInt32, 3);
    graph.pointwise(kNotLess, row, &column, shown, nullptr, kBool);
    graph.pointwise(kSelect, *at, &graph.number(kLowest), left, &shown);
    at = &left;
  }
  const Made &largest = graph.inner(kSingle, rows), &below = graph.inner(kSingle, scores),
             &powers = graph.inner(kSingle, scores), &total = graph.inner(kSingle, rows),
             &logarithm = graph.inner(kSingle, rows), &weights = graph.inner(type, scores);
  graph.reduction(kLargest, *at, largest);
  graph.pointwise(kSubtract, *at, &largest, below);
  graph.pointwise(kExp, below, nullptr, powers);
  graph.reduction(kSum, powers, total);
  graph.pointwise(kLog, total, nullptr, logarithm);
  graph.pointwise(kAdd, largest, &logarithm, graph.tensor(kLevel, kSingle, level));
  graph.pointwise(kDivide, powers, &total, weights);
  graph.product(weights, graph.tensor(kValue, type, {v.sizes().vec(), v.strides().vec()}),
                graph.tensor(kOut, type, {call.out->sizes().vec(), call.out->strides().vec()}));
}

}  // namespace

bool may_convolve(DType dtype) { return is_reduced_float(dtype) || (dtype == DType::float32 && convolution_tf32()); }

bool convolve_by_cudnn(const ConvolutionCall& call) {
  const DType dtype = call.x->dtype();
  if (!may_convolve(dtype) || call.w->dtype() != dtype || call.y->dtype() != dtype) return false;
  std::vector<int64_t> key = {0, static_cast<int64_t>(call.product)};
  for (const Tensor* t : {call.x, call.w, call.y}) {
    if (t->numel() == 0 || t->dim() < 3 || t->dim() > 5 || !is_aligned(*t)) return false;
    append(key, *t);
  }
  for (const IntList list : {call.stride, call.padding, call.dilation}) {
    key.push_back(static_cast<int64_t>(list.size()));
    key.insert(key.end(), list.begin(), list.end());
  }
  return run_graph(
      call.x->device(), key, [&](GraphParts& graph) { describe_convolution(graph, call); },
      {{1, 2, 3}, {call.x->data(), call.w->data(), call.y->data()}}, "convolution");
}

bool attend_by_cudnn(const AttentionCall& call) {
  if (!serves_attention()) return false;
  std::vector<int64_t> key = {1, call.is_causal};
  for (const Tensor* t : {call.query, call.key, call.value, call.out}) {
    if (t->stride(3) != 1 || !is_aligned(*t)) return false;
    append(key, *t);
  }
  append(key, *call.level);
  float scale = static_cast<float>(call.scale), lowest = std::numeric_limits<float>::lowest();
  Memory memory{
      {kQuery, kKey, kValue, kOut, kLevel, kScale},
      {call.query->data(), call.key->data(), call.value->data(), call.out->data(), call.level->data(), &scale}};
  if (call.is_causal) {
    memory.ids.push_back(kLowest);
    memory.data.push_back(&lowest);
  }
  return run_graph(
      call.query->device(), key, [&](GraphParts& graph) { describe_attention(graph, call); }, memory,
      "scaled_dot_product_attention");
}

std::string cudnn_version() { return version(); }

}  // namespace sconce::cuda
