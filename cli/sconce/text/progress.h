// A line that says how far long work is, on standard error and only when that is a terminal:
//
//   resnet18.pt  ######............   33 %  1.2 s, 2.4 s left
//
// It appears when the work has lasted a while, fits the terminal, and is wiped away at the end or by an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sconce::cli {

class Progress {
 public:
  // `total` 0: the end is not known, and the line says how much is done. Not `shown`: does nothing.
  explicit Progress(std::string what, uint64_t total = 0, bool shown = true);
  ~Progress();
  Progress(const Progress&) = delete;

  void update(uint64_t done) { update(done, total_); }
  void update(uint64_t done, uint64_t total);
  // The same as a function, for who does the work and does not know this class. Must not outlive it.
  std::function<void(uint64_t done, uint64_t total)> reporter();

 private:
  void draw(uint64_t done, double elapsed);

  std::string what_;
  uint64_t total_;
  bool shown_;
  bool drawn_ = false;
  double start_ = 0, next_ = 0;  // seconds
};

}  // namespace sconce::cli
