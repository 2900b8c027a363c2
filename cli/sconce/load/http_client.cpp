#include "load/http_client.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "commands/commands.h"
#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

constexpr size_t kLongestHeader = 64 << 10;
constexpr size_t kLargestBody = 1ull << 30;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

bool Url::is_loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

Url parse_url(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) throw UsageError(fmt::format("a URL begins with http://, got '{}'", text));
  Url url;
  std::string rest = text.substr(kScheme.size());
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    url.path = rest.substr(slash);
    rest.resize(slash);
  }
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == rest.npos) throw UsageError(fmt::format("'{}': a ']' is missing", text));
    url.host = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
  } else {
    const size_t colon = std::min(rest.find(':'), rest.size());
    url.host = rest.substr(0, colon);
    rest = rest.substr(colon);
  }
  if (!rest.empty()) {
    int port = 0;
    const auto done = std::from_chars(rest.data() + 1, rest.data() + rest.size(), port);
    if (rest[0] != ':' || done.ptr != rest.data() + rest.size() || port < 1 || port > 65535)
      throw UsageError(fmt::format("'{}': '{}' is no port", text, rest));
    url.port = rest.substr(1);
  }
  if (url.host.empty() || url.path.find_first_of(" \r\n") != url.path.npos)
    throw UsageError(fmt::format("'{}' is no URL", text));
  return url;
}

Addresses resolve(const Url& url) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int wrong = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found))
    fail("{}: {}", url.host, gai_strerror(wrong));
  return {found, freeaddrinfo};
}

void HttpClient::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  busy_ = connecting_ = false;
}

void HttpClient::send(std::string_view request) {
  request_ = out_ = request;
  in_.clear();
  body_.clear();
  body_at_ = body_size_ = 0;
  status_ = 0;
  busy_ = true;
  fresh_ = file_ < 0;
  if (fresh_) {
    file_ = socket(address_->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connecting_ = file_ >= 0 && connect(file_, address_->ai_addr, address_->ai_addrlen) != 0;
    if (file_ < 0 || (connecting_ && errno != EINPROGRESS)) return;  // step() says that it failed
  }
  if (!connecting_) write();
}

short HttpClient::events() const {
  return static_cast<short>(connecting_ || !out_.empty() ? POLLOUT | POLLIN : POLLIN);
}

bool HttpClient::failed() {
  // A server may close a connection that was idle just when it is used again: that is no failed request.
  const bool again = !fresh_ && in_.empty();
  close();
  status_ = 0;
  if (!again) return true;
  send(request_);
  return file_ < 0;
}

bool HttpClient::step() {
  if (file_ < 0) return failed();
  if (connecting_) {
    int wrong = 0;
    socklen_t size = sizeof wrong;
    if (getsockopt(file_, SOL_SOCKET, SO_ERROR, &wrong, &size) != 0 || wrong) return failed();
    pollfd p{file_, POLLOUT, 0};
    if (poll(&p, 1, 0) <= 0) return false;
    connecting_ = false;
  }
  if (!write()) return failed();
  return read();
}

bool HttpClient::write() {
  while (!out_.empty()) {
    const ssize_t n = ::send(file_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    out_.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool HttpClient::read() {
  char piece[1 << 16];
  for (;;) {
    const ssize_t n = recv(file_, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) return failed();
    in_.append(piece, static_cast<size_t>(n));
    if (body_at_ == 0) {
      const size_t end = in_.find("\r\n\r\n");
      if (end == in_.npos) {
        if (in_.size() > kLongestHeader) return failed();
        continue;
      }
      if (in_.size() < 12 || !in_.starts_with("HTTP/1.")) return failed();
      std::from_chars(in_.data() + 9, in_.data() + 12, status_);
      const std::string header = lower(std::string_view(in_).substr(0, end + 2));
      const size_t length = header.find("\r\ncontent-length:");
      if (length == header.npos) return failed();
      size_t at = length + 17;
      while (at < header.size() && header[at] == ' ') ++at;
      if (std::from_chars(header.data() + at, header.data() + header.size(), body_size_).ec != std::errc() ||
          body_size_ > kLargestBody)
        return failed();
      keep_ = header.find("\r\nconnection: close") == header.npos;
      body_at_ = end + 4;
    }
    if (in_.size() < body_at_ + body_size_) continue;
    body_ = in_.substr(body_at_, body_size_);
    busy_ = false;
    if (!keep_) close();
    return true;
  }
}

}  // namespace sconce::cli
