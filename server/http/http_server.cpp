#include "server/http/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "server/http/event_stream.h"
#include "server/http/router.h"

namespace sconce::server {
namespace {

// Note [Connections of a thread]
// libmicrohttpd 0.9.75 takes up to 128 events at a time, and when it got as many it waits for more before it looks at them: 128
// connections that are ready at once stand still until another one is. So no thread has that many.
constexpr size_t kConnectionsOfThread = 120;
constexpr size_t kStreamBlock = 4096;
constexpr auto kLongRequest = std::chrono::milliseconds(20);  // from here on its client is looked after

// A connection, from its accept on.
struct Peer {
  int file = -1;
  Clock::time_point since;  // the last answer, or the accept
  Clock::time_point begun;  // of the request that arrives; the epoch when there is none
  bool has_request = false;
};

// A request and its answer.
struct Exchange {
  enum State : int { reading, routed, waiting, done };

  HttpRequest request;
  HttpResponse response;
  std::atomic<int> state{reading};
  MHD_Connection* connection = nullptr;
  int file = -1;
  Clock::time_point begun;
  PendingPtr pending;  // the lock of Impl guards it
  bool too_large = false;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// Whether somebody works for it still, as far as is known.
bool is_under_way(const Exchange& e) {
  return e.state == Exchange::waiting || (e.state == Exchange::done && e.response.stream);
}

std::string header(MHD_Connection* c, const char* name) {
  const char* v = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
  return v ? v : "";
}

}  // namespace

struct HttpServer::Impl {
  Impl(Service& service, const HttpSettings& settings)
      : service(service), settings(settings), router(service, settings.max_body) {}

  Service& service;
  const HttpSettings settings;
  Router router;
  MHD_Daemon* daemon = nullptr;
  std::mutex mutex;
  std::unordered_map<MHD_Connection*, Peer> peers;
  std::unordered_set<ExchangePtr> exchanges;  // being answered
  std::atomic<bool> stopping{false};

  static MHD_Result on_request(void* self, MHD_Connection* c, const char* url, const char* method, const char*,
                               const char* data, size_t* size, void** state) noexcept {
    try {
      return static_cast<Impl*>(self)->request(c, url, method, data, size, state);
    } catch (...) {  // memory is gone: the connection is closed
      return MHD_NO;
    }
  }
  // Called for the first line of a request.
  static void* on_line(void* self, const char*, MHD_Connection* c) noexcept {
    Impl& me = *static_cast<Impl*>(self);
    const std::scoped_lock lock(me.mutex);
    if (const auto at = me.peers.find(c); at != me.peers.end()) {
      at->second.begun = Clock::now();
      at->second.has_request = true;
    }
    return nullptr;
  }
  static void on_completed(void* self, MHD_Connection* c, void** state, MHD_RequestTerminationCode) noexcept {
    static_cast<Impl*>(self)->completed(c, state);
  }
  static void on_connection(void* self, MHD_Connection* c, void**, MHD_ConnectionNotificationCode code) noexcept {
    Impl& me = *static_cast<Impl*>(self);
    const std::scoped_lock lock(me.mutex);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      Peer& peer = me.peers[c];
      if (const auto* info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD))
        peer.file = info->connect_fd;
      peer.since = Clock::now();
      me.service.connections.fetch_add(1, std::memory_order_relaxed);
    } else {
      me.peers.erase(c);
      me.service.connections.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  MHD_Result request(MHD_Connection* c, const char* url, const char* method, const char* data, size_t* size,
                     void** state) {
    if (!*state) return begin(c, url, method, state);
    const ExchangePtr exchange = *static_cast<ExchangePtr*>(*state);
    if (*size) {
      std::string& body = exchange->request.body;
      if (body.size() + *size > settings.max_body) {
        exchange->too_large = true;
        body = {};
      }
      if (!exchange->too_large) body.append(data, *size);
      *size = 0;
      return MHD_YES;
    }
    if (exchange->state == Exchange::done) return send(c, *exchange);
    if (exchange->state != Exchange::reading) return MHD_YES;
    if (exchange->too_large) {
      exchange->response =
          error_response(Code::too_large, fmt::format("a body has at most {} bytes", settings.max_body));
      exchange->state = Exchange::done;
      return send(c, *exchange);
    }
    return route(c, exchange);
  }

  MHD_Result begin(MHD_Connection* c, const char* url, const char* method, void** state) {
    auto exchange = std::make_unique<ExchangePtr>(std::make_shared<Exchange>());
    HttpRequest& r = (*exchange)->request;
    r.method = method;
    r.path = url;
    r.has_query = MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, nullptr, nullptr) > 0;
    r.authorization = header(c, "Authorization");
    r.inference_header_length = header(c, "Inference-Header-Content-Length");
    r.content_encoding = header(c, "Content-Encoding");
    r.accept_encoding = header(c, "Accept-Encoding");
    (*exchange)->connection = c;
    if (const auto* info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD))
      (*exchange)->file = info->connect_fd;
    const std::string length = header(c, "Content-Length");
    if (!length.empty()) {
      const unsigned long long n = std::strtoull(length.c_str(), nullptr, 10);
      if (n > settings.max_body) {  // refused before it is sent
        const Exchange& e = **exchange;
        Exchange refused;
        refused.response =
            error_response(Code::too_large, fmt::format("a body has at most {} bytes, got {}", settings.max_body, n));
        refused.connection = e.connection;
        *state = exchange.release();
        return send(c, refused);
      }
      r.body.reserve(std::min<size_t>(n, 1 << 20));
    }
    *state = exchange.release();
    return MHD_YES;
  }

  MHD_Result route(MHD_Connection* c, const ExchangePtr& exchange) {
    exchange->begun = Clock::now();
    exchange->state = Exchange::routed;
    {
      const std::scoped_lock lock(mutex);
      exchanges.insert(exchange);
    }
    PendingPtr pending = router.handle(std::move(exchange->request), [exchange](HttpResponse response) {
      exchange->response = std::move(response);
      // Whoever sees that the other was here first wakes the connection.
      if (exchange->state.exchange(Exchange::done) == Exchange::waiting) MHD_resume_connection(exchange->connection);
    });
    if (exchange->state == Exchange::done && !exchange->response.stream) return send(c, *exchange);
    if (pending) {
      const std::scoped_lock lock(mutex);
      exchange->pending = std::move(pending);
    }
    if (exchange->state == Exchange::done) return send(c, *exchange);
    MHD_suspend_connection(c);
    int expected = Exchange::routed;
    if (!exchange->state.compare_exchange_strong(expected, Exchange::waiting)) MHD_resume_connection(c);
    return MHD_YES;
  }

  static MHD_Response* whole_response(std::string text) {
    auto* body = new std::string(std::move(text));
    MHD_Response* r = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size(), body->data(), [](void* text) { delete static_cast<std::string*>(text); }, body);
    if (!r) delete body;
    return r;
  }

  // A connection that has sent all there is sleeps until there is more.
  struct Reader {
    std::shared_ptr<EventStream> stream;
    MHD_Connection* connection;

    static ssize_t read(void* self, uint64_t, char* to, size_t size) noexcept {
      const Reader& me = *static_cast<Reader*>(self);
      bool at_end = false;
      const size_t count = me.stream->take(to, size, at_end, [&] { MHD_suspend_connection(me.connection); });
      return at_end ? MHD_CONTENT_READER_END_OF_STREAM : static_cast<ssize_t>(count);
    }
  };
  static MHD_Response* stream_response(MHD_Connection* c, const std::shared_ptr<EventStream>& stream) {
    stream->on_wake([c] { MHD_resume_connection(c); });
    auto* reader = new Reader{stream, c};
    MHD_Response* r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock, &Reader::read, reader,
                                                        [](void* self) { delete static_cast<Reader*>(self); });
    if (!r) delete reader;
    return r;
  }

  MHD_Result send(MHD_Connection* c, Exchange& e) {
    MHD_Response* r =
        e.response.stream ? stream_response(c, e.response.stream) : whole_response(std::move(e.response.body));
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", e.response.type.c_str());
    if (e.response.type.starts_with("text/html")) {
      MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
      MHD_add_response_header(r, "X-Frame-Options", "SAMEORIGIN");
    }
    for (const auto& [name, value] : e.response.headers) MHD_add_response_header(r, name.c_str(), value.c_str());
    if (stopping) MHD_add_response_header(r, "Connection", "close");
    const MHD_Result queued = MHD_queue_response(c, static_cast<unsigned>(e.response.status), r);
    MHD_destroy_response(r);
    return queued;
  }

  void completed(MHD_Connection* c, void** state) {
    PendingPtr gone;
    const std::unique_ptr<ExchangePtr> exchange(static_cast<ExchangePtr*>(*state));
    *state = nullptr;
    {
      const std::scoped_lock lock(mutex);
      if (const auto at = peers.find(c); at != peers.end()) {
        at->second.has_request = false;
        at->second.since = Clock::now();
      }
      if (!exchange) return;
      exchanges.erase(*exchange);
      PendingPtr pending = std::move((*exchange)->pending);
      if ((*exchange)->state != Exchange::done || (*exchange)->response.stream) gone = std::move(pending);
    }
    if (gone) gone->cancel();
  }

  // Requests of clients that have gone; connections that take too long.
  void tick(Clock::time_point now) {
    std::vector<PendingPtr> gone;
    {
      const std::scoped_lock lock(mutex);
      for (const ExchangePtr& e : exchanges) {
        if (!e->pending || !is_under_way(*e) || now - e->begun < kLongRequest) continue;
        pollfd p{e->file, POLLRDHUP, 0};
        if (poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR))) gone.push_back(e->pending);
      }
      for (auto& [c, peer] : peers) {
        const bool answering = std::any_of(exchanges.begin(), exchanges.end(),
                                           [c = c](const ExchangePtr& e) { return e->connection == c; });
        if (answering) continue;
        const bool late =
            peer.has_request ? now - peer.begun > settings.read_timeout : now - peer.since > settings.idle_timeout;
        if (late) shutdown(peer.file, SHUT_RDWR);
      }
    }
    for (const PendingPtr& p : gone) p->cancel();
  }
};

HttpServer::HttpServer(Service& service, const HttpSettings& settings)
    : impl_(std::make_unique<Impl>(service, settings)) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string port = std::to_string(settings.port);
  if (const int wrong = getaddrinfo(settings.host.c_str(), port.c_str(), &hints, &found))
    refuse("--host {}: {}", settings.host, gai_strerror(wrong));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  // The socket is ours, so that the reason is known when it cannot be had.
  const int listening = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listening < 0 || bind(listening, found->ai_addr, found->ai_addrlen) != 0 || listen(listening, 1024) != 0) {
    const std::string why = std::strerror(errno);
    if (listening >= 0) close(listening);
    refuse("cannot listen on {}:{}: {}", settings.host, settings.port, why);
  }
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
  if (found->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
  std::vector<MHD_OptionItem> options = {
      {MHD_OPTION_LISTEN_SOCKET, listening, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(settings.max_connections), nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(settings.max_header), nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(settings.idle_timeout.count()), nullptr},
      {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&Impl::on_completed), impl_.get()},
      {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&Impl::on_connection), impl_.get()},
      {MHD_OPTION_URI_LOG_CALLBACK, reinterpret_cast<intptr_t>(&Impl::on_line), impl_.get()},
      {MHD_OPTION_UNESCAPE_CALLBACK,
       reinterpret_cast<intptr_t>(+[](void*, MHD_Connection*, char* text) -> size_t { return std::strlen(text); }),
       nullptr},
  };
  const size_t threads = std::max<size_t>(static_cast<size_t>(settings.threads),
                                          (settings.max_connections + kConnectionsOfThread - 1) / kConnectionsOfThread);
  if (threads > 1) options.push_back({MHD_OPTION_THREAD_POOL_SIZE, static_cast<intptr_t>(threads), nullptr});
  if (!settings.certificate.empty()) {
    flags |= MHD_USE_TLS;
    options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(impl_->settings.certificate.c_str())});
    options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(impl_->settings.key.c_str())});
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  impl_->daemon = MHD_start_daemon(flags, static_cast<uint16_t>(settings.port), nullptr, nullptr, &Impl::on_request,
                                   impl_.get(), MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
  if (!impl_->daemon) {
    close(listening);
    refuse("the HTTP server cannot start{}",
           settings.certificate.empty() ? "" : ": are the certificate and the key right?");
  }
  service.on_tick([impl = impl_.get()](Clock::time_point now) { impl->tick(now); });
}

HttpServer::~HttpServer() { stop(Clock::now()); }

int HttpServer::port() const {
  const auto* info = MHD_get_daemon_info(impl_->daemon, MHD_DAEMON_INFO_BIND_PORT);
  if (info && info->port) return info->port;
  return impl_->settings.port;
}

void HttpServer::stop(Clock::time_point until) {
  if (!impl_->daemon) return;
  impl_->stopping = true;
  if (const int listening = MHD_quiesce_daemon(impl_->daemon); listening >= 0) close(listening);
  for (;;) {
    std::vector<PendingPtr> left;
    {
      const std::scoped_lock lock(impl_->mutex);
      if (impl_->exchanges.empty()) break;
      if (Clock::now() >= until) {
        for (const ExchangePtr& e : impl_->exchanges) {
          if (e->pending) left.push_back(e->pending);
        }
      }
    }
    for (const PendingPtr& p : left) p->cancel();
    if (Clock::now() >= until + std::chrono::seconds(35)) break;  // the longest task of the background
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  MHD_stop_daemon(impl_->daemon);
  impl_->daemon = nullptr;
}

}  // namespace sconce::server
