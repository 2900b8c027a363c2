#include "bench/rows/inputs.h"
#include "bench/rows/training.h"
#include "sconce/ops.h"

namespace sconce::bench {
namespace {

class SmallCnn final : public TrainingModel {
 public:
  explicit SmallCnn(MemoryFormat format)
      : input_(uniform({32, 3, 32, 32}, 101).contiguous(format)), target_(index({32}, 102, 10)), format_(format) {
    first_ = block(3, 32);
    second_ = block(32, 64);
    third_ = block(64, 128);
    weight_ = weight({10, 128});
    bias_ = constant({10}, 0);
  }
  Tensor loss() override {
    Tensor x = run(second_, run(first_, input_, 1), 1);
    x = run(third_, max_pool2d(x, {2, 2}), 2);
    x = flatten(adaptive_avg_pool2d(x, {1, 1}), 1);
    return cross_entropy_loss(linear(x, weight_, bias_), target_);
  }

 private:
  struct Block {
    Tensor weight, bias, scale, shift, mean, var;
  };
  Block block(int64_t in, int64_t out) {
    Block b;
    b.weight = weight({out, in, 3, 3}, format_);
    b.bias = constant({out}, 0);
    b.scale = constant({out}, 1);
    b.shift = constant({out}, 0);
    b.mean = zeros({out});
    b.var = ones({out});
    return b;
  }
  static Tensor run(const Block& b, const Tensor& x, int64_t stride) {
    const Tensor y = conv2d(x, b.weight, b.bias, {stride, stride}, {1, 1});
    return relu(batch_norm(y, b.scale, b.shift, b.mean, b.var, true, 0.1, 1e-5, false));
  }

  Tensor input_, target_;
  MemoryFormat format_;
  Block first_, second_, third_;
  Tensor weight_, bias_;
};

}  // namespace

std::unique_ptr<TrainingModel> small_cnn(MemoryFormat format) { return std::make_unique<SmallCnn>(format); }

}  // namespace sconce::bench
