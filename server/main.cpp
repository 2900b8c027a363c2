// sconce-server: serves models over HTTP and gRPC until it is told to stop. `sconce serve` starts it.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sconce/dispatch/library.h"
#include "server/http/http_server.h"
#include "server/run/code_pages.h"
#ifdef SCONCE_SERVER_GRPC
#include "server/grpc/grpc_server.h"
#endif

namespace {

using namespace sconce;
using namespace sconce::server;
using namespace std::chrono_literals;

constexpr const char* kDescription =
    "Serves models over HTTP and gRPC by the Open Inference Protocol v2: clients of Triton and KServe work unchanged.";
constexpr const char* kFooter =
    "A MODEL is a file (.pt, .ptl, .pt2, .scx), or NAME=FILE. A folder of --models has NAME/VERSION/model.pt, or "
    "NAME.pt.\n"
    "Methods other than forward are models of their own: NAME:METHOD.\n"
    "SIGTERM and SIGINT stop it when the requests that it has are answered; SIGHUP loads all models again.\n"
    "Examples:\n"
    "  sconce serve resnet18.pt\n"
    "  sconce serve encoder=a.pt decoder=b.pt --port 9000 --max-batch 16 --batch-delay 2ms\n"
    "  sconce serve --models models/ --control --host 0.0.0.0 --tokens tokens.txt --tls-certificate c.pem --tls-key "
    "k.pem";

struct Options {
  std::vector<std::string> models, libraries;
  std::string folder, tokens, certificate, key, log;
  std::string batch_delay, timeout, max_memory, max_work, max_body = "64M", drain = "30s", read_timeout = "60s";
  HttpSettings http;
  ServiceSettings service;
  ModelConfig config;
  int grpc_port = 8001;
  bool no_grpc = false, unverified = false, keep_going = false, shared_memory = false;
};

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in) throw UsageError(fmt::format("{}: cannot be read", path));
  return out.str();
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("MODEL", o.models, "Files of models; NAME=FILE gives one a name")->type_name("");
  app.add_option("--models", o.folder, "A folder of models with versions")->type_name("DIR");
  app.add_option("--host", o.http.host, "The address to listen on; 127.0.0.1 by default: this machine alone")
      ->type_name("ADDRESS");
  app.add_option("--port", o.http.port, "Of HTTP; 8000 by default, 0: any that is free")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  app.add_option("--grpc-port", o.grpc_port, "Of gRPC; 8001 by default, 0: any that is free")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  app.add_flag("--no-grpc", o.no_grpc, "HTTP alone");
  app.add_option("--max-batch", o.config.max_batch_size, "Joins requests to batches of up to N rows")->type_name("N");
  app.add_option("--batch-delay", o.batch_delay, "How long a request waits for others to join it; 0 by default")
      ->type_name("TIME");
  app.add_option("--preferred", o.config.preferred_batch_sizes, "Sizes of batches that wait for no others")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--instances", o.config.instances, "Requests, or batches, of a model that run at a time; 1 by default")
      ->type_name("N");
  app.add_option("--threads", o.config.threads, "Threads that one operator of a model may use; 1 by default")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--queue", o.config.queue, "Requests that may wait for a model; 1024 by default")->type_name("N");
  app.add_option("--timeout", o.timeout, "Of requests that set none: waiting and running")->type_name("TIME");
  app.add_option("--max-memory", o.max_memory, "Memory that a request may use")->type_name("BYTES");
  app.add_option("--max-work", o.max_work, "Elements that a request may compute")->type_name("N");
  app.add_flag("--optimize", o.config.optimize, "Freezes models: results may differ in the last digits");
  app.add_flag("--control", o.service.repository.control, "Clients may load and unload models");
  app.add_flag("--unverified", o.unverified, "Serves files that sconce verify would not call ok");
  app.add_flag("--keep-going", o.keep_going, "Starts although a model cannot be loaded");
  app.add_flag("--shared-memory", o.shared_memory,
               "Clients may use shared memory; on by default for a loopback address");
  app.add_option("--tokens", o.tokens, "A file with a token on each line: clients need one")->type_name("FILE");
  app.add_option("--tls-certificate", o.certificate, "PEM: HTTPS, and gRPC over TLS")->type_name("FILE");
  app.add_option("--tls-key", o.key, "PEM")->type_name("FILE");
  app.add_option("--http-threads", o.http.threads,
                 "That read and write HTTP; by default as many as there are processors")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  app.add_option("--max-body", o.max_body, "Bytes of a request; 64M by default")->type_name("BYTES");
  app.add_option("--max-connections", o.http.max_connections, "Of HTTP; 1000 by default")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  app.add_option("--read-timeout", o.read_timeout, "For a request to arrive; 60s by default")->type_name("TIME");
  app.add_option("--drain", o.drain, "How long requests may take when the server stops; 30s by default")
      ->type_name("TIME");
  app.add_option("--log", o.log, "Where lines of JSON go: a file, or none; else standard error")->type_name("FILE");
  app.add_flag("--log-requests", o.service.log_requests, "A line for each inference request");
  app.add_option("--ops", o.libraries, "Loads this library of custom operators first; repeatable")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

void finish_options(Options& o) {
  if (o.models.empty() && o.folder.empty()) throw UsageError("a MODEL or --models is needed, see sconce serve --help");
  if (!o.batch_delay.empty()) o.config.batch_delay = parse_duration(o.batch_delay);
  if (!o.timeout.empty()) o.config.timeout = parse_duration(o.timeout);
  if (!o.max_memory.empty()) o.config.max_memory = parse_amount(o.max_memory, true);
  if (!o.max_work.empty()) o.config.max_work = parse_amount(o.max_work, false);
  o.http.max_body = parse_amount(o.max_body, true);
  o.http.read_timeout = std::max(1s, std::chrono::duration_cast<std::chrono::seconds>(parse_duration(o.read_timeout)));
  if (o.http.max_body < 1 || o.http.max_body > 1ull << 31) throw UsageError("--max-body takes up to 2G");
  if (o.certificate.empty() != o.key.empty()) throw UsageError("--tls-certificate and --tls-key belong together");
  if (!o.certificate.empty()) {
    o.http.certificate = read_text(o.certificate);
    o.http.key = read_text(o.key);
  }
  if (!o.tokens.empty()) {
    std::istringstream lines(read_text(o.tokens));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) o.service.tokens.push_back(line);
    }
    if (o.service.tokens.empty()) throw UsageError(fmt::format("{}: has no token", o.tokens));
  }
  o.service.repository.folder = o.folder;
  o.service.repository.defaults = o.config;
  o.service.repository.verify = !o.unverified;
  o.service.shared_memory = o.shared_memory || is_loopback(o.http.host);
}

// The program sconce beside this one.
std::string program_beside() {
  std::error_code wrong;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", wrong);
  const auto beside = self.parent_path() / "sconce";
  return !wrong && std::filesystem::exists(beside) ? beside.string() : "";
}

int log_file(const std::string& log) {
  if (log.empty()) return 2;
  if (log == "none") return -1;
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw UsageError(fmt::format("{}: cannot be written", log));
  return file;
}

int serve(Options& o) {
  // All threads have these blocked; this one waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const auto drain = parse_duration(o.drain);
  Log log(log_file(o.log));
  for (const std::string& library : o.libraries)
    load_library(library.find('/') == library.npos ? "./" + library : library);
  o.service.sconce_program = program_beside();
  Service service(o.service, log);
  for (const std::string& model : o.models) {
    const size_t equals = model.find('=');
    const std::string path = equals == model.npos ? model : model.substr(equals + 1);
    const std::string name =
        equals == model.npos ? std::filesystem::path(path).stem().string() : model.substr(0, equals);
    service.repository().add_file(name, path);
  }
  HttpServer http(service, o.http);
  auto started = log.info("listening").field("http", fmt::format("{}:{}", o.http.host, http.port()));
#ifdef SCONCE_SERVER_GRPC
  std::unique_ptr<GrpcServer> grpc;
  if (!o.no_grpc) {
    grpc = std::make_unique<GrpcServer>(
        service, GrpcSettings{o.http.host, o.grpc_port, o.http.max_body, o.http.certificate, o.http.key});
    started.field("grpc", fmt::format("{}:{}", o.http.host, grpc->port()));
  }
#endif
  {
    const auto written = std::move(started);
  }
  if (!is_loopback(o.http.host) && o.service.tokens.empty())
    log.warning("others can ask").field("reason", "the address is not this machine's own, and --tokens is not given");
  const size_t failed = service.repository().load_all();
  if (failed && !o.keep_going) {
    log.error("stopped").field("reason",
                               fmt::format("{} models cannot be loaded; --keep-going starts all the same", failed));
    http.stop(Clock::now());
    service.stop(Clock::now());
    return 1;
  }
  give_back_code();
  log.info("ready").field("models", service.repository().models().size());
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) break;
    service.background().post([&service] { service.repository().load_all(); });
  }
  log.info("stopping");
  service.begin_stop();
  const auto until = Clock::now() + drain;
#ifdef SCONCE_SERVER_GRPC
  if (grpc) grpc->stop(until);
#endif
  http.stop(until);
  service.stop(until);
  log.info("stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kDescription, "sconce serve");
  app.footer(kFooter);
  app.set_version_flag("--version", "sconce-server " SCONCE_VERSION, "Prints the version");
  Options o;
  add_options(app, o);
  try {
    app.parse(argc, argv);
    finish_options(o);
    return serve(o);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const UsageError& e) {
    fmt::print(stderr, "sconce serve: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "sconce serve: {}\n", e.what());
    return 1;
  }
}
