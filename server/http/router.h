// Router: the HTTP/REST face of the Open Inference Protocol v2, without sockets: from a request to its response.
// Fuzzers and tests call it as the HTTP server does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/run/service.h"

namespace sconce::server {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // decoded by the router, without what follows a '?'
  bool has_query = false;
  std::string body;
  // Headers, empty when they are not there.
  std::string authorization, inference_header_length, content_encoding, accept_encoding;
};

class EventStream;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<EventStream> stream;  // instead of the body: what follows, as it comes
};

class Router {
 public:
  explicit Router(Service& service, size_t max_body) : service_(service), max_body_(max_body) {}

  // Calls `respond` once: before it returns, or later, by any thread. Gives what can be cancelled, if it is later, or
  // if the response is a stream. Never throws.
  PendingPtr handle(HttpRequest request, std::function<void(HttpResponse)> respond);

 private:
  PendingPtr route(HttpRequest& request, const std::function<void(HttpResponse)>& respond);
  PendingPtr route_model(HttpRequest& request, const std::vector<std::string>& parts,
                         const std::function<void(HttpResponse)>& respond);
  HttpResponse route_repository(HttpRequest& request, const std::vector<std::string>& parts,
                                const std::function<void(HttpResponse)>& respond, bool& later);
  HttpResponse route_shared_memory(const HttpRequest& request, const std::vector<std::string>& parts);
  PendingPtr infer(HttpRequest& request, const std::string& model, const std::string& version,
                   const std::function<void(HttpResponse)>& respond);
  PendingPtr generate(HttpRequest& request, const std::string& model, const std::string& version, bool stream,
                      const std::function<void(HttpResponse)>& respond);
  // A line of the log, where the settings ask for one.
  void log_request(const std::string& model, int status, Clock::time_point start, size_t bytes);
  void later(std::function<HttpResponse()> work, const std::function<void(HttpResponse)>& respond);

  Service& service_;
  const size_t max_body_;
};

HttpResponse error_response(Code code, std::string_view message);
// The text of a compressed body (gzip or deflate), of at most `limit` bytes. Throws Failure.
std::string inflate_body(const std::string& body, const std::string& encoding, size_t limit);
std::string deflate_body(const std::string& body, bool gzip);

}  // namespace sconce::server
