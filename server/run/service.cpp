#include "server/run/service.h"

#include <unistd.h>

#include <cstdio>

#include "sconce/tensor/memory/allocator_stats.h"

namespace sconce::server {
namespace {

uint64_t resident_bytes() {
  uint64_t pages = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

template <class Histogram>
void write_histogram(std::string& out, const char* name, const std::string& labels, const Histogram& h) {
  // From 16 us to 34 s, by powers of two.
  for (int e = 14; e <= 35; ++e)
    out += fmt::format("{}_bucket{{{},le=\"{:.9g}\"}} {}\n", name, labels, static_cast<double>(1ull << e) * 1e-9,
                       h.below_power(e));
  out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, h.count());
  out += fmt::format("{}_sum{{{}}} {:.9f}\n{}_count{{{}}} {}\n", name, labels, static_cast<double>(h.sum()) * 1e-9,
                     name, labels, h.count());
}

void describe(std::string& out, const char* name, const char* kind, const char* help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

}  // namespace

Service::Service(ServiceSettings settings, Log& log)
    : settings_(std::move(settings)),
      log_(log),
      shared_(settings_.shared_memory),
      repository_(settings_.repository, log),
      background_([this] { tick(); }) {}
Service::~Service() { stop(Clock::now()); }

void Service::on_tick(std::function<void(Clock::time_point)> f) {
  const std::scoped_lock lock(ticks_mutex_);
  ticks_.push_back(std::move(f));
}
void Service::tick() {
  const Clock::time_point now = Clock::now();
  {
    const std::scoped_lock lock(ticks_mutex_);
    for (const auto& f : ticks_) f(now);
  }
  repository_.tick(now);
}

void Service::stop(Clock::time_point until) {
  begin_stop();
  background_.stop();
  repository_.stop(until);
}

std::optional<Failure> Service::refusal(const std::string& name, const std::string& version) {
  std::string method;
  const std::shared_ptr<Model> model = repository_.find_method(name, version, method);
  std::optional<Failure> full = model->full();
  if (full) model->stats()->answered(full->code, 0);
  return full;
}

JobPtr Service::infer(InferRequest request, std::function<void(Answer)> done) {
  std::string method;
  const Clock::time_point now = Clock::now();
  const std::shared_ptr<Model> model = repository_.find_method(request.model, request.version, method);
  if (const auto at = request.parameters.find("method"); at != request.parameters.end() && method.empty()) {
    const auto* name = std::get_if<std::string>(&at->second);
    if (!name) refuse("parameter 'method' has to be a name");
    // An argument of this name goes first.
    const bool is_argument = [&] {
      const auto& names = model->method("").argument_names();
      return std::find(names.begin(), names.end(), "method") != names.end();
    }();
    if (!is_argument) {
      method = *name;
      request.parameters.erase(at);
    }
  }
  try {
    return model->submit(std::move(request), method, now, std::move(done));
  } catch (const Failure& f) {
    model->stats()->answered(f.code, static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - now).count()));
    throw;
  }
}

bool Service::is_allowed(std::string_view authorization) const {
  if (settings_.tokens.empty()) return true;
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return false;
  authorization.remove_prefix(kScheme.size());
  bool allowed = false;
  for (const std::string& token : settings_.tokens) {
    unsigned differs = token.size() != authorization.size();
    for (size_t i = 0; i < token.size(); ++i)
      differs |= static_cast<unsigned char>(token[i]) ^
                 static_cast<unsigned char>(i < authorization.size() ? authorization[i] : 0);
    allowed |= differs == 0;
  }
  return allowed;
}

std::string Service::metrics() const {
  std::string out;
  const auto all = repository_.stats();
  const auto labels = [](const ModelStats& s) {
    return fmt::format("model=\"{}\",version=\"{}\"", escaped(s.name), escaped(s.version));
  };
  describe(out, "sconce_requests_total", "counter", "Inference requests that were answered, by outcome");
  for (const auto& s : all) {
    for (size_t code = 0; code < ModelStats::kCodes; ++code) {
      if (const uint64_t n = s->answers[code])
        out += fmt::format("sconce_requests_total{{{},outcome=\"{}\"}} {}\n", labels(*s),
                           code_info(static_cast<Code>(code)).name, n);
    }
  }
  describe(out, "sconce_request_seconds", "histogram", "From the arrival of a request to its answer");
  for (const auto& s : all) write_histogram(out, "sconce_request_seconds", labels(*s), s->latency);
  describe(out, "sconce_queue_seconds", "histogram", "How long requests waited");
  for (const auto& s : all) write_histogram(out, "sconce_queue_seconds", labels(*s), s->queued);
  describe(out, "sconce_compute_seconds", "histogram", "How long the model ran, for a request or a batch");
  for (const auto& s : all) write_histogram(out, "sconce_compute_seconds", labels(*s), s->computed);
  describe(out, "sconce_batch_rows", "histogram", "Rows that ran together");
  for (const auto& s : all) {
    uint64_t count = 0, rows = 0;
    size_t at = 0;
    for (size_t bound = 1; bound <= ModelStats::kMostBatch; bound *= 2) {
      for (; at <= bound; ++at) count += s->batches[at].infer.count, rows += at * s->batches[at].infer.count;
      out += fmt::format("sconce_batch_rows_bucket{{{},le=\"{}\"}} {}\n", labels(*s), bound, count);
    }
    out += fmt::format(
        "sconce_batch_rows_bucket{{{0},le=\"+Inf\"}} {1}\nsconce_batch_rows_sum{{{0}}} "
        "{2}\nsconce_batch_rows_count{{{0}}} {1}\n",
        labels(*s), count, rows);
  }
  describe(out, "sconce_waiting_requests", "gauge", "Requests in the queue");
  for (const auto& s : all) out += fmt::format("sconce_waiting_requests{{{}}} {}\n", labels(*s), s->waiting.load());
  describe(out, "sconce_running_batches", "gauge", "Instances that run");
  for (const auto& s : all) out += fmt::format("sconce_running_batches{{{}}} {}\n", labels(*s), s->running.load());
  const AllocatorStats memory = allocator_stats();
  describe(out, "sconce_tensor_memory_bytes", "gauge", "Memory that tensors use");
  out += fmt::format("sconce_tensor_memory_bytes {}\n", memory.used);
  describe(out, "sconce_held_memory_bytes", "gauge", "Memory that is held for tensors, in use or for reuse");
  out += fmt::format("sconce_held_memory_bytes {}\n", memory.held);
  describe(out, "process_resident_memory_bytes", "gauge", "Resident memory of the process");
  out += fmt::format("process_resident_memory_bytes {}\n", resident_bytes());
  describe(out, "sconce_connections", "gauge", "HTTP connections that are open");
  out += fmt::format("sconce_connections {}\n", connections.load());
  describe(out, "sconce_transport_requests_total", "counter", "Requests of any kind, by transport");
  out += fmt::format("sconce_transport_requests_total{{transport=\"http\"}} {}\n", http_requests.load());
  out += fmt::format("sconce_transport_requests_total{{transport=\"grpc\"}} {}\n", grpc_requests.load());
  return out;
}

}  // namespace sconce::server
