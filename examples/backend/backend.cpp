// A graph backend, in one file: chains of pointwise operators on float32 tensors of one size become one loop. Build it
// as a shared library against libsconce, load it and choose it (docs/backends.md):
//
//   sconce::load_library("backend.so");
//   sconce::executor::set_backend("tile_loop");
#include <algorithm>
#include <map>
#include <unordered_map>

#include "sconce/dispatch/library.h"
#include "sconce/executor/graph_backend.h"
#include "sconce/types/tensor_facts.h"

using namespace sconce;

namespace {

constexpr int64_t kTile = 512;  // elements that go through all operators while they are in the cache

using Loop = void (*)(const float* a, const float* b, float* out);
template <class F>
void loop(const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < kTile; ++i) out[i] = F()(a[i], b[i]);
}
struct Add {
  float operator()(float a, float b) const { return a + b; }
};
struct Sub {
  float operator()(float a, float b) const { return a - b; }
};
struct Mul {
  float operator()(float a, float b) const { return a * b; }
};
struct Neg {
  float operator()(float a, float) const { return -a; }
};
struct Relu {
  float operator()(float a, float) const { return a < 0 ? 0 : a; }  // NaN stays
};

// Operators by name. The second operand of a binary one is a tensor or a number; add and sub have a third, which is 1.
const std::map<std::string, Loop> kLoops{
    {"aten::add.Tensor", loop<Add>}, {"aten::add.Scalar", loop<Add>}, {"aten::sub.Tensor", loop<Sub>},
    {"aten::sub.Scalar", loop<Sub>}, {"aten::mul.Tensor", loop<Mul>}, {"aten::mul.Scalar", loop<Mul>},
    {"aten::neg", loop<Neg>},        {"aten::relu", loop<Relu>},
};

// Tiles of all values: inputs first, then one for each number and each result.
struct Instruction {
  Loop loop;
  size_t a, b, out;
};
class TileLoop final : public executor::Callable {
 public:
  explicit TileLoop(const ir::Graph& graph) : inputs_(graph.inputs().size()) {
    std::unordered_map<const ir::Value*, size_t> tile;
    for (const ir::Value* v : graph.inputs()) tile[v] = tiles_++;
    for (const ir::Node* node : graph.nodes()) {
      tile[node->output()] = tiles_++;
      if (node->is(ir::kind::Constant)) {
        const Value v = ir::constant_value(node->output()).value();
        numbers_.push_back({tile[node->output()], v.is_number() ? static_cast<float>(v.to_scalar().to_double()) : 0});
        continue;
      }
      const ir::Value *a = node->input(0), *b = node->inputs().size() > 1 ? node->input(1) : a;
      code_.push_back({kLoops.at(node->op()->qualified_name()), tile.at(a), tile.at(b), tile.at(node->output())});
    }
    for (const ir::Value* v : graph.outputs()) outputs_.push_back(tile.at(v));
  }

  void run(std::span<const Tensor> in, std::span<Tensor> out) const override {
    std::vector<float> tiles(tiles_ * kTile);
    const auto at = [&](size_t tile) { return tiles.data() + tile * kTile; };
    for (const auto& [tile, number] : numbers_) std::fill_n(at(tile), kTile, number);
    for (int64_t i = 0; i < out[0].numel(); i += kTile) {
      const int64_t count = std::min(kTile, out[0].numel() - i);
      for (size_t k = 0; k < inputs_; ++k) std::copy_n(in[k].data<float>() + i, count, at(k));
      for (const Instruction& code : code_) code.loop(at(code.a), at(code.b), at(code.out));
      for (size_t k = 0; k < outputs_.size(); ++k) std::copy_n(at(outputs_[k]), count, out[k].data<float>() + i);
    }
  }

 private:
  size_t inputs_, tiles_ = 0;
  std::vector<std::pair<size_t, float>> numbers_;
  std::vector<Instruction> code_;
  std::vector<size_t> outputs_;
};

class TileLoops final : public executor::GraphBackend {
 public:
  std::string name() const override { return "tile_loop"; }

  bool takes(const ir::Node& node) override {
    if (!kLoops.contains(node.op()->qualified_name())) return false;
    const TensorFacts& result = *node.output()->type()->tensor_facts();
    if (result.dtype != DType::float32 || !is_contiguous(result)) return false;
    for (const ir::Value* v : node.inputs()) {
      if (v->type()->is(TypeKind::tensor) && *v->type()->tensor_facts() != result) return false;
    }
    return node.inputs().size() < 3 || ir::constant_value(node.input(2))->to_scalar().equals(1);
  }

  std::shared_ptr<const executor::Callable> compile(const executor::Subgraph& part) override {
    return std::make_shared<TileLoop>(*part.graph);
  }

 private:
  static bool is_contiguous(const TensorFacts& t) {
    int64_t stride = 1;
    for (size_t d = t.sizes->size(); d-- > 0; stride *= (*t.sizes)[d]) {
      if ((*t.sizes)[d] != 1 && (*t.strides)[d] != stride) return false;
    }
    return true;
  }
};

}  // namespace

SCONCE_LIBRARY(tile_loop, m) { executor::register_backend(std::make_shared<TileLoops>()); }
