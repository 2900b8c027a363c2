#include "server/http/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <unordered_map>

#include "server/http/event_stream.h"
#include "server/http/router.h"
#include "server/run/spinner.h"

namespace sconce::server {
namespace {

// Note [Threads of HTTP]
// Each thread runs a daemon of libmicrohttpd of its own, by MHD_run_wait; all listen on one socket. So the threads
// are as many as processors, and decide themselves when to sleep (Note [Spinning]).
//
// libmicrohttpd 0.9.75 takes up to 128 events at a time, and when it got as many it waits for more before it looks at
// them: 128 connections that are ready at once would stand still until another one is. So a thread with many waits by
// itself, and calls MHD_run, which waits for nothing.
constexpr size_t kMostEvents = 120;
constexpr int kStopLooks = 5;       // milliseconds between looks whether all is over, when the server stops
constexpr size_t kMostThreads = 8;  // unless more are asked for
constexpr size_t kStreamBlock = 4096;
constexpr unsigned kThorough = 64;                            // one of so many ticks asks about idle connections, too
constexpr auto kLongRequest = std::chrono::milliseconds(20);  // from here on its client is looked after

// A request and its answer.
struct Exchange {
  enum State : int { reading, routed, waiting, done };

  HttpRequest request;
  HttpResponse response;
  std::atomic<int> state{reading};
  MHD_Connection* connection = nullptr;
  Clock::time_point begun;
  PendingPtr pending;  // the peer's lock guards it
  bool too_large = false;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// A thread of Note [Threads of HTTP].
struct Worker {
  MHD_Daemon* daemon = nullptr;
  std::thread thread;
  int wake = -1;  // an eventfd, which the daemon waits for beside its own files; it takes it for nothing of its own
  // For the thread itself.
  size_t connections = 0;
  Spinner spinner;
  bool answered = false;  // a request, without another thread, since this was set to false
};
thread_local Worker* this_worker = nullptr;

// Ends MHD_suspend_connection, by any thread. MHD_run_wait notices only when it is called again, so its thread is
// woken.
void resume(MHD_Connection* c, const Worker& worker) {
  MHD_resume_connection(c);
  eventfd_write(worker.wake, 1);
}

// A connection, from its accept on.
struct Peer {
  int file = -1;
  std::mutex mutex;          // of what follows
  Clock::time_point since;   // the last answer, the accept, or the begin of the request that arrives
  bool has_request = false;  // one arrives
  ExchangePtr exchange;      // being answered
};
Peer& peer_of(MHD_Connection* c) {
  return *static_cast<Peer*>(MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

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
  std::vector<std::unique_ptr<Worker>> workers;
  std::mutex mutex;
  std::unordered_map<Peer*, std::unique_ptr<Peer>> peers;
  std::atomic<size_t> answering{0};  // requests
  unsigned ticks = 0;
  std::atomic<bool> stopping{false}, stopped{false};

  void work(Worker& w) {
    this_worker = &w;
    while (!stopped) {
      if (stopping) {
        if (const int listening = MHD_quiesce_daemon(w.daemon); listening >= 0) close(listening);
      }
      const int wait = stopping ? kStopLooks : -1;
      w.spinner.sleep();
      if (w.connections < kMostEvents)
        MHD_run_wait(w.daemon, wait);
      else
        run_many(w, wait);
      while (w.answered && !stopping) {
        w.answered = false;
        const bool found = w.spinner.spin([&] {
          MHD_run_wait(w.daemon, 0);
          return w.answered;
        });
        if (!found) break;
      }
    }
  }
  static void run_many(const Worker& w, int wait) {
    MHD_UNSIGNED_LONG_LONG most = 0;
    if (MHD_get_timeout(w.daemon, &most) == MHD_YES && (wait < 0 || most < static_cast<unsigned long long>(wait)))
      wait = static_cast<int>(std::min<unsigned long long>(most, 1000));
    pollfd p{MHD_get_daemon_info(w.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN, 0};
    if (wait != 0) poll(&p, 1, wait);
    MHD_run(w.daemon);
  }
  static MHD_Result on_request(void* self, MHD_Connection* c, const char* url, const char* method, const char*,
                               const char* data, size_t* size, void** state) noexcept {
    try {
      return static_cast<Impl*>(self)->request(c, url, method, data, size, state);
    } catch (...) {  // memory is gone: the connection is closed
      return MHD_NO;
    }
  }
  // Called for the first line of a request.
  static void* on_line(void*, const char*, MHD_Connection* c) noexcept {
    if (this_worker) this_worker->spinner.wake();
    Peer& peer = peer_of(c);
    const std::scoped_lock lock(peer.mutex);
    peer.since = Clock::now();
    peer.has_request = true;
    return nullptr;
  }
  static void on_completed(void* self, MHD_Connection* c, void** state, MHD_RequestTerminationCode) noexcept {
    static_cast<Impl*>(self)->completed(c, state);
  }
  static void on_connection(void* self, MHD_Connection* c, void** context,
                            MHD_ConnectionNotificationCode code) noexcept {
    Impl& me = *static_cast<Impl*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      auto peer = std::make_unique<Peer>();
      if (const auto* info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD))
        peer->file = info->connect_fd;
      peer->since = Clock::now();
      *context = peer.get();
      ++this_worker->connections;
      me.service.connections.fetch_add(1, std::memory_order_relaxed);
      const std::scoped_lock lock(me.mutex);
      me.peers.emplace(peer.get(), std::move(peer));
    } else {
      if (this_worker) --this_worker->connections;
      me.service.connections.fetch_sub(1, std::memory_order_relaxed);
      const std::scoped_lock lock(me.mutex);
      me.peers.erase(static_cast<Peer*>(*context));
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
    Peer& peer = peer_of(c);
    exchange->begun = Clock::now();
    exchange->state = Exchange::routed;
    {
      const std::scoped_lock lock(peer.mutex);
      peer.exchange = exchange;
      answering.fetch_add(1, std::memory_order_relaxed);
    }
    PendingPtr pending =
        router.handle(std::move(exchange->request), [exchange, w = this_worker](HttpResponse response) {
          exchange->response = std::move(response);
          // Whoever sees that the other was here first wakes the connection.
          if (exchange->state.exchange(Exchange::done) == Exchange::waiting) resume(exchange->connection, *w);
        });
    if (exchange->state == Exchange::done && !exchange->response.stream) {
      this_worker->answered = true;
      return send(c, *exchange);
    }
    if (pending) {
      const std::scoped_lock lock(peer.mutex);
      exchange->pending = std::move(pending);
    }
    if (exchange->state == Exchange::done) return send(c, *exchange);
    MHD_suspend_connection(c);
    int expected = Exchange::routed;
    if (!exchange->state.compare_exchange_strong(expected, Exchange::waiting)) resume(c, *this_worker);
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
    stream->on_wake([c, w = this_worker] { resume(c, *w); });
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
      Peer& peer = peer_of(c);
      const std::scoped_lock lock(peer.mutex);
      peer.has_request = false;
      peer.since = Clock::now();
      if (!exchange) return;
      if (peer.exchange) answering.fetch_sub(1, std::memory_order_relaxed);
      peer.exchange.reset();
      PendingPtr pending = std::move((*exchange)->pending);
      if ((*exchange)->state != Exchange::done || (*exchange)->response.stream) gone = std::move(pending);
    }
    if (gone) gone->cancel();
  }

  // Requests of clients that have gone; connections that take too long.
  void tick(Clock::time_point now) {
    std::vector<PendingPtr> gone;
    const bool thorough = ++ticks % kThorough == 0;
    const auto has_left = [](const Peer& peer) {
      pollfd p{peer.file, POLLRDHUP, 0};
      return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
    };
    {
      const std::scoped_lock lock(mutex);
      for (const auto& [key, peer] : peers) {
        const std::scoped_lock lock_peer(peer->mutex);
        if (const Exchange* e = peer->exchange.get()) {
          if (!e->pending || !is_under_way(*e) || now - e->begun < kLongRequest) continue;
          if (has_left(*peer)) gone.push_back(e->pending);
        } else if (thorough && now - peer->since > settings.read_timeout && has_left(*peer)) {
          shutdown(peer->file, SHUT_RDWR);  // within a first line: libmicrohttpd waits for its rest
        } else if (now - peer->since > (peer->has_request ? settings.read_timeout : settings.idle_timeout)) {
          shutdown(peer->file, SHUT_RDWR);
        }
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
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
  if (found->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  const size_t threads = std::min<size_t>(
      settings.threads ? static_cast<size_t>(settings.threads) : std::min<size_t>(processors, kMostThreads),
      settings.max_connections);
  if (!settings.certificate.empty()) flags |= MHD_USE_TLS;
  for (size_t i = 0; i < threads; ++i) {
    const size_t connections = settings.max_connections / threads + (i < settings.max_connections % threads);
    std::vector<MHD_OptionItem> options = {
        {MHD_OPTION_LISTEN_SOCKET, i == 0 ? listening : dup(listening), nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(connections), nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(settings.max_header), nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(settings.idle_timeout.count()), nullptr},
        {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&Impl::on_completed), impl_.get()},
        {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&Impl::on_connection), impl_.get()},
        {MHD_OPTION_URI_LOG_CALLBACK, reinterpret_cast<intptr_t>(&Impl::on_line), impl_.get()},
        {MHD_OPTION_UNESCAPE_CALLBACK,
         reinterpret_cast<intptr_t>(+[](void*, MHD_Connection*, char* text) -> size_t { return std::strlen(text); }),
         nullptr},
    };
    if (!settings.certificate.empty()) {
      options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(impl_->settings.certificate.c_str())});
      options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(impl_->settings.key.c_str())});
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    auto worker = std::make_unique<Worker>();
    worker->daemon = MHD_start_daemon(flags, static_cast<uint16_t>(settings.port), nullptr, nullptr, &Impl::on_request,
                                      impl_.get(), MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
    if (!worker->daemon) {
      close(static_cast<int>(options[0].value));
      stop(Clock::now());
      refuse("the HTTP server cannot start{}",
             settings.certificate.empty() ? "" : ": are the certificate and the key right?");
    }
    worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;  // of no connection: data.ptr is null
    epoll_ctl(MHD_get_daemon_info(worker->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLL_CTL_ADD, worker->wake,
              &event);
    impl_->workers.push_back(std::move(worker));
  }
  for (const auto& worker : impl_->workers)
    worker->thread = std::thread([impl = impl_.get(), w = worker.get()] { impl->work(*w); });
  service.on_tick([impl = impl_.get()](Clock::time_point now) { impl->tick(now); });
}

HttpServer::~HttpServer() { stop(Clock::now()); }

int HttpServer::port() const {
  const auto* info = MHD_get_daemon_info(impl_->workers[0]->daemon, MHD_DAEMON_INFO_BIND_PORT);
  if (info && info->port) return info->port;
  return impl_->settings.port;
}

void HttpServer::stop(Clock::time_point until) {
  if (impl_->stopped) return;
  impl_->stopping = true;
  for (const auto& w : impl_->workers) eventfd_write(w->wake, 1);
  while (impl_->answering > 0) {
    std::vector<PendingPtr> left;
    if (Clock::now() >= until) {
      const std::scoped_lock lock(impl_->mutex);
      for (const auto& [key, peer] : impl_->peers) {
        const std::scoped_lock lock_peer(peer->mutex);
        if (peer->exchange && peer->exchange->pending) left.push_back(peer->exchange->pending);
      }
    }
    for (const PendingPtr& p : left) p->cancel();
    if (Clock::now() >= until + std::chrono::seconds(35)) break;  // the longest task of the background
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  impl_->stopped = true;
  for (const auto& w : impl_->workers) {
    if (w->thread.joinable()) w->thread.join();
    MHD_stop_daemon(w->daemon);
    close(w->wake);
  }
}

}  // namespace sconce::server
