// sconce-bench-cuda [NAME]: rows of kernels on device cuda, microseconds each, beside what PyTorch 2.11 took on an H200
// (eager or compiled, whichever is quicker). The first figure is the time on the GPU's clock with a clean L2 cache
// (timing.h), which the bar is for; the second, in a queue of runs, wall time: the median of nine batches, with tensors
// that are larger than the L2 cache, or turn by turn others.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/cuda/timing.h"
#include "sconce/ops.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/libraries/float32_precision.h"

namespace {

using namespace sconce;

using bench::kCuda;

void wait() { backend_of(kCuda).synchronize(kCuda); }

double measure(const std::function<void(int)>& run) {
  using Clock = std::chrono::steady_clock;
  run(0);
  run(1);
  wait();
  auto start = Clock::now();
  for (int i = 0; i < 4; ++i) run(i);
  wait();
  const double once = std::chrono::duration<double>(Clock::now() - start).count() / 4;
  const int count = std::clamp(static_cast<int>(0.01 / once), 3, 200);
  std::vector<double> times;
  for (int batch = 0; batch < 9; ++batch) {
    start = Clock::now();
    for (int i = 0; i < count; ++i) run(i);
    wait();
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count() / count);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4] * 1e6;
}

const char* wanted = "";

// Microseconds of the host for launching a kernel that does nothing, by the driver alone: what an operator cannot be under.
double launch_alone() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return 0;
  const auto find = [&]<class F>(F*& to, const char* name) {
    to = reinterpret_cast<F*>(::dlsym(library, name));
    return to != nullptr;
  };
  int (*load)(void**, const void*) = nullptr, (*entry)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) =
      nullptr;
  constexpr const char* kText =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry nothing(.param .align 8 .b8 a[256]) { ret; }\n";
  int (*make_stream)(void**, unsigned) = nullptr;
  void *module = nullptr, *function = nullptr, *stream = nullptr;
  if (!find(make_stream, "cuStreamCreate") || make_stream(&stream, 1) != 0 || !find(load, "cuModuleLoadData") ||
      !find(entry, "cuModuleGetFunction") || !find(launch, "cuLaunchKernel") || load(&module, kText) != 0 ||
      entry(&function, module, "nothing") != 0)
    return 0;
  char argument[256] = {};
  void* arguments[] = {argument};
  return measure([&](int) { launch(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr); });
}

void row(const char* name, double bar, const std::function<std::function<void(int)>()>& prepare, bool by_wall = false) {
  if (std::strstr(name, wanted) == nullptr) return;
  try {
    const std::function<void(int)> run = prepare();
    // On a GPU that has rested: half a second of products lowers its clocks, by a sixth for those on tensor cores.
    run(0);
    wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double us = by_wall ? 0 : bench::gpu_microseconds(run, 51), queued = measure(run);
    const double counts = by_wall ? queued : us;
    std::printf("%-44s %9.1f us %9.1f queued   bar %7.1f   %s\n", name, counts, queued, bar,
                bar == 0        ? ""
                : counts <= bar ? "ok"
                                : "SLOW");
  } catch (const std::exception& e) {
    std::printf("%-44s failed: %.300s\n", name, e.what());
  }
  std::fflush(stdout);
}

Tensor noise(IntList sizes, DType dtype) {
  // Without random numbers: a number of each place, between -1 and 1.
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  const int64_t short_n = std::min<int64_t>(n, 1 << 20);
  std::vector<float> values(static_cast<size_t>(short_n));
  uint32_t state = 1;
  for (float& v : values) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  const Tensor host = empty_tensor({short_n}, DType::float32);
  std::memcpy(host.data(), values.data(), values.size() * 4);
  const Tensor part = to(host, kCuda, dtype);
  const int64_t times = (n + short_n - 1) / short_n;
  const Tensor all = reshape(expand(view(part, {1, short_n}), {times, short_n}), {-1});
  return view(contiguous(narrow(all, 0, 0, n)), sizes);
}

using Runs = std::function<void(int)>;

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) wanted = arguments[1];
  const int64_t big = int64_t{64} << 20;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const bool f32 = dtype == DType::float32;
    const std::string suffix = f32 ? " f32" : " bf16";
    const auto named = [&](const char* name) { return name + suffix; };
    row(named("copy 64 M").c_str(), f32 ? 126 : 64, [&]() -> Runs {
      const Tensor p = noise({big}, dtype), q = empty_tensor({big}, dtype, kCuda);
      return [=](int) { copy_(q, p); };
    });
    row(named("add 64 M").c_str(), 0, [&]() -> Runs {
      const Tensor p = noise({big}, dtype), q = noise({big}, dtype), out = empty_tensor({big}, dtype, kCuda);
      return [=](int) {
        Tensor o = out;
        add_out(o, p, q);
      };
    });
    row(named("relu(sigmoid(p) q + p) 64 M, eager").c_str(), f32 ? 630 : 323, [&]() -> Runs {
      const Tensor p = noise({big}, dtype), q = noise({big}, dtype);
      return [=](int) { relu(add(mul(sigmoid(p), q), p)); };
    });
    row(named("softmax 8192x4096").c_str(), f32 ? 66 : 35, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype);
      return [=](int i) { softmax(i & 1 ? x : y, 1); };
    });
    row(named("layer_norm 8192x4096").c_str(), f32 ? 66 : 36, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype), w = noise({4096}, dtype);
      return [=](int i) { layer_norm(i & 1 ? x : y, {4096}, w, w); };
    });
    row(named("rms_norm 8192x4096").c_str(), f32 ? 66 : 36, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype), w = noise({4096}, dtype);
      return [=](int i) { rms_norm(i & 1 ? x : y, {4096}, w); };
    });
    row(named("sum 64 M").c_str(), f32 ? 66 : 36, [&]() -> Runs {
      const Tensor x = noise({big}, dtype);
      return [=](int) { sum(x); };
    });
    row(named("sum of rows 8192x4096").c_str(), f32 ? 34 : 21, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype);
      return [=](int i) { sum(i & 1 ? x : y, IntList({1})); };
    });
    row(named("sum of columns 8192x4096").c_str(), f32 ? 37 : 32, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype);
      return [=](int i) { sum(i & 1 ? x : y, IntList({0})); };
    });
    row(named("var 64 M").c_str(), 0, [&]() -> Runs {
      const Tensor x = noise({big}, dtype);
      return [=](int) { var(x); };
    });
    row(named("argmax of rows 8192x4096").c_str(), 0, [&]() -> Runs {
      const Tensor x = noise({8192, 4096}, dtype), y = noise({8192, 4096}, dtype);
      return [=](int i) { argmax(i & 1 ? x : y, 1); };
    });
    row(named("add row vector 8192^2").c_str(), f32 ? 132 : 0, [&]() -> Runs {
      const Tensor x = noise({8192, 8192}, dtype), v = noise({8192}, dtype),
                   out = empty_tensor({8192, 8192}, dtype, kCuda);
      return [=](int) {
        Tensor o = out;
        add_out(o, x, v);
      };
    });
    row(named("add transposed 8192^2").c_str(), f32 ? 190 : 0, [&]() -> Runs {
      const Tensor x = noise({8192, 8192}, dtype), y = noise({8192, 8192}, dtype),
                   out = empty_tensor({8192, 8192}, dtype, kCuda);
      return [=](int) {
        Tensor o = out;
        add_out(o, x, t(y));
      };
    });
  }
  row("embedding 32768 of 50257x768 f32", 50, []() -> Runs {
    const Tensor w = noise({50257, 768}, DType::float32);
    const Tensor i = to(mul(add(noise({32768}, DType::float32), 1), 25000), DType::int64);
    return [=](int) { embedding(w, i); };
  });
  row("cumsum 16 M f32", 50, []() -> Runs {
    const Tensor x = noise({16 << 20}, DType::float32), y = noise({16 << 20}, DType::float32);
    return [=](int i) { cumsum(i & 1 ? x : y, 0); };
  });
  row("sort 16 M f32", 850, []() -> Runs {
    const Tensor x = noise({16 << 20}, DType::float32);
    return [=](int) { sort(x); };
  });
  row("topk 50 of 64x50257 f32", 120, []() -> Runs {
    const Tensor x = noise({64, 50257}, DType::float32);
    return [=](int) { topk(x, 50); };
  });
  const auto product = [](const char* name, double bar, DType dtype) {
    row(name, bar, [&]() -> Runs {
      const Tensor x = noise({4096, 4096}, dtype), y = noise({4096, 4096}, dtype);
      return [=](int) { mm(x, y); };
    });
  };
  product("matmul 4096^3 bf16", 180, DType::bfloat16);
  product("matmul 4096^3 f16", 186, DType::float16);
  product("matmul 4096^3 f32", 2720, DType::float32);
  set_matmul_precision(MatmulPrecision::high);
  product("matmul 4096^3 tf32", 350, DType::float32);
  set_matmul_precision(MatmulPrecision::highest);
  row("matmul 1x768x50257 bf16", 0, []() -> Runs {
    const Tensor x = noise({1, 768}, DType::bfloat16), y = noise({50257, 768}, DType::bfloat16);
    return [=](int) { mm(x, t(y)); };
  });
  row("matmul 1x3072x768 bf16", 0, []() -> Runs {
    const Tensor x = noise({1, 3072}, DType::bfloat16), y = noise({768, 3072}, DType::bfloat16);
    return [=](int) { mm(x, t(y)); };
  });
  const char* library = std::getenv("SCONCE_CUDA_CUDNN");
  const bool own = library && std::string(library) != "on";
  row("attention causal b4 h32 s2048 d128 bf16", own ? 480 : 275, []() -> Runs {
    const Tensor q = noise({4, 32, 2048, 128}, DType::bfloat16), k = noise({4, 32, 2048, 128}, DType::bfloat16),
                 v = noise({4, 32, 2048, 128}, DType::bfloat16);
    return [=](int) { _scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, true); };
  });
  row("attention b4 h32 s2048 d128 bf16", own ? 790 : 426, []() -> Runs {
    const Tensor q = noise({4, 32, 2048, 128}, DType::bfloat16), k = noise({4, 32, 2048, 128}, DType::bfloat16),
                 v = noise({4, 32, 2048, 128}, DType::bfloat16);
    return [=](int) { _scaled_dot_product_flash_attention_for_cpu(q, k, v); };
  });
  const double alone = std::strstr("add of 8 floats", wanted) ? launch_alone() : 0;
  if (alone > 0) std::printf("%-44s %9.2f us\n", "cuLaunchKernel alone, 1,000", alone);
  row(
      "add of 8 floats, 1,000 (bar a call)", alone > 0 ? 1.3 * alone : 4.5,
      []() -> Runs {
        const Tensor a = noise({8}, DType::float32), b = noise({8}, DType::float32);
        return [=](int) { add(a, b); };
      },
      true);
  return 0;
}
