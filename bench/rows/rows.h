// The rows of the benchmarks: pieces of work that Sconce and PyTorch are both timed on. peer_worker.py has the same
// rows, by the same names and on the same inputs, in PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::bench {

// A row with its inputs made.
class Work {
 public:
  virtual ~Work();
  virtual void run(int64_t calls) = 0;  // the loop is inside, so that a call is timed without a call around it
  virtual Tensor result() = 0;
};

struct Row {
  std::string name;
  std::function<std::unique_ptr<Work>()> make;
};

const std::vector<Row>& rows();

}  // namespace sconce::bench
