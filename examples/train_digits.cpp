// Trains a small convolutional net to read digits, without Python, and saves it as a file that PyTorch loads.
//
//   train_digits [--images N] [--epochs N] [--save FILE.pt] [--save-optimizer FILE.pth]
//                [--test-set FILE.npz] [--expect PERCENT]
//
// The digits are drawn by this program (digit_images.h), so there is nothing to download. The net is text in the script
// language; the loop around it is C++.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "digit_images.h"
#include "sconce/api/jit.h"
#include "sconce/api/optim.h"
#include "sconce/serialization/tensors/tensor_files.h"

using namespace sconce;

constexpr const char* kNet = R"py(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.dropout = nn.Dropout(0.25)
        self.head = nn.Linear(32 * 5 * 5, 10)

    def forward(self, x):
        x = self.features(x)
        return self.head(self.dropout(torch.flatten(x, 1)))
)py";

constexpr int64_t kBatch = 50;

struct Arguments {
  int64_t images = 6000, epochs = 5;
  std::string save, test_set, save_optimizer;
  double expect = 0;
};

Arguments parse(int count, char** words) {
  Arguments a;
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    SCONCE_CHECK(i + 1 < count, "{} needs a value", name);
    const char* value = words[i + 1];
    if (name == "--images") {
      a.images = std::atoll(value);
    } else if (name == "--epochs") {
      a.epochs = std::atoll(value);
    } else if (name == "--save") {
      a.save = value;
    } else if (name == "--save-optimizer") {
      a.save_optimizer = value;
    } else if (name == "--test-set") {
      a.test_set = value;
    } else if (name == "--expect") {
      a.expect = std::atof(value);
    } else {
      fail("unknown argument {}", name);
    }
  }
  SCONCE_CHECK(a.images >= kBatch && a.epochs >= 1, "at least {} images and 1 epoch are needed", kBatch);
  return a;
}

// Percent of the images whose largest score is that of their digit.
double accuracy(const jit::Module& net, const DigitImages& set) {
  const NoGrad quiet;
  const bool training = net.is_training();
  net.eval();
  int64_t right = 0;
  for (int64_t at = 0; at < set.images.size(0); at += 500) {
    const int64_t n = std::min<int64_t>(500, set.images.size(0) - at);
    const Tensor scores = net(set.images.narrow(0, at, n)).to_tensor();
    right += scores.argmax(1).eq(set.labels.narrow(0, at, n)).sum().item().to_int();
  }
  net.train(training);
  return 100.0 * static_cast<double>(right) / static_cast<double>(set.images.size(0));
}

int main(int count, char** words) try {
  const Arguments arguments = parse(count, words);
  const int64_t steps = arguments.images / kBatch;
  const auto begin = std::chrono::steady_clock::now();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  manual_seed(0);

  const DigitImages training = draw_digits(arguments.images, 1), held_out = draw_digits(2000, 2);
  auto unit = jit::compile(kNet);
  jit::Module net = unit.module("Net");
  optim::AdamW optimizer(net.parameters(), {{"weight_decay", 0.01}});
  optim::OneCycleLR schedule(optimizer, {{"max_lr", 0.01}, {"total_steps", arguments.epochs * steps}});

  for (int64_t epoch = 0; epoch < arguments.epochs; ++epoch) {
    const Tensor order = randperm(training.images.size(0));
    double total = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const Tensor chosen = order.narrow(0, step * kBatch, kBatch);
      const Tensor x = training.images.index_select(0, chosen), y = training.labels.index_select(0, chosen);
      optimizer.zero_grad();
      const Tensor loss = cross_entropy_loss(net(x).to_tensor(), y);
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 5);
      optimizer.step();
      schedule.step();
      total += loss.item().to_double();
      if (terminal && step % 10 == 0) {
        std::printf("\repoch %d: step %d of %d, loss %.3f ", int(epoch + 1), int(step + 1), int(steps),
                    total / static_cast<double>(step + 1));
        std::fflush(stdout);
      }
    }
    std::printf("%sepoch %d: loss %.3f, %.1f %% of held-out digits read\n", terminal ? "\r\033[K" : "", int(epoch + 1),
                total / static_cast<double>(steps), accuracy(net, held_out));
  }

  const double percent = accuracy(net.eval(), held_out);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.2f %% after %.0f seconds\n", percent, seconds.count());
  if (!arguments.save.empty()) {
    net.save(arguments.save, {{"accuracy.txt", std::to_string(percent)}});
    std::printf("saved as %s\n", arguments.save.c_str());
  }
  if (!arguments.test_set.empty()) {
    write_npz(arguments.test_set, {{"images", held_out.images}, {"labels", held_out.labels}});
  }
  if (!arguments.save_optimizer.empty()) write_pickled(arguments.save_optimizer, optimizer.state_dict());
  if (percent < arguments.expect) {
    std::printf("expected at least %g %%\n", arguments.expect);
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
