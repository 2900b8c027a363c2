#include "server/run/generation.h"

#include <algorithm>

namespace sconce::server {
namespace {

bool says_done(const InferResponse& response, bool or_once) {
  for (const WireTensor& t : response.outputs) {
    if (t.name != "done") continue;
    if (t.datatype != "BOOL" || t.tensor.numel() != 1)
      refuse("output 'done' of a generating method is one BOOL, got {} of [{}]", t.datatype, fmt::join(t.shape, ", "));
    return *t.tensor.data<bool>();
  }
  if (or_once) return true;
  refuse("a generating method has an output 'done'");
}

}  // namespace

bool Generation::is_wanted(const InferRequest& request) {
  const auto at = request.parameters.find("generate");
  return at != request.parameters.end() && at->second == Parameter(true);
}

Generation::Generation(Service& service, InferRequest request, OnAnswer on_answer, bool or_once)
    : service_(service), request_(std::move(request)), on_answer_(std::move(on_answer)), or_once_(or_once) {
  request_.parameters.erase("generate");
  if (const auto at = request_.parameters.find("max_steps"); at != request_.parameters.end()) {
    const auto* n = std::get_if<int64_t>(&at->second);
    if (!n || *n < 1 || *n > kMostSteps) refuse("parameter 'max_steps' is a number from 1 to {}", kMostSteps);
    left_ = *n;
    request_.parameters.erase(at);
  }
  if (!request_.outputs.empty()) refuse("a generating method gives all its outputs: none can be asked for");
}

void Generation::cancel() {
  JobPtr job;
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    job = job_;
  }
  if (job) job->model->cancel(job);
}

// What follows the answer of a call. True: there is another.
bool Generation::take(Answer answer) {
  try {
    if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
    InferResponse& response = std::get<InferResponse>(answer);
    const bool last = says_done(response, or_once_) || --left_ == 0;
    if (!last) {
      for (const WireTensor& t : response.outputs) {
        const auto same = [&](const WireTensor& i) { return i.name == t.name; };
        const auto at = std::find_if(request_.inputs.begin(), request_.inputs.end(), same);
        if (at != request_.inputs.end()) {
          *at = t;
        } else if (request_.parameters.erase(t.name)) {
          request_.inputs.push_back(t);
        }
      }
    }
    return on_answer_(std::move(answer), last) && !last;
  } catch (const Failure& f) {
    on_answer_(f, true);
  } catch (const std::exception& e) {
    on_answer_(Failure(Code::internal, e.what()), true);
  }
  return false;
}

void Generation::run() {
  for (;;) {
    // Whether the answer came within infer(): then this loop goes on, else the thread that has the answer begins
    // another.
    enum : int { asking, returned, answered_more, answered_end };
    const auto state = std::make_shared<std::atomic<int>>(asking);
    try {
      {
        const std::scoped_lock lock(mutex_);
        if (cancelled_) refuse(Code::cancelled, "the client has gone");
      }
      JobPtr job = service_.infer(request_, [self = shared_from_this(), state](Answer answer) {
        {
          const std::scoped_lock lock(self->mutex_);
          self->job_.reset();
        }
        const bool more = self->take(std::move(answer));
        if (state->exchange(more ? answered_more : answered_end) == returned && more) self->run();
      });
      {
        const std::scoped_lock lock(mutex_);
        if (!job->answered.load()) job_ = job;
        if (!cancelled_) job.reset();
      }
      if (job) job->model->cancel(job);
    } catch (const Failure& f) {
      on_answer_(f, true);
      return;
    }
    const int before = state->exchange(returned);
    if (before != answered_more) return;
  }
}

}  // namespace sconce::server
