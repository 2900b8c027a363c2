// Fused chains of pointwise operators: op by op, tile programs, joined loops, and the loop that g++ makes of the same
// arithmetic by hand. relu(sigmoid(p) * q + p), and eight cheap operators over five tensors; in the L2 cache and in
// memory. Each turn runs all of them, so that neighbours disturb all alike: the least of the turns counts.
//
//   bench-fusion [TURNS]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sconce/codegen/maker.h"
#include "sconce/dispatch/registry.h"
#include "sconce/kernels/cpu/engine/iterate.h"

// The library's own vectors and math, for the loops by hand. This file is compiled for x86-64-v3.
#define SCONCE_ISA 3
#include "sconce/kernels/cpu/simd/pointwise_loop.h"

namespace {

using namespace sconce;
namespace v3 = sconce::v3;

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A nest over n floats, built call by call; buffers are inputs, then the result.
struct Chain {
  loops::Nest nest;

  Chain(int64_t n, int inputs) {
    nest.sizes.push_back(n);
    for (int k = 0; k <= inputs; ++k) nest.buffers.push_back({DType::float32, Dims{1}, k == inputs});
  }
  size_t call(const char* name, std::initializer_list<loops::Source> in, std::initializer_list<double> numbers = {}) {
    const Op* op = find_op(name);
    const auto cases = op->info.entry->pointwise();
    loops::LoopCall c = loops::make_call(*op, *cases[cases.size() - 1].loops, DType::float32, DType::float32);
    for (const auto s : in) c.inputs.push_back(s);
    for (const double x : numbers) c.params.push_back(Param::from_float(x));
    nest.calls.push_back(c);
    return nest.calls.size() - 1;
  }
  void finish() {
    nest.stores.push_back(
        {static_cast<uint16_t>(nest.calls.size() - 1), static_cast<uint16_t>(nest.buffers.size() - 1)});
  }
};

Chain gated(int64_t n) {  // relu(sigmoid(p) * q + p)
  using loops::from_buffer, loops::from_call;
  Chain c(n, 2);
  c.call("aten::sigmoid", {from_buffer(0)});
  c.call("aten::mul.Tensor", {from_call(0), from_buffer(1)});
  c.call("aten::add.Tensor", {from_call(1), from_buffer(0)}, {1});
  c.call("aten::relu", {from_call(2)});
  c.finish();
  return c;
}

Chain eight(int64_t n) {  // relu(p * q + r - s) * p + t, then clamped below and scaled
  using loops::from_buffer, loops::from_call;
  Chain c(n, 5);
  c.call("aten::mul.Tensor", {from_buffer(0), from_buffer(1)});
  c.call("aten::add.Tensor", {from_call(0), from_buffer(2)}, {1});
  c.call("aten::sub.Tensor", {from_call(1), from_buffer(3)}, {1});
  c.call("aten::relu", {from_call(2)});
  c.call("aten::mul.Tensor", {from_call(3), from_buffer(0)});
  c.call("aten::add.Tensor", {from_call(4), from_buffer(4)}, {1});
  c.call("aten::maximum", {from_call(5), from_buffer(1)});
  c.call("aten::mul.Scalar", {from_call(6)}, {0.5});
  c.finish();
  return c;
}

void gated_by_hand(void* const* b, int64_t n) {
  const auto *p = static_cast<const float*>(b[0]), *q = static_cast<const float*>(b[1]);
  auto* out = static_cast<float*>(b[2]);
  for (int64_t i = 0; i < n; i += 8) {
    const v3::F32 x = v3::load<v3::F32>(p + i), y = v3::load<v3::F32>(q + i);
    v3::store(out + i, v3::maximum(v3::F32{}, (1.0f / (1.0f + v3::exp(-x))) * y + x));
  }
}

void eight_by_hand(void* const* b, int64_t n) {
  const float* in[5];
  for (int k = 0; k < 5; ++k) in[k] = static_cast<const float*>(b[k]);
  auto* out = static_cast<float*>(b[5]);
  for (int64_t i = 0; i < n; i += 8) {
    const auto at = [&](int k) { return v3::load<v3::F32>(in[k] + i); };
    const v3::F32 a = v3::maximum(v3::F32{}, at(0) * at(1) + at(2) - at(3));
    v3::store(out + i, v3::maximum(a * at(0) + at(4), at(1)) * 0.5f);
  }
}

// What eager does: a pass over memory for each operator, into temporaries that are kept.
void op_by_op(const loops::Nest& nest, void* const* buffers, std::vector<std::vector<float>>& temporaries) {
  const int64_t n = nest.sizes[0];
  for (size_t k = 0; k < nest.calls.size(); ++k) {
    const loops::LoopCall& call = nest.calls[k];
    const void* in[kMaxLoopInputs];
    for (size_t j = 0; j < call.inputs.size(); ++j) {
      const loops::Source s = call.inputs[j];
      in[j] = s.kind == loops::Source::buffer ? buffers[s.number] : temporaries[s.number % 2].data();
    }
    void* out = k + 1 == nest.calls.size() ? buffers[nest.buffers.size() - 1] : temporaries[k % 2].data();
    run_dense(*call.loops, Compute::f32, out, in, n, call.params.data());
  }
}

struct Row {
  std::string name;
  std::function<void()> run;
  double best = 1e9;
};

void measure(const char* title, const Chain& chain, void (*by_hand)(void* const*, int64_t), int turns) {
  const int64_t n = chain.nest.sizes[0];
  const int repeats = static_cast<int>(std::max<int64_t>(1, (int64_t{4} << 20) / n));
  std::vector<std::vector<float>> memory(chain.nest.buffers.size()), temporaries(2);
  for (auto& m : temporaries) m.resize(static_cast<size_t>(n));
  uint32_t state = 1;
  std::vector<void*> buffers;
  for (auto& m : memory) {
    m.resize(static_cast<size_t>(n));
    for (float& x : m) x = static_cast<float>(((state = state * 1664525u + 1013904223u) >> 8) % 4000) * 0.001f - 2;
    buffers.push_back(m.data());
  }
  std::vector<Row> rows;
  const auto tiles = codegen::make(chain.nest, codegen::Maker::tiles);
  const auto joined = codegen::make(chain.nest, codegen::Maker::joined);
  rows.push_back({"op by op", [&] { op_by_op(chain.nest, buffers.data(), temporaries); }});
  rows.push_back({"tiles", [&] { tiles->run(buffers.data()); }});
  rows.push_back({"joined", [&] { joined->run(buffers.data()); }});
  rows.push_back({"g++ -O3, by hand", [&] { by_hand(buffers.data(), n); }});
  std::vector<float> expected;
  for (Row& row : rows) {
    row.run();
    if (expected.empty()) expected = memory.back();
    if (std::memcmp(expected.data(), memory.back().data(), static_cast<size_t>(n) * 4) != 0)
      std::printf("%s, %s: other bits than op by op\n", title, row.name.c_str());
  }
  for (int t = 0; t < turns; ++t) {
    for (Row& row : rows) {
      const double start = thread_seconds();
      for (int k = 0; k < repeats; ++k) row.run();
      row.best = std::min(row.best, (thread_seconds() - start) / repeats);
    }
  }
  for (const Row& row : rows) {
    std::printf("%-36s %-18s %9.1f us   %5.2f x op by op   %5.2f of the time by hand\n", title, row.name.c_str(),
                row.best * 1e6, rows[0].best / row.best, row.best / rows[3].best);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 15;
  for (const int64_t n : {int64_t{1} << 16, int64_t{1} << 24}) {
    const std::string size = n == int64_t{1} << 16 ? ", 64 K" : ", 16 M";
    measure(("relu(sigmoid(p) * q + p)" + size).c_str(), gated(n), gated_by_hand, turns);
    measure(("eight operators, five tensors" + size).c_str(), eight(n), eight_by_hand, turns);
  }
}
