// CUDA graphs: work of a stream that is captured once and launched as a whole afterwards.
//
// Note [Capturing]
// The thread that captures works on a stream of its own, which belongs to the graph: memory that is allocated meanwhile
// comes from blocks of that stream, so that what the graph's kernels use is used by nobody else as long as it lives
// (the graph's private pool), and blocks that are let go meanwhile are used again inside of it, in its order. Waiting
// for the device cannot be captured: in the capturing thread it is an Error, other threads that wait for the whole
// device do so before or after. Nothing else that other threads do is touched (relaxed mode).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sconce/kernels/cuda/device/driver.h"
#include "sconce/tensor/device.h"

namespace sconce::cuda {

class Graph {
 public:
  ~Graph();
  Graph(const Graph&) = delete;
  // On the current stream. Launches of one graph must not overlap: all on one stream.
  void launch() const;
  size_t nodes() const { return nodes_; }

 private:
  friend std::unique_ptr<Graph> record_graph(Device device, const std::function<void()>& work, std::string& why);
  explicit Graph(Device device) : device_(device) {}

  Device device_;
  CUgraphExec executable_ = nullptr;
  CUstream pool_ = nullptr;  // whose blocks it uses
  mutable CUstream last_ = nullptr;
  size_t nodes_ = 0;
};

// Captures what `work` asks of the device. Null where it cannot be captured; `why` then has the error.
std::unique_ptr<Graph> record_graph(Device device, const std::function<void()>& work, std::string& why);

// Whether this thread captures.
bool is_capturing();
// Held by who waits for the whole device: no capture is under way meanwhile. Throws Error in a thread that captures.
class NoCapture {
 public:
  explicit NoCapture(const char* who);
  ~NoCapture();
  NoCapture(const NoCapture&) = delete;
};

// Forgets the streams of graphs that are gone: for replace_driver().
void forget_graphs();

}  // namespace sconce::cuda
