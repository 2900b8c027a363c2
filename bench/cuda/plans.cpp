// sconce-bench-cuda-plans [NAME]: programs on device cuda run by plans: milliseconds of the first compile, microseconds of a call on the
// GPU's clock with a clean L2 cache (timing.h), in a queue of calls, of a call with its result waited for, and the largest difference from the same program interpreted
// there; beside them the bar and what the best of PyTorch 2.11 took on an H200 (docs/cuda.md).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/cuda/timing.h"
#include "sconce/api/jit.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/libraries/float32_precision.h"

namespace {

using namespace sconce;
using Clock = std::chrono::steady_clock;

using bench::kCuda;
using bench::median;
const char* wanted = "";

constexpr const char* kPrograms = R"(
class Chain(nn.Module):
  def forward(self, p: Tensor, q: Tensor) -> Tensor:
    return torch.relu(torch.sigmoid(p) * q + p)

class Layers(nn.Module):
  def __init__(self, count: int, width: int):
    super().__init__()
    self.layers = nn.ModuleList([nn.Linear(width, width) for i in range(count)])

  def forward(self, x: Tensor) -> Tensor:
    for layer in self.layers:
      x = torch.relu(layer(x))
    return x

class Adds(nn.Module):
  def forward(self, x: Tensor, y: Tensor) -> Tensor:
    for i in range(1000):
      x = x + y
    return x

class Softmax(nn.Module):
  def forward(self, x: Tensor, m: Tensor) -> Tensor:
    return torch.softmax(x * 0.125 + m, -1)

class Norm(nn.Module):
  def __init__(self, width: int):
    super().__init__()
    self.norm = nn.LayerNorm(width)

  def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(self.norm(x)) + y

class Attention(nn.Module):
  def __init__(self, width: int, heads: int):
    super().__init__()
    self.heads = heads
    self.projections = nn.Linear(width, 3 * width)
    self.out = nn.Linear(width, width)

  def forward(self, x: Tensor) -> Tensor:
    b, s, w = x.size(0), x.size(1), x.size(2)
    q, k, v = self.projections(x).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    p = torch.softmax(q.matmul(k.transpose(-1, -2)) * 0.125, -1)
    return self.out(p.matmul(v).transpose(1, 2).reshape(b, s, w))

class EncoderLayer(nn.Module):
  def __init__(self, width: int, heads: int):
    super().__init__()
    self.attention = Attention(width, heads)
    self.first = nn.LayerNorm(width)
    self.up = nn.Linear(width, 4 * width)
    self.down = nn.Linear(4 * width, width)
    self.second = nn.LayerNorm(width)

  def forward(self, x: Tensor) -> Tensor:
    x = self.first(x + self.attention(x))
    return self.second(x + self.down(F.gelu(self.up(x))))

class Encoder(nn.Module):
  def __init__(self, layers: int, width: int, heads: int):
    super().__init__()
    self.words = nn.Embedding(30522, width)
    self.places = nn.Embedding(512, width)
    self.norm = nn.LayerNorm(width)
    self.layers = nn.ModuleList([EncoderLayer(width, heads) for i in range(layers)])

  def forward(self, words: Tensor, places: Tensor) -> Tensor:
    x = self.norm(self.words(words) + self.places(places))
    for layer in self.layers:
      x = layer(x)
    return x

class DecoderLayer(nn.Module):
  def __init__(self, width: int, heads: int):
    super().__init__()
    self.heads = heads
    self.first = nn.LayerNorm(width)
    self.projections = nn.Linear(width, 3 * width)
    self.out = nn.Linear(width, width)
    self.second = nn.LayerNorm(width)
    self.up = nn.Linear(width, 4 * width)
    self.down = nn.Linear(4 * width, width)

  def forward(self, x: Tensor, keys: Tensor, values: Tensor):
    q, k, v = self.projections(self.first(x)).view(1, 3, self.heads, 1, -1).unbind(1)
    k = torch.cat([keys, k], 2)
    v = torch.cat([values, v], 2)
    p = torch.softmax(q.matmul(k.transpose(-1, -2)) * 0.125, -1)
    x = x + self.out(p.matmul(v).reshape(1, -1))
    return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh")), k, v

class Decoder(nn.Module):
  def __init__(self, layers: int, width: int, heads: int):
    super().__init__()
    self.words = nn.Embedding(50257, width)
    self.places = nn.Embedding(1024, width)
    self.layers = nn.ModuleList([DecoderLayer(width, heads) for i in range(layers)])
    self.norm = nn.LayerNorm(width)
    self.head = nn.Linear(width, 50257, bias=False)

  def forward(self, word: Tensor, place: Tensor, keys: Tensor, values: Tensor):
    x = self.words(word) + self.places(place)
    ks: List[Tensor] = []
    vs: List[Tensor] = []
    i = 0
    for layer in self.layers:
      x, k, v = layer(x, keys[i], values[i])
      ks.append(k)
      vs.append(v)
      i = i + 1
    return self.head(self.norm(x)), ks, vs

class Bottleneck(nn.Module):
  def __init__(self, inside: int, width: int, stride: int, changes: bool):
    super().__init__()
    self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
    self.bn1 = nn.BatchNorm2d(width)
    self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
    self.bn2 = nn.BatchNorm2d(width)
    self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
    self.bn3 = nn.BatchNorm2d(4 * width)
    self.changes = changes
    self.conv4 = nn.Conv2d(inside, 4 * width, 1, stride=stride, bias=False)
    self.bn4 = nn.BatchNorm2d(4 * width)

  def forward(self, x: Tensor) -> Tensor:
    y = torch.relu(self.bn1(self.conv1(x)))
    y = torch.relu(self.bn2(self.conv2(y)))
    y = self.bn3(self.conv3(y))
    if self.changes:
      x = self.bn4(self.conv4(x))
    return torch.relu(y + x)

class ResNet(nn.Module):
  def __init__(self):
    super().__init__()
    self.conv = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
    self.bn = nn.BatchNorm2d(64)
    self.blocks1 = nn.ModuleList([Bottleneck(256 if i > 0 else 64, 64, 1, i == 0) for i in range(3)])
    self.blocks2 = nn.ModuleList([Bottleneck(512 if i > 0 else 256, 128, 1 if i > 0 else 2, i == 0) for i in range(4)])
    self.blocks3 = nn.ModuleList([Bottleneck(1024 if i > 0 else 512, 256, 1 if i > 0 else 2, i == 0) for i in range(6)])
    self.blocks4 = nn.ModuleList([Bottleneck(2048 if i > 0 else 1024, 512, 1 if i > 0 else 2, i == 0) for i in range(3)])
    self.last = nn.Linear(2048, 1000)

  def forward(self, x: Tensor) -> Tensor:
    x = F.max_pool2d(torch.relu(self.bn(self.conv(x))), 3, 2, 1)
    for block in self.blocks1:
      x = block(x)
    for block in self.blocks2:
      x = block(x)
    for block in self.blocks3:
      x = block(x)
    for block in self.blocks4:
      x = block(x)
    return self.last(x.mean([2, 3]))
)";

void wait() { backend_of(kCuda).synchronize(kCuda); }

double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

Tensor first_tensor(const Value& v) { return v.is_tuple() ? v.to_tuple().items[0].to_tensor() : v.to_tensor(); }

void row(const char* name, double bar, double peer, const jit::Module& module, const std::vector<Value>& args) {
  if (std::strstr(name, wanted) == nullptr) return;
  const NoGrad no_gradients;
  try {
    module.to(kCuda);
    executor::set_plans_enabled(false);
    const auto host = [](const Tensor& t) { return to(to(t, Device(), t.dtype()), DType::float64); };
    auto start = Clock::now();
    const Tensor expected = host(first_tensor(module.call(args)));
    const double first = microseconds(Clock::now() - start) / 1000;
    executor::set_plans_enabled(true);
    executor::PlanRequest request;
    start = Clock::now();
    {
      const executor::PlanNow now(request);
      module.call(args);
    }
    wait();
    const double compiled = microseconds(Clock::now() - start) / 1000;
    for (int i = 0; i < 8; ++i) module.call(args);
    wait();
    const Tensor got = host(first_tensor(module.call(args)));
    const double difference = item_of(max(abs(sub(got, expected)))).to_double();
    start = Clock::now();
    module.call(args);
    wait();
    const int count = std::clamp(static_cast<int>(20000 / microseconds(Clock::now() - start)), 3, 500);
    std::vector<double> queued, alone, returned;
    for (int batch = 0; batch < 9; ++batch) {
      start = Clock::now();
      for (int i = 0; i < count; ++i) module.call(args);
      wait();
      queued.push_back(microseconds(Clock::now() - start) / count);
    }
    for (int i = 0; i < 2 * count; ++i) {
      start = Clock::now();
      module.call(args);
      returned.push_back(microseconds(Clock::now() - start));
      wait();
      alone.push_back(microseconds(Clock::now() - start));
    }
    const double gpu = bench::gpu_microseconds([&](int) { module.call(args); }, std::min(count, 51));
    const auto& outcome = request.outcomes.at(0);
    std::printf(
        "%-34s %9.1f us of the GPU %9.1f queued %9.1f waited for, %.1f on the host  (bar %g, peer %g)  %zu steps, "
        "first call "
        "%.0f, compiled in %.0f ms, off by %.2g%s\n",
        name, gpu, median(queued), median(alone), median(returned), bar, peer, outcome.plan.steps, first, compiled,
        difference, outcome.planned ? "" : (", NOT PLANNED: " + outcome.why).c_str());
  } catch (const std::exception& e) {
    std::printf("%-34s %s\n", name, e.what());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) wanted = arguments[1];
  manual_seed(1);
  jit::CompilationUnit unit(kPrograms);
  const auto up = [](const Tensor& t, DType dtype) { return to(t, kCuda, dtype); };
  const DType f32 = DType::float32, bf16 = DType::bfloat16;
  for (const DType dtype : {f32, bf16}) {
    const bool is_f32 = dtype == f32;
    const std::string suffix = is_f32 ? " f32" : " bf16";
    const auto named = [&](const char* name) { return name + suffix; };
    const auto big = [&](const std::vector<int64_t>& sizes) {
      const Tensor part = up(randn({1 << 20}), dtype);
      int64_t n = 1;
      for (const int64_t s : sizes) n *= s;
      return reshape(contiguous(expand(view(part, {1, 1 << 20}), {n >> 20, 1 << 20})), sizes);
    };
    row(named("chain 64 M").c_str(), is_f32 ? 186 : 94, is_f32 ? 185 : 92.5, unit.module("Chain"),
        {Value(big({64 << 20})), Value(big({64 << 20}))});
    row(named("softmax(x/8+m) 8192x4096").c_str(), 0, 0, unit.module("Softmax"),
        {Value(big({8192, 4096})), Value(up(randn({4096}), dtype))});
    const jit::Module norm = unit.module("Norm", 4096);
    norm.to(dtype);
    row(named("relu(layer_norm(x))+y 8192x4096").c_str(), 0, 0, norm,
        {Value(big({8192, 4096})), Value(big({8192, 4096}))});
    const jit::Module layers = unit.module("Layers", 50, 64);
    layers.to(dtype);
    row(named("MLP-50 batch 1").c_str(), 25, 159, layers, {Value(up(randn({1, 64}), dtype))});
    const jit::Module decoder = unit.module("Decoder", 12, 768, 12);
    decoder.to(dtype);
    row(named("GPT-2-small decode, context 512").c_str(), is_f32 ? 400 : 240, is_f32 ? 1141 : 494, decoder,
        {Value(up(full({1}, Scalar(17)), DType::int64)), Value(up(full({1}, Scalar(512)), DType::int64)),
         Value(up(randn({12, 1, 12, 512, 64}), dtype)), Value(up(randn({12, 1, 12, 512, 64}), dtype))});
    const jit::Module encoder = unit.module("Encoder", 12, 768, 12);
    encoder.to(dtype);
    for (const int64_t batch : {1, 32}) {
      const Tensor words = expand(view(up(arange(128), DType::int64), {1, 128}), {batch, 128});
      const double bar = batch == 1 ? (is_f32 ? 1600 : 600) : is_f32 ? 0 : 4300;
      const double peer = batch == 1 ? (is_f32 ? 1760 : 751) : is_f32 ? 18061 : 4630;
      row((std::string("BERT-base s128 b") + (batch == 1 ? "1" : "32") + suffix).c_str(), bar, peer, encoder,
          {Value(contiguous(words)), Value(contiguous(words))});
    }
  }
  // Pictures and weights channels last; float32 with TF32.
  set_convolution_tf32(true);
  set_matmul_precision(MatmulPrecision::high);
  const jit::Module pictures = unit.module("ResNet");
  pictures.eval();
  for (const DType dtype : {f32, bf16}) {
    const bool is_f32 = dtype == f32;
    pictures.to(dtype);
    pictures.to(kCuda);
    const NoGrad no_gradients;
    for (const Tensor& parameter : pictures.parameters()) {
      if (parameter.dim() == 4) set_data(parameter, contiguous(parameter, MemoryFormat::channels_last));
    }
    for (const int64_t batch : {1, 64}) {
      const std::string name = fmt::format("ResNet-50 b{} {}", batch, is_f32 ? "tf32" : "bf16");
      row(name.c_str(),
          batch == 1 ? (is_f32 ? 560 : 460)
          : is_f32   ? 4600
                     : 3000,
          batch == 1 ? (is_f32 ? 584 : 484)
          : is_f32   ? 4751
                     : 3132,
          pictures, {Value(contiguous(up(randn({batch, 3, 224, 224}), dtype), MemoryFormat::channels_last))});
    }
  }
  set_convolution_tf32(false);
  set_matmul_precision(MatmulPrecision::highest);
  row("1,000 adds of 8 floats", 550, 1130, unit.module("Adds"),
      {Value(up(randn({8}), f32)), Value(up(randn({8}), f32))});
  return 0;
}
