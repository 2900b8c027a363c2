// sconce-bench-rows: our half of the comparison with PyTorch. The commands are those of peer_worker.py.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/rows/rows.h"
#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/ops.h"
#include "sconce/tensor/memory/allocator_stats.h"

namespace sconce::bench {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds_per_call(Work& work, int64_t calls) {
  const double start = now();
  work.run(calls);
  return (now() - start) / static_cast<double>(calls);
}

// The least time of one call, over batches of about a millisecond.
double measure(Work& work, double seconds) {
  int64_t calls = 1;
  double least = seconds_per_call(work, 1);
  while (least * static_cast<double>(calls) < 1e-3 && calls < 1 << 20) {
    calls *= 4;
    least = std::min(least, seconds_per_call(work, calls));
  }
  for (const double end = now() + seconds; now() < end;) least = std::min(least, seconds_per_call(work, calls));
  return least;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string samples(Tensor result) {
  if (is_complex(result.dtype())) result = view_as_real(result);
  result = result.to(DType::float32).contiguous();
  const int64_t step = (result.numel() + 255) / 256;
  std::string json = "[";
  for (int64_t i = 0; i < result.numel(); i += step) {
    if (i > 0) json += ", ";
    json += number(result.data<float>()[i]);
  }
  return json + "]";
}

std::string info() {
  return "{\"version\": \"" SCONCE_VERSION "\", \"compiler\": \"" __VERSION__ "\", \"cpu_level\": " +
         std::to_string(cpu_level()) + "}";
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words(1);
  for (char c : line) {
    if (c == '\t')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

class Worker {
 public:
  std::string answer(const std::string& line) {
    const std::vector<std::string> words = split(line);
    if (words[0] == "info") return info();
    if (words.size() < 2) throw std::runtime_error("no such command");
    select(words[1]);
    if (words[0] == "result") return samples(work_->result());
    if (words[0] == "memory" && words.size() == 3) {
      set_num_threads(std::stoi(words[2]));
      work_->run(3);
      const AllocatorStats stats = allocator_stats();
      return "[" + std::to_string(stats.used_peak) + ", " + std::to_string(stats.peak) + "]";
    }
    if (words[0] != "time" || words.size() != 4) throw std::runtime_error("no such command");
    set_num_threads(std::stoi(words[2]));
    return number(measure(*work_, std::stod(words[3])) * 1e9);
  }

 private:
  // The last row's work is kept, since making 16 M floats takes longer than using them.
  void select(const std::string& name) {
    if (name == selected_) return;
    work_.reset();
    selected_.clear();
    for (const Row& row : rows()) {
      if (row.name == name) work_ = row.make();
    }
    if (!work_) throw std::runtime_error("no such row");
    selected_ = name;
  }

  std::string selected_;
  std::unique_ptr<Work> work_;
};

}  // namespace
}  // namespace sconce::bench

int main() {
  sconce::bench::Worker worker;
  std::string line;
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    try {
      std::puts(worker.answer(line).c_str());
    } catch (const std::exception& error) {
      std::string reason = error.what();
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      std::printf("error %s\n", reason.c_str());
    }
    std::fflush(stdout);
    line.clear();
  }
}
