// ModelConfig: how a model is served: batching, instances, queue, limits, what its tensors are. From the command line,
// and from config.json in the model's folder, whose members have the names of the fields below.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/budget.h"

namespace sconce::server {

class JsonWriter;

// What metadata say of an input or output.
struct TensorInfo {
  std::string name;
  std::string datatype = "ANY";  // not known: a program does not say what its tensors hold
  std::vector<int64_t> shape;    // -1: any size. Without a config, nothing is known of it
};

struct ModelConfig {
  // Rows that requests are joined to, along the first dimension; 0: each request runs by itself.
  int64_t max_batch_size = 0;
  std::chrono::nanoseconds batch_delay{0};     // how long the first of a batch waits for others ("2ms")
  std::vector<int64_t> preferred_batch_sizes;  // a batch that has one of these sizes does not wait
  std::map<std::string, double> ragged;        // inputs that are padded with this number to be joined
  int instances = 1;                           // requests, or batches, that run at a time
  int threads = 1;                             // that one operator may use
  int64_t queue = 1024;                        // requests that wait; more are refused
  int64_t queue_bytes = 1ll << 30;             // of their inputs
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();  // of a request that sets none, waiting included
  uint64_t max_memory = Limits::kNone, max_work = Limits::kNone;       // of a request
  bool optimize = false;                                               // jit::optimize_for_inference
  bool all_versions = false;                                           // else the latest alone
  std::vector<TensorInfo> inputs, outputs;
};

// Reads config.json over what `config` says already. `name` stands in messages. Throws Failure; an unknown member is
// one.
void read_model_config(std::string_view json, const std::string& name, ModelConfig& config);
// The same as JSON.
void write_model_config(const ModelConfig& config, JsonWriter& out);
// Throws Failure for numbers that make no sense together.
void check_model_config(const std::string& name, const ModelConfig& config);

}  // namespace sconce::server
