// sconce load URL: how a server of models bears a load.
#include <cmath>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "load/load_run.h"
#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "text/json.h"
#include "text/progress.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/units.h"

namespace sconce::cli {
namespace {

struct Options {
  std::string url, model, body, duration = "10s", warm_up = "1s", timeout = "30s", token, svg;
  std::vector<std::string> inputs;
  double rate = 0;
  size_t concurrency = 16;
  bool anywhere = false, as_json = false, json = false, poisson = false;
};

constexpr const char* kDescription =
    "Puts load on a server of models and measures how long its answers take. Requests are sent at --rate, whether "
    "earlier\n"
    "ones are answered or not, and each counts from when it was due; without --rate, each connection asks again when "
    "it is "
    "answered.";
constexpr const char* kExamples =
    "Inputs are tensors of random numbers: NAME=SHAPE, or NAME=SHAPE:DATATYPE (FP32 by default).\n"
    "Exit status: 1 when a request fails.\n"
    "Examples:\n"
    "  sconce load http://127.0.0.1:8000 --model net --input x=1x4 --rate 1000 --duration 10s\n"
    "  sconce load http://127.0.0.1:8000 --model resnet18 --input x=1x3x224x224 --concurrency 4 --json\n"
    "  sconce load http://127.0.0.1:8000/v2/models/net/infer --body request.json --rate 500 --svg latencies.svg";

constexpr struct {
  const char* name;
  size_t size;
} kDatatypes[] = {{"BOOL", 1},   {"UINT8", 1}, {"INT8", 1}, {"UINT16", 2}, {"INT16", 2}, {"FP16", 2}, {"BF16", 2},
                  {"UINT32", 4}, {"INT32", 4}, {"FP32", 4}, {"UINT64", 8}, {"INT64", 8}, {"FP64", 8}};

struct Input {
  std::string name, datatype = "FP32";
  std::vector<int64_t> shape;
  size_t count = 1, item = 4;
};

Input parse_input(const std::string& text) {
  Input in;
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) throw UsageError(fmt::format("--input takes NAME=SHAPE, got '{}'", text));
  in.name = text.substr(0, equals);
  std::string shape = text.substr(equals + 1);
  if (const size_t colon = shape.find(':'); colon != shape.npos) {
    in.datatype = shape.substr(colon + 1);
    shape.resize(colon);
  }
  in.item = 0;
  for (const auto& d : kDatatypes) {
    if (in.datatype == d.name) in.item = d.size;
  }
  if (in.item == 0)
    throw UsageError(fmt::format("--input {}: there is no datatype '{}' of numbers", text, in.datatype));
  for (size_t at = 0; at <= shape.size();) {
    const size_t end = std::min(shape.find('x', at), shape.size());
    const std::string size = shape.substr(at, end - at);
    char* rest = nullptr;
    const long long n = std::strtoll(size.c_str(), &rest, 10);
    if (size.empty() || *rest || n < 0 || n > 1'000'000'000)
      throw UsageError(fmt::format("--input {}: '{}' is no shape, as 1x3x224x224 is", text, shape));
    in.shape.push_back(n);
    in.count *= static_cast<size_t>(n);
    if (in.count > 1ull << 28) throw UsageError(fmt::format("--input {}: is too large", text));
    at = end + 1;
  }
  return in;
}

double random_number(std::mt19937_64& random, const std::string& datatype) {
  if (datatype == "BOOL") return static_cast<double>(random() & 1);
  if (datatype.find("INT") != std::string::npos) return static_cast<double>(random() % 10);
  return std::uniform_real_distribution<double>(-1, 1)(random);
}

void append_element(std::string& out, double v, const Input& in) {
  const auto put = [&](auto typed) { out.append(reinterpret_cast<const char*>(&typed), sizeof typed); };
  if (in.datatype == "FP32") return put(static_cast<float>(v));
  if (in.datatype == "FP64") return put(v);
  if (in.datatype == "FP16" || in.datatype == "BF16") return put(static_cast<uint16_t>(v < 0 ? 0x8000 : 0));  // zeros
  const auto n = static_cast<int64_t>(v);
  out.append(reinterpret_cast<const char*>(&n), in.item);  // little-endian
}

std::string infer_request(const Options& o, const Url& url) {
  using Json = nlohmann::ordered_json;
  std::mt19937_64 random(1);
  Json json;
  std::string binary;
  json["inputs"] = Json::array();
  for (const std::string& text : o.inputs) {
    const Input in = parse_input(text);
    Json entry{{"name", in.name}, {"datatype", in.datatype}, {"shape", in.shape}};
    if (o.as_json) {
      entry["data"] = Json::array();
      for (size_t i = 0; i < in.count; ++i) {
        const double v = random_number(random, in.datatype);
        if (in.datatype.find("INT") != std::string::npos)
          entry["data"].push_back(static_cast<int64_t>(v));
        else if (in.datatype == "BOOL")
          entry["data"].push_back(v != 0);
        else
          entry["data"].push_back(static_cast<float>(v));
      }
    } else {
      for (size_t i = 0; i < in.count; ++i) append_element(binary, random_number(random, in.datatype), in);
      entry["parameters"] = {{"binary_data_size", in.count * in.item}};
    }
    json["inputs"].push_back(std::move(entry));
  }
  if (!o.as_json) json["parameters"] = {{"binary_data_output", true}};
  std::string head = json.dump();
  if (!o.body.empty()) head = read_text(o.body);
  std::string out = fmt::format("POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Length: {}\r\n", url.path, url.host,
                                url.port, head.size() + binary.size());
  if (!o.token.empty()) out += fmt::format("Authorization: Bearer {}\r\n", o.token);
  if (!binary.empty()) out += fmt::format("Inference-Header-Content-Length: {}\r\n", head.size());
  return out + "Content-Type: application/json\r\n\r\n" + head + binary;
}

void print_result(const LoadResult& r, const Options& o) {
  fmt::print("{} answers of {} requests in {}: {:.1f} a second{}\n", count_text(r.good()), count_text(r.due),
             seconds_text(r.seconds), r.seconds > 0 ? static_cast<double>(r.good()) / r.seconds : 0,
             o.rate > 0 ? fmt::format(", {:.1f} wanted", o.rate) : " (closed loop)");
  for (const auto& [status, count] : r.statuses) {
    if (status != 200)
      fmt::print("{} {}\n", count_text(count),
                 status ? fmt::format("were answered with {}", status) : "connections failed");
  }
  if (r.timed_out) fmt::print("{} were not answered in {}\n", count_text(r.timed_out), o.timeout);
  if (r.due > r.sent) fmt::print("{} were due and not sent: all connections were busy\n", count_text(r.due - r.sent));
  if (r.good() == 0) return;
  Table table({"p50>", "p90>", "p99>", "p99.9>", "max>", "mean>"});
  const auto at = [&](double q) { return seconds_text(1e-9 * static_cast<double>(r.latency.quantile(q))); };
  table.add({at(0.5), at(0.9), at(0.99), at(0.999), at(1),
             seconds_text(1e-9 * static_cast<double>(r.latency.sum()) / static_cast<double>(r.good()))});
  fmt::print("\n{}\n{}", table.to_string(), latency_plot(r.latency, terminal_columns(stdout, 80)));
}

nlohmann::ordered_json result_json(const LoadResult& r, const Options& o) {
  nlohmann::ordered_json out{{"url", o.url},
                             {"rate", o.rate},
                             {"concurrency", o.concurrency},
                             {"requests", r.due},
                             {"sent", r.sent},
                             {"answers", r.good()},
                             {"seconds", r.seconds},
                             {"answers_per_second", r.seconds > 0 ? static_cast<double>(r.good()) / r.seconds : 0},
                             {"timed_out", r.timed_out}};
  out["statuses"] = nlohmann::ordered_json::object();
  for (const auto& [status, count] : r.statuses) out["statuses"][std::to_string(status)] = count;
  for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}})
    out[std::string(name) + "_seconds"] = 1e-9 * static_cast<double>(r.latency.quantile(q));
  out["mean_seconds"] = r.good() ? 1e-9 * static_cast<double>(r.latency.sum()) / static_cast<double>(r.good()) : 0;
  auto histogram = nlohmann::ordered_json::array();
  r.latency.for_each([&](uint64_t low, uint64_t high, uint64_t n) { histogram.push_back({low, high, n}); });
  out["histogram_ns"] = std::move(histogram);
  return out;
}

int run_load_command(const Options& o) {
  if (!std::isfinite(o.rate) || o.rate < 0 || o.rate > 1e6)
    throw UsageError(fmt::format("--rate takes a number up to a million, got {}", o.rate));
  if (o.concurrency < 1 || o.concurrency > 1000)
    throw UsageError(fmt::format("--concurrency takes 1 to 1000, got {}", o.concurrency));
  if (o.poisson && o.rate == 0) throw UsageError("--poisson needs a --rate");
  if (o.body.empty() == o.inputs.empty()) throw UsageError("one of --input and --body is needed");
  LoadPlan plan;
  plan.url = parse_url(o.url);
  if (!plan.url.is_loopback() && !o.anywhere)
    throw UsageError(
        fmt::format("{} is not this machine: --anywhere puts load on others, who should know of it", plan.url.host));
  if (!o.model.empty()) {
    if (plan.url.path != "/") throw UsageError("--model and a URL with a path exclude each other");
    plan.url.path = fmt::format("/v2/models/{}/infer", o.model);
  }
  plan.requests.push_back(infer_request(o, plan.url));
  plan.rate = o.rate;
  plan.poisson = o.poisson;
  plan.connections = o.concurrency;
  plan.timeout = parse_duration(o.timeout);
  const auto phase = [&](const char* name, const std::string& duration) {
    plan.duration = parse_duration(duration);
    Progress progress(name, 1000, !o.json);
    return run_load(plan, [&](double share) { progress.update(static_cast<uint64_t>(1000 * share)); });
  };
  if (parse_duration(o.warm_up).count() > 0) phase("warm-up", o.warm_up);
  if (parse_duration(o.duration).count() <= 0) throw UsageError("--duration takes a time above 0");
  const LoadResult result = phase("load", o.duration);
  if (o.json)
    print_json(result_json(result, o));
  else
    print_result(result, o);
  if (!o.svg.empty()) {
    std::ofstream out(o.svg);
    out << latency_svg(result.latency, fmt::format("{}: {} answers", o.url, result.good()));
    if (!out.flush()) fail("{}: cannot be written", o.svg);
  }
  return result.good() == result.due ? 0 : 1;
}

}  // namespace

Command add_load_command(App app) {
  auto o = std::make_shared<Options>();
  const App command = app.add_subcommand("load", kDescription);
  command.footer(kExamples);
  command.add_option("URL", o->url, "http://HOST:PORT with --model, or all of it").required().type_name("");
  command.add_option("--model", o->model, "The model's name; NAME:METHOD, NAME/versions/2").type_name("NAME");
  command.add_option("--input", o->inputs, "A tensor of random numbers; repeatable")
      .type_name("NAME=SHAPE")
      .allow_extra_args(false);
  command.add_option("--body", o->body, "The body of the requests, in place of --input").type_name("FILE");
  command.add_option("--rate", o->rate, "Requests a second; without it, as many as are answered").type_name("R");
  command.add_flag("--poisson", o->poisson, "Requests come as from independent clients, not evenly");
  command.add_option("--concurrency", o->concurrency, "Connections; 16 by default").type_name("N");
  command.add_option("--duration", o->duration, "How long; 10s by default").type_name("TIME");
  command.add_option("--warm-up", o->warm_up, "The same load before, not measured; 1s by default").type_name("TIME");
  command.add_option("--timeout", o->timeout, "Of a request; 30s by default").type_name("TIME");
  command.add_option("--token", o->token, "Authorization: Bearer TOKEN").type_name("TOKEN");
  command.add_flag("--as-json", o->as_json, "Tensors as JSON, not as bytes");
  command.add_flag("--anywhere", o->anywhere, "Allows URLs of other machines");
  command.add_option("--svg", o->svg, "Writes a plot").type_name("FILE");
  add_json_option(command, o->json);
  return [o] { return run_load_command(*o); };
}

}  // namespace sconce::cli
