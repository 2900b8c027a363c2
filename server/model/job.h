// Job: an inference request on its way: waiting, running (perhaps joined with others), answered. It is answered once,
// whoever comes first: the instance that ran it, its deadline, or the client that left.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "sconce/base/budget.h"
#include "sconce/types/value.h"
#include "server/model/batch_queue.h"
#include "server/protocol/failure.h"
#include "server/protocol/infer.h"

namespace sconce::server {

class Method;
class Model;
struct Job;
using JobPtr = std::shared_ptr<Job>;

using Answer = std::variant<InferResponse, Failure>;

// What is under way for a client.
struct Pending {
  virtual ~Pending() = default;
  // The client has gone.
  virtual void cancel() = 0;
};
using PendingPtr = std::shared_ptr<Pending>;

// What runs together under one budget.
struct Batch {
  std::shared_ptr<Budget> budget;
  size_t live = 0;              // members that still want their answer
  Clock::time_point slice_end;  // of a short call
};

struct Job final : Pending, std::enable_shared_from_this<Job> {
  void cancel() override;

  InferRequest request;
  std::shared_ptr<Model> model;
  const Method* method = nullptr;
  std::vector<Value> args;
  std::vector<char> ragged;  // one for each argument: may be padded
  int64_t rows = 0;          // 0: cannot be joined
  size_t bytes = 0;          // of its inputs
  Clock::time_point queued, deadline = Clock::time_point::max();
  Limits limits;
  std::shared_ptr<Batch> batch;  // while it runs; the model's lock guards it
  std::function<void(Answer)> done;
  std::atomic<bool> answered{false};

  bool joins(const Job& other) const;
};

// Joins arguments along the first dimension; ragged ones are padded at the end of their other dimensions.
std::vector<Value> join_arguments(const std::vector<JobPtr>& jobs, const std::vector<double>& padding);
// How many rows the tensors among the arguments have; 0 when they cannot be joined with others.
int64_t rows_of(const std::vector<Value>& args);
// The outputs of one of the joined jobs. Throws Failure for an output that has no row for each of them.
std::vector<WireTensor> take_rows(const std::vector<WireTensor>& outputs, int64_t begin, int64_t count, int64_t all);

}  // namespace sconce::server
