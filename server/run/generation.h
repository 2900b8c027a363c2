// Generation: an iterative method, called again and again with what it returned. Each call is a response of a stream.
//
// Note [Generating methods]
// A generating method returns a named tuple or a dict. Outputs that have the name of an argument are that argument of
// the next call, the other arguments stay; the bool `done` ends it, and so does the number of calls that the request
// allows (`max_steps`). Each call waits in the model's queue as any other, so that streams share the model, and their
// batches.
#pragma once

#include <functional>
#include <memory>

#include "server/run/service.h"

namespace sconce::server {

class Generation final : public Pending, public std::enable_shared_from_this<Generation> {
 public:
  static constexpr int64_t kMostSteps = 1'000'000;

  // Called for each answer, in order, by any thread; `last`: none follows. False: nobody wants more.
  using OnAnswer = std::function<bool(Answer answer, bool last)>;

  // Takes the parameters `generate` and `max_steps` (1000, unless it is there) out of the request. `or_once`: a method
  // without the output `done` is called once, else that is an error. Throws Failure.
  Generation(Service& service, InferRequest request, OnAnswer on_answer, bool or_once = false);
  // Whether the request asks for one: its parameter `generate` is true.
  static bool is_wanted(const InferRequest& request);

  void start() { run(); }
  // Ends the call that runs; on_answer gets its failure.
  void cancel() override;

 private:
  void run();
  bool take(Answer answer);

  Service& service_;
  InferRequest request_;
  const OnAnswer on_answer_;
  const bool or_once_;
  int64_t left_ = 1000;
  std::mutex mutex_;
  JobPtr job_;
  bool cancelled_ = false;
};

}  // namespace sconce::server
