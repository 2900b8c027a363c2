#include "bench/rows/inputs.h"
#include "bench/rows/training.h"
#include "sconce/ops.h"

namespace sconce::bench {
namespace {

// ResNet-18 on 8 images of 64 x 64 pixels.
class Resnet final : public TrainingModel {
 public:
  Resnet() : input_(uniform({8, 3, 64, 64}, 101)), target_(index({8}, 102, 1000)), stem_(conv(3, 64, 7, 2)) {
    const int64_t widths[] = {64, 64, 128, 256, 512};
    for (int stage = 1; stage <= 4; ++stage) {
      for (int i = 0; i < 2; ++i) {
        const int64_t in = widths[i == 0 ? stage - 1 : stage], out = widths[stage],
                      stride = stage > 1 && i == 0 ? 2 : 1;
        Block b;
        b.first = conv(in, out, 3, stride);
        b.second = conv(out, out, 3, 1);
        if (stride != 1) b.shortcut = conv(in, out, 1, stride);
        blocks_.push_back(b);
      }
    }
    weight_ = weight({1000, 512});
    bias_ = constant({1000}, 0);
  }
  Tensor loss() override {
    Tensor x = max_pool2d(relu(run(stem_, input_)), {3, 3}, {2, 2}, {1, 1});
    for (const Block& b : blocks_) {
      const Tensor y = run(b.second, relu(run(b.first, x)));
      x = relu(sconce::add(y, b.shortcut.weight.defined() ? run(b.shortcut, x) : x));
    }
    return cross_entropy_loss(linear(flatten(adaptive_avg_pool2d(x, {1, 1}), 1), weight_, bias_), target_);
  }

 private:
  struct Conv {
    Tensor weight, scale, shift, mean, var;
    int64_t stride = 1;
  };
  struct Block {
    Conv first, second, shortcut;
  };
  Conv conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    Conv c;
    c.weight = weight({out, in, kernel, kernel});
    c.scale = constant({out}, 1);
    c.shift = constant({out}, 0);
    c.mean = zeros({out});
    c.var = ones({out});
    c.stride = stride;
    return c;
  }
  static Tensor run(const Conv& c, const Tensor& x) {
    const int64_t padding = c.weight.size(2) / 2;
    const Tensor y = conv2d(x, c.weight, {}, {c.stride, c.stride}, {padding, padding});
    return batch_norm(y, c.scale, c.shift, c.mean, c.var, true, 0.1, 1e-5, false);
  }

  Tensor input_, target_;
  Conv stem_;
  std::vector<Block> blocks_;
  Tensor weight_, bias_;
};

}  // namespace

std::unique_ptr<TrainingModel> resnet18() { return std::make_unique<Resnet>(); }

}  // namespace sconce::bench
