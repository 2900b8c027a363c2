// GrpcServer: the gRPC face of the Open Inference Protocol v2 (inference.proto), asynchronous: no thread waits for a model.
#pragma once

#include <memory>
#include <string>

#include "server/run/service.h"

namespace sconce::server {

struct GrpcSettings {
  std::string host = "127.0.0.1";
  int port = 8001;  // 0: any that is free
  size_t max_message = 64 << 20;
  std::string certificate, key;  // PEM; empty: no TLS
};

class GrpcServer {
 public:
  // Listens at once. Throws Failure.
  GrpcServer(Service& service, const GrpcSettings& settings);
  ~GrpcServer();

  int port() const;
  // Takes no more calls; those that run may end until `until`, then they are cancelled.
  void stop(Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sconce::server
