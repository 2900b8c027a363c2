// HttpServer: the router behind libmicrohttpd: HTTP/1.1 with keep-alive, limits on headers, bodies, connections and
// time, TLS.
//
// Note [Clients that leave]
// libmicrohttpd does not look at a connection whose request runs. So the server asks the system, a hundred times a
// second, about the connections of requests that have lasted a while; one that the client has closed cancels its
// request. A client that closes only its sending half is taken for gone, as by most servers. Neither does libmicrohttpd
// bound the time of a request that arrives byte by byte: the same watch ends these.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/run/service.h"

namespace sconce::server {

struct HttpSettings {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: any that is free
  int threads = 0;  // that read and write (Note [Threads of HTTP]); 0: as many as processors. Models have their own
  size_t max_body = 64 << 20;
  size_t max_header = 32 << 10;
  unsigned max_connections = 1000;
  std::chrono::seconds read_timeout{60};  // for all of a request to arrive
  std::chrono::seconds idle_timeout{75};  // between requests
  std::string certificate, key;           // PEM; empty: no TLS
};

class HttpServer {
 public:
  // Listens at once. Throws Failure.
  HttpServer(Service& service, const HttpSettings& settings);
  ~HttpServer();

  int port() const;
  // Takes no more connections, and closes each after the answer that it waits for. Waits for these, until `until`; then
  // their requests are cancelled.
  void stop(Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sconce::server
