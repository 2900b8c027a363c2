// A service in small: loads a program once, then calls it from many threads over memory of the caller: service net.pt
#include <cstdio>
#include <thread>

#include "sconce/sconce.hpp"

using namespace sconce;

namespace {

// Loads the program, makes its weights constants, and plans it for requests of this size: the first one need not wait.
jit::Module prepare(const char* path) {
  const jit::Module model = jit::optimize_for_inference(jit::load(path).eval());
  const InferenceMode inference;  // as in answer: plans are for one mode
  const jit::Compiled done = jit::compile(model, {zeros({1, 2})});
  if (done.planned)
    std::printf("planned, steps: %zu\n", done.steps);
  else
    std::printf("not planned: %s\n", done.why.c_str());
  return model;
}

// One request: two numbers in, one out. Any thread may call it, many at once.
float answer(const jit::Module& model, std::vector<float>& request) {
  const InferenceMode inference;  // or every call records what backward would need
  const Tensor x = from_blob(request.data(), {1, 2});
  const Tensor y = model(x).to_tensor();
  return y.sum().item<float>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: service FILE\n");
    return 2;
  }
  try {
    set_num_threads(1);  // for operators: here requests run side by side instead
    const jit::Module model = prepare(argv[1]);

    std::vector<std::vector<float>> requests{{0, 0}, {1, 1}, {2, -2}};
    std::vector<float> answers(requests.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] { answers[i] = answer(model, requests[i]); });
    }
    for (std::thread& t : threads) t.join();
    for (const float a : answers) std::printf("%.4f\n", static_cast<double>(a));
  } catch (const Error& error) {
    std::fprintf(stderr, "service: %s\n", error.what());
    return 1;
  }
}
