#include "sconce/kernels/cuda/random/random_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/context.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/seeding.h"
#include "sconce/tensor/strides.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/random_arguments.cuh"

constexpr unsigned kThreads = 256;                // of a block; PyTorch's, since the elements depend on it
constexpr unsigned kThreadsOfProcessor = 2048;    // that fit on a multiprocessor, likewise
constexpr uint64_t kCountersOfProbabilities = 3;  // what PyTorch leaves for a draw with a probability per element

struct DeviceGenerator {
  std::mutex mutex;
  uint64_t seeding = ~uint64_t{0};  // the one that `seed` is of
  uint64_t seed = 0, counter = 0;

  void follow_seeding() {
    if (seeding == seedings()) return;
    seeding = seedings();
    seed = default_generator().impl()->initial_seed();
    counter = 0;
  }
};

DeviceGenerator& generator_of(Device device) {
  static auto& all = *new std::array<DeviceGenerator, kMostDevices>;
  return all[static_cast<size_t>(use(device))];
}

// How a distribution is written in text/random.cuh.
struct Distribution {
  const char* function;
  const char* numbers;  // that its words become
  const char* name;     // of the operator, for errors
};

Distribution distribution_of(Draw::Kind kind) {
  switch (kind) {
    case Draw::Kind::uniform:
      return {"uniform", "even", "uniform_"};
    case Draw::Kind::normal:
      return {"gaussian", "normal", "normal_"};
    case Draw::Kind::bernoulli:
    case Draw::Kind::bernoulli_each:
      return {"bernoulli", "even", "bernoulli_"};
    case Draw::Kind::exponential:
      return {"exponential", "even", "exponential_"};
    case Draw::Kind::geometric:
      return {"geometric", "even", "geometric_"};
    case Draw::Kind::cauchy:
      return {"cauchy", "even", "cauchy_"};
    case Draw::Kind::log_normal:
      return {"log_gaussian", "normal", "log_normal_"};
    case Draw::Kind::integers:
    case Draw::Kind::integers_between:
      return {"integer", "integers", "random_"};
    case Draw::Kind::permutation:
      break;
  }
  fail("a permutation is no distribution");
}

bool of_integers(Draw::Kind kind) { return kind == Draw::Kind::integers || kind == Draw::Kind::integers_between; }

// Elements that the words of one counter give.
uint64_t per_counter(const Draw& draw, DType dtype, bool wide) {
  if (of_integers(draw.kind)) return wide ? 2 : 4;
  return dtype == DType::float64 && draw.kind != Draw::Kind::bernoulli_each ? 2 : 4;
}

std::string source(const Draw& draw, DType dtype, bool wide) {
  const Distribution how = distribution_of(draw.kind);
  std::string text(text_file("prelude"));
  text += text_file("errors");
  text += text_file("random_arguments");
  text += fmt::format("using OUT = {};\nusing REAL = {};\n", stored_type(dtype),
                      dtype == DType::float64 ? "double" : "float");
  if (draw.kind == Draw::Kind::bernoulli_each) {
    text +=
        fmt::format("#define DRAW_EACH\n#define DRAW(u, a) OUT()\nusing EACH = {};\n", stored_type(draw.each->dtype()));
  } else if (of_integers(draw.kind)) {
    text += fmt::format("#define DRAW_INTEGERS\n#define PER_COUNTER {}\n#define DRAW(u, a) integer<OUT>(u, a)\n",
                        wide ? 2 : 4);
  } else {
    text += fmt::format("#define NUMBERS {}\n#define DRAW(u, a) {}<OUT>(u, a)\n", how.numbers, how.function);
  }
  text += text_file("random");
  return text;
}

// Into memory without gaps, `count` elements of a dtype that is not complex.
void draw_dense(void* out, uint64_t count, DType dtype, const Draw& draw, const void* each, Device device) {
  const Distribution how = distribution_of(draw.kind);
  RandomArguments a{};
  a.out = out;
  a.each = each;
  a.count = count;
  a.a = draw.a;
  a.b = draw.b;
  bool wide = false;
  if (of_integers(draw.kind)) {
    const IntegerDraw integers = integer_draw(draw, dtype);
    a.base = integers.base;
    a.range = integers.range;
    wide = integers.wide;
  }
  const std::string key = fmt::format("random.{}.{}.{}{}", how.function, dtype_name(dtype),
                                      draw.each ? dtype_name(draw.each->dtype()) : "", wide ? "wide" : "");
  const Kernel& kernel = find_kernel(device, key, [&] { return source(draw, dtype, wide); }, "draw");

  Shape shape = {.block_x = kThreads};
  uint64_t counters = kCountersOfProbabilities;
  if (each) {
    shape.grid_x = static_cast<unsigned>((count + 4 * kThreads - 1) / (4 * kThreads));
    a.word = error_word(device);
    a.number = operator_number(how.name);
  } else {
    const uint64_t most = static_cast<uint64_t>(properties(device).multiprocessors) * (kThreadsOfProcessor / kThreads);
    shape.grid_x = static_cast<unsigned>(std::min(most, (count + kThreads - 1) / kThreads));
    counters = (count - 1) / (uint64_t{kThreads} * shape.grid_x * per_counter(draw, dtype, wide)) + 1;
  }
  const PhiloxDraw philox = take_counters(device, counters);
  a.seed = philox.seed;
  a.counter = philox.counter;
  launch(device, kernel, shape, &a, sizeof a, how.name);
}

}  // namespace

void random(const Tensor& out, const Draw& draw, const Generator& generator) {
  SCONCE_CHECK(!generator.defined(), "Expected a 'cuda' device type for generator but found 'cpu'");
  if (!out.is_dense()) {  // drawn in the order of the elements, then put where they belong
    const Tensor dense = empty_tensor(out.sizes(), out.dtype(), out.device());
    random(dense, draw, generator);
    return copy_tensor(out, dense);
  }
  if (draw.kind == Draw::Kind::permutation) return random_permutation(out);
  auto count = static_cast<uint64_t>(out.numel());
  Draw asked = draw;
  DType dtype = out.dtype();
  if (is_complex(dtype)) {  // both parts
    dtype = real_dtype(dtype);
    count *= 2;
    if (draw.kind == Draw::Kind::normal) asked.b /= std::sqrt(2.0);
  }
  if (!draw.each) return draw_dense(out.data(), count, dtype, asked, nullptr, out.device());
  const Tensor each = empty_strided_tensor(out.sizes(), out.strides(), draw.each->dtype(), out.device());
  copy_tensor(each, *draw.each);
  asked.each = &each;
  draw_dense(out.data(), count, dtype, asked, each.data(), out.device());
}

PhiloxDraw take_counters(Device device, uint64_t counters) {
  DeviceGenerator& generator = generator_of(device);
  const std::lock_guard lock(generator.mutex);
  generator.follow_seeding();
  const PhiloxDraw draw{generator.seed, generator.counter};
  generator.counter += counters;
  return draw;
}

PhiloxState philox_state(Device device) {
  DeviceGenerator& generator = generator_of(device);
  const std::lock_guard lock(generator.mutex);
  generator.follow_seeding();
  return {generator.seed, 4 * generator.counter};
}

void set_philox_state(Device device, PhiloxState state) {
  SCONCE_CHECK(state.offset % 4 == 0, "offset must be a multiple of 4, got {}", state.offset);
  DeviceGenerator& generator = generator_of(device);
  const std::lock_guard lock(generator.mutex);
  generator.seeding = seedings();
  generator.seed = state.seed;
  generator.counter = state.offset / 4;
}

std::string random_text(const Draw& draw, DType dtype) {
  return source(draw, dtype, of_integers(draw.kind) && integer_draw(draw, dtype).wide);
}

}  // namespace sconce::cuda
