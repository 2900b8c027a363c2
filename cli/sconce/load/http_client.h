// HttpClient: a connection of HTTP/1.1 that does not block, one request at a time. Of the protocol it knows what
// servers of models need: Content-Length, keep-alive.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sconce::cli {

struct Url {
  std::string host, port = "80", path = "/";
  bool is_loopback() const;
};
// "http://HOST[:PORT][/PATH]". Throws UsageError.
Url parse_url(const std::string& text);

// The addresses of a host. Throws Error.
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;
Addresses resolve(const Url& url);

class HttpClient {
 public:
  explicit HttpClient(const addrinfo* address) : address_(address) {}
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;

  // Begins to send; the text must stay until the answer is there. Connects when it has to.
  void send(std::string_view request);
  bool is_busy() const { return busy_; }
  int file() const { return file_; }
  short events() const;  // what to poll for
  // Goes on when poll said so. True when the answer is there, or will never be.
  bool step();
  // Of the last answer; 0: the connection failed.
  int status() const { return status_; }
  const std::string& body() const { return body_; }
  // Gives the request up.
  void close();

 private:
  bool write();
  bool read();
  bool failed();

  const addrinfo* address_;
  int file_ = -1;
  bool connecting_ = false, busy_ = false, fresh_ = false;
  std::string_view out_, request_;
  std::string in_, body_;
  size_t body_at_ = 0, body_size_ = 0;
  bool keep_ = true;
  int status_ = 0;
};

}  // namespace sconce::cli
