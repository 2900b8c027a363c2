// Service: what the server does, whatever the transport: models, shared memory, tokens, log, metrics.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/model/repository.h"
#include "server/protocol/shared_memory.h"
#include "server/run/background.h"
#include "server/run/log.h"

namespace sconce::server {

struct ServiceSettings {
  RepositorySettings repository;
  std::vector<std::string> tokens;  // of clients; none: everybody may ask
  bool shared_memory = false;
  bool log_requests = false;
  std::string sconce_program;  // that draws graphs; empty: there is none
};

class Service {
 public:
  Service(ServiceSettings settings, Log& log);
  ~Service();

  Repository& repository() { return repository_; }
  SharedMemory& shared_memory() { return shared_; }
  Background& background() { return background_; }
  Log& log() { return log_; }
  const ServiceSettings& settings() const { return settings_; }

  // What a request for this model is answered with before anybody reads it, as far as that is known: its queue is
  // full. Under overload most requests are refused, and the time that this takes is that of others; so it is not
  // thrown. Throws Failure when there is no such model.
  std::optional<Failure> refusal(const std::string& model, const std::string& version);
  // Lets a request run. The request's model may be "name:method", its parameter `method` names one, too. `done` is
  // called once, by any thread, unless this throws Failure.
  JobPtr infer(InferRequest request, std::function<void(Answer)> done);
  // Whether "Bearer TOKEN" is right. Takes the same time for every wrong one.
  bool is_allowed(std::string_view authorization) const;

  bool is_ready() const { return !stopping_ && repository_.is_ready(); }
  // Called a hundred times a second, before the repository's own.
  void on_tick(std::function<void(Clock::time_point)> f);
  // Not ready any more, so that balancers send nothing else.
  void begin_stop() { stopping_ = true; }
  void stop(Clock::time_point until);

  std::string metrics() const;
  // Numbers that transports keep.
  std::atomic<int64_t> connections{0};
  std::atomic<uint64_t> http_requests{0}, grpc_requests{0};

 private:
  void tick();
  const ServiceSettings settings_;
  Log& log_;
  SharedMemory shared_;
  Repository repository_;
  std::atomic<bool> stopping_{false};
  std::mutex ticks_mutex_;
  std::vector<std::function<void(Clock::time_point)>> ticks_;
  Background background_;
};

}  // namespace sconce::server
