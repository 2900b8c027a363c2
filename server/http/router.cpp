#include "server/http/router.h"

#include <algorithm>
#include <charconv>

#include "server/http/event_stream.h"
#include "server/page/page.h"
#include "server/protocol/generate.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"
#include "server/run/generation.h"
#include "server/run/graph_drawing.h"

namespace sconce::server {
namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr size_t kSmallBody = 1 << 20;  // of requests that hold no tensors
constexpr size_t kLeastToCompress = 1 << 10;

// The parts of a path between slashes, decoded. Throws Failure for a '%' without two digits, and for bytes of 0.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> out;
  if (path.empty() || path[0] != '/') refuse("a path begins with '/'");
  if (path.size() > 4096) refuse("the path is too long");
  std::string part;
  for (size_t i = 1; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/') {
      out.push_back(std::move(part));
      part.clear();
    } else if (path[i] == '%') {
      unsigned v = 0;
      const char* from = path.data() + i + 1;
      if (i + 2 >= path.size() || std::from_chars(from, from + 2, v, 16).ptr != from + 2 || v == 0)
        refuse("the path has a '%' that is no character");
      part += static_cast<char>(v);
      i += 2;
    } else {
      part += path[i];
    }
  }
  if (out.size() > 1 && out.back().empty()) out.pop_back();  // "/v2/"
  return out;
}

void need(const HttpRequest& request, const char* method) {
  const bool same = request.method == method || (request.method == "HEAD" && std::string_view(method) == "GET");
  if (!same)
    refuse(Code::wrong_method, "{} takes {}, got {}", request.path.substr(0, 200), method,
           request.method.substr(0, 20));
}

HttpResponse json(JsonWriter& out) { return {200, "application/json", out.take(), {}, {}}; }

void write_tensors(JsonWriter& out, const std::vector<TensorInfo>& tensors) {
  out.open('[');
  for (const TensorInfo& t : tensors) {
    out.open('{').key("name").text(t.name).key("datatype").text(t.datatype).key("shape").open('[');
    for (const int64_t n : t.shape) out.number(n);
    out.close(']').close('}');
  }
  out.close(']');
}

void write_duration(JsonWriter& out, const char* name, const DurationStat& d) {
  out.key(name).open('{').key("count").number(d.count.load()).key("ns").number(d.ns.load()).close('}');
}

void write_stats(JsonWriter& out, const ModelStats& s) {
  out.open('{').key("name").text(s.name).key("version").text(s.version);
  out.key("last_inference").number(s.last_inference_ms.load());
  out.key("inference_count").number(s.rows.load()).key("execution_count").number(s.executions.load());
  out.key("inference_stats").open('{');
  write_duration(out, "success", s.success);
  write_duration(out, "fail", s.fail);
  write_duration(out, "queue", s.queue);
  write_duration(out, "compute_input", s.compute_input);
  write_duration(out, "compute_infer", s.compute_infer);
  write_duration(out, "compute_output", s.compute_output);
  const DurationStat none;
  write_duration(out, "cache_hit", none);
  write_duration(out, "cache_miss", none);
  out.close('}').key("batch_stats").open('[');
  for (size_t rows = 1; rows < s.batches.size(); ++rows) {
    const ModelStats::Batch& b = s.batches[rows];
    if (b.infer.count.load() == 0) continue;
    out.open('{').key("batch_size").number(rows);
    write_duration(out, "compute_input", b.input);
    write_duration(out, "compute_infer", b.infer);
    write_duration(out, "compute_output", b.output);
    out.close('}');
  }
  out.close(']');
  // Beyond Triton's: what the page shows.
  out.key("waiting").number(s.waiting.load()).key("running").number(s.running.load());
  out.key("latency_ns").open('{');
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}})
    out.key(name).number(s.latency.quantile(share));
  out.close('}').close('}');
}

HttpResponse stats_response(Service& service, const std::string& name, const std::string& version) {
  JsonWriter out;
  out.open('{').key("model_stats").open('[');
  for (const auto& s : service.repository().stats()) {
    if ((name.empty() || s->name == name) && (version.empty() || s->version == version)) write_stats(out, *s);
  }
  out.close(']').close('}');
  return json(out);
}

HttpResponse metadata_response(Service& service, const Model& model, const std::string& name,
                               const std::string& method_name) {
  const Method& method = model.method(method_name);
  JsonWriter out;
  out.open('{').key("name").text(name).key("versions").open('[');
  for (const std::string& v : service.repository().versions(model.name())) out.text(v);
  out.close(']').key("platform").text(model.platform());
  write_tensors(out.key("inputs"), model.inputs(method));
  write_tensors(out.key("outputs"), model.outputs(method));
  out.key("parameters").open('{').key("method").text(method.name()).key("methods").open('[');
  for (const std::string& m : model.method_names()) out.text(m);
  out.close(']').close('}').close('}');
  return json(out);
}

HttpResponse config_response(const Model& model) {
  JsonWriter out;
  out.open('{').key("name").text(model.name()).key("platform").text(model.platform()).key("backend").text("sconce");
  const ModelConfig& c = model.config();
  out.key("max_batch_size").number(c.max_batch_size);
  write_tensors(out.key("input"), model.inputs(model.method("")));
  write_tensors(out.key("output"), model.outputs(model.method("")));
  write_model_config(c, out.key("config"));
  out.close('}');
  return json(out);
}

HttpResponse server_metadata(Service& service) {
  JsonWriter out;
  out.open('{').key("name").text("sconce").key("version").text(SCONCE_VERSION).key("extensions").open('[');
  out.text("model_repository")
      .text("model_configuration")
      .text("statistics")
      .text("binary_tensor_data")
      .text("generate")
      .text("parameters");
  if (service.settings().repository.control) out.text("model_repository(unload_dependents)");
  if (service.settings().shared_memory) out.text("system_shared_memory");
  out.close(']').close('}');
  return json(out);
}

}  // namespace

HttpResponse error_response(Code code, std::string_view message) {
  JsonWriter out;
  out.open('{').key("error").text(message).close('}');
  HttpResponse response{code_info(code).http, "application/json", out.take(), {}, {}};
  if (code == Code::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (code == Code::exhausted || code == Code::unavailable) response.headers.emplace_back("Retry-After", "1");
  return response;
}

PendingPtr Router::handle(HttpRequest request, std::function<void(HttpResponse)> respond) {
  service_.http_requests.fetch_add(1, std::memory_order_relaxed);
  try {
    return route(request, respond);
  } catch (const Failure& f) {
    respond(error_response(f.code, f.what()));
  } catch (const std::bad_alloc&) {
    respond(error_response(Code::unavailable, "the server is out of memory"));
  } catch (const std::exception& e) {
    service_.log().error("request failed").field("path", request.path.substr(0, 200)).field("reason", e.what());
    respond(error_response(Code::internal, e.what()));
  }
  return nullptr;
}

void Router::later(std::function<HttpResponse()> work, const std::function<void(HttpResponse)>& respond) {
  service_.background().post([work = std::move(work), respond] {
    HttpResponse response;
    try {
      response = work();
    } catch (const Failure& f) {
      response = error_response(f.code, f.what());
    } catch (const std::exception& e) {
      response = error_response(Code::internal, e.what());
    }
    respond(std::move(response));
  });
}

PendingPtr Router::route(HttpRequest& request, const std::function<void(HttpResponse)>& respond) {
  const std::vector<std::string> parts = parts_of(request.path);
  const bool health = parts.size() == 3 && parts[0] == "v2" && parts[1] == "health";
  const bool page = parts.size() == 1 && parts[0].empty();  // it asks for the token itself
  if (!health && !page && !service_.is_allowed(request.authorization))
    refuse(Code::unauthenticated, "a token is needed: Authorization: Bearer TOKEN");
  if (request.has_query && !page) refuse("no path has arguments behind a '?'");
  if (!request.content_encoding.empty() && request.content_encoding != "identity") {
    request.body = inflate_body(request.body, request.content_encoding, max_body_);
    request.content_encoding.clear();
  }
  if (page) {
    need(request, "GET");
    respond({200, kHtml, kPage, {}, {}});
    return nullptr;
  }
  if (parts.size() == 1 && parts[0] == "metrics") {
    need(request, "GET");
    respond({200, "text/plain; version=0.0.4; charset=utf-8", service_.metrics(), {}, {}});
    return nullptr;
  }
  if (parts[0] != "v2") refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
  if (parts.size() == 1) {
    need(request, "GET");
    respond(server_metadata(service_));
    return nullptr;
  }
  if (health && (parts[2] == "live" || parts[2] == "ready")) {
    need(request, "GET");
    const bool good = parts[2] == "live" || service_.is_ready();
    JsonWriter out;
    out.open('{').key(parts[2]).boolean(good).close('}');
    respond({good ? 200 : 503, "application/json", out.take(), {}, {}});
    return nullptr;
  }
  if (parts[1] == "models" && parts.size() >= 3) return route_model(request, parts, respond);
  if (parts[1] == "repository") {
    bool is_later = false;
    HttpResponse response = route_repository(request, parts, respond, is_later);
    if (!is_later) respond(std::move(response));
    return nullptr;
  }
  if (parts[1] == "systemsharedmemory") {
    respond(route_shared_memory(request, parts));
    return nullptr;
  }
  if (parts[1] == "cudasharedmemory" && parts.size() >= 3 && parts.back() == "status") {
    respond({200, "application/json", "[]", {}, {}});
    return nullptr;
  }
  for (const char* extension : {"cudasharedmemory", "trace", "logging"}) {
    if (parts[1] == extension) refuse(Code::unimplemented, "the extension '{}' is not supported", extension);
  }
  refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
}

PendingPtr Router::route_model(HttpRequest& request, const std::vector<std::string>& parts,
                               const std::function<void(HttpResponse)>& respond) {
  if (parts.size() == 3 && parts[2] == "stats") {
    need(request, "GET");
    respond(stats_response(service_, {}, {}));
    return nullptr;
  }
  const std::string& name = parts[2];
  std::string version;
  size_t at = 3;
  if (parts.size() >= 5 && parts[3] == "versions") {
    version = parts[4];
    at = 5;
  }
  const std::string verb = at < parts.size() ? parts[at] : "";
  if (at + 1 < parts.size()) refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
  if (verb == "infer") {
    need(request, "POST");
    return infer(request, name, version, respond);
  }
  if (verb == "generate" || verb == "generate_stream") {
    need(request, "POST");
    return generate(request, name, version, verb == "generate_stream", respond);
  }
  need(request, "GET");
  std::string method;
  const std::shared_ptr<Model> model = service_.repository().find_method(name, version, method);
  if (verb.empty()) {
    respond(metadata_response(service_, *model, name, method));
  } else if (verb == "ready") {
    JsonWriter out;
    out.open('{').key("name").text(name).key("ready").boolean(true).close('}');
    respond(json(out));
  } else if (verb == "stats") {
    respond(stats_response(service_, model->name(), version));
  } else if (verb == "config") {
    respond(config_response(*model));
  } else if (verb == "graph") {
    later([program = service_.settings().sconce_program,
           path = model->path()] { return HttpResponse{200, kHtml, draw_graph(program, path), {}, {}}; },
          respond);
  } else {
    refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
  }
  return nullptr;
}

PendingPtr Router::infer(HttpRequest& request, const std::string& model, const std::string& version,
                         const std::function<void(HttpResponse)>& respond) {
  const auto start = Clock::now();
  if (const auto full = service_.refusal(model, version)) {
    HttpResponse response = error_response(full->code, full->what());
    log_request(model, response.status, start, response.body.size());
    respond(std::move(response));
    return nullptr;
  }
  size_t json_size = request.body.size();
  if (const std::string& text = request.inference_header_length; !text.empty()) {
    const auto done = std::from_chars(text.data(), text.data() + text.size(), json_size);
    if (done.ec != std::errc() || done.ptr != text.data() + text.size())
      refuse("Inference-Header-Content-Length is no number: '{}'", text.substr(0, 40));
  }
  InferRequest inference = read_infer_request(request.body, json_size, service_.shared_memory());
  inference.model = model;
  inference.version = version;
  // What the answer needs of the request.
  auto wanted = std::make_shared<InferRequest>();
  wanted->outputs = inference.outputs;
  wanted->binary_outputs = inference.binary_outputs;
  const bool gzip = request.accept_encoding.find("gzip") != std::string::npos;
  const bool deflate = request.accept_encoding.find("deflate") != std::string::npos;
  return service_.infer(std::move(inference), [this, respond, wanted, gzip, deflate, start, model](Answer answer) {
    HttpResponse response;
    try {
      if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
      InferBody body = write_infer_response(std::get<InferResponse>(answer), *wanted, service_.shared_memory());
      if (body.binary) {
        response.type = "application/octet-stream";
        response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(body.json_size));
      }
      response.body = std::move(body.body);
      if ((gzip || deflate) && response.body.size() >= kLeastToCompress) {
        response.body = deflate_body(response.body, gzip);
        response.headers.emplace_back("Content-Encoding", gzip ? "gzip" : "deflate");
      }
    } catch (const Failure& f) {
      response = error_response(f.code, f.what());
    } catch (const std::exception& e) {
      response = error_response(Code::internal, e.what());
    }
    log_request(model, response.status, start, response.body.size());
    respond(std::move(response));
  });
}

void Router::log_request(const std::string& model, int status, Clock::time_point start, size_t bytes) {
  if (!service_.settings().log_requests) return;
  service_.log()
      .info("request")
      .field("model", model)
      .field("status", status)
      .field("microseconds", std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count())
      .field("bytes", bytes);
}

// Note [Generating methods], with the answers as server-sent events, or the last one alone. A method that generates
// nothing has one answer.
PendingPtr Router::generate(HttpRequest& request, const std::string& model, const std::string& version, bool stream,
                            const std::function<void(HttpResponse)>& respond) {
  std::string method;
  const std::shared_ptr<Model> found = service_.repository().find_method(model, version, method);
  const std::vector<TensorInfo> inputs = found->inputs(found->method(method));
  const auto datatype = [&](const std::string& name) -> std::string_view {
    const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo& t) { return t.name == name; });
    return at == inputs.end() ? std::string_view() : std::string_view(at->datatype);
  };
  InferRequest inference = read_generate_request(request.body, datatype);
  inference.model = model;
  inference.version = version;
  if (datatype("method").empty() && inference.parameters.contains("method"))
    refuse("parameter 'method': here the path names it: {}:METHOD", model.substr(0, model.find(':')));
  // Clients of Triton say it twice.
  if (const auto at = inference.parameters.find("stream");
      at != inference.parameters.end() && datatype("stream").empty()) {
    if (at->second != Parameter(stream))
      refuse("parameter 'stream' does not fit to {}", stream ? "generate_stream" : "generate");
    inference.parameters.erase(at);
  }
  // What its answers share; they come one after the other.
  struct State {
    std::shared_ptr<EventStream> events;
    size_t bytes = 0;
  };
  const auto on_answer = [this, respond, stream, model, start = Clock::now(), state = std::make_shared<State>()](
                             Answer answer, bool last) {
    const auto* failure = std::get_if<Failure>(&answer);
    if (!failure && !last && !stream) return true;
    std::string text = failure ? error_response(failure->code, failure->what()).body
                               : write_generate_response(std::get<InferResponse>(answer));
    state->bytes += text.size();
    if (last) log_request(model, failure ? code_info(failure->code).http : 200, start, state->bytes);
    if (state->events) {
      if (last) {
        state->events->end(text);
      } else if (!state->events->push(text)) {
        state->events->end(error_response(Code::exhausted, "the client reads too slowly").body);
        return false;
      }
      return true;
    }
    HttpResponse response;
    if (failure) {
      response = error_response(failure->code, failure->what());
    } else if (!stream) {
      response.body = std::move(text);
    } else {
      response.type = "text/event-stream; charset=utf-8";
      response.headers.emplace_back("Cache-Control", "no-cache");
      response.stream = state->events = std::make_shared<EventStream>();
      state->events->push(text);
      if (last) state->events->end();
    }
    respond(std::move(response));
    return true;
  };
  const auto generation = std::make_shared<Generation>(service_, std::move(inference), on_answer, true);
  generation->start();
  return generation;
}

HttpResponse Router::route_repository(HttpRequest& request, const std::vector<std::string>& parts,
                                      const std::function<void(HttpResponse)>& respond, bool& is_later) {
  if (request.body.size() > kSmallBody) refuse(Code::too_large, "the body is too large");
  need(request, "POST");
  Repository& repository = service_.repository();
  if (parts.size() == 3 && parts[2] == "index") {
    bool ready = false;
    if (!request.body.empty()) {
      JsonReader in(request.body);
      in.object([&](const std::string& key) {
        if (key == "ready")
          ready = in.boolean();
        else
          in.unknown(key);
      });
      in.end();
    }
    JsonWriter out;
    out.open('[');
    for (const IndexEntry& e : repository.index(ready))
      out.open('{')
          .key("name")
          .text(e.name)
          .key("version")
          .text(e.version)
          .key("state")
          .text(e.state)
          .key("reason")
          .text(e.reason)
          .close('}');
    out.close(']');
    return json(out);
  }
  if (parts.size() != 5 || parts[2] != "models" || (parts[4] != "load" && parts[4] != "unload"))
    refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
  repository.check_control();
  std::string config;
  if (!request.body.empty()) {
    JsonReader in(request.body);
    in.object([&](const std::string& key) {
      if (key != "parameters") in.unknown(key);
      in.object([&](const std::string& name) {
        if (name == "config" && parts[4] == "load") {
          if (in.peek() != '"') in.wrong("a string");
          config = in.string();
        } else if (name == "unload_dependents" && parts[4] == "unload") {
          in.boolean();  // no model depends on another
        } else {
          refuse(Code::unimplemented, "parameter '{}' is not supported", name.substr(0, 100));
        }
      });
    });
    in.end();
  }
  is_later = true;
  later(
      [&repository, name = parts[3], config, load = parts[4] == "load"] {
        if (load)
          repository.load(name, config);
        else
          repository.unload(name);
        return HttpResponse{200, "application/json", "{}", {}, {}};
      },
      respond);
  return {};
}

HttpResponse Router::route_shared_memory(const HttpRequest& request, const std::vector<std::string>& parts) {
  if (request.body.size() > kSmallBody) refuse(Code::too_large, "the body is too large");
  SharedMemory& shared = service_.shared_memory();
  std::string name;
  size_t at = 2;
  if (parts.size() >= 4 && parts[2] == "region") {
    name = parts[3];
    at = 4;
  }
  const std::string verb = at < parts.size() ? parts[at] : "";
  if (at + 1 != parts.size()) refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
  if (verb == "status") {
    need(request, "GET");
    JsonWriter out;
    out.open('[');
    for (const SharedRegion& r : shared.list(name))
      out.open('{')
          .key("name")
          .text(r.name)
          .key("key")
          .text(r.key)
          .key("offset")
          .number(r.offset)
          .key("byte_size")
          .number(r.byte_size)
          .close('}');
    out.close(']');
    return json(out);
  }
  if (verb == "register" && !name.empty()) {
    need(request, "POST");
    SharedRegion region{name, {}, 0, 0};
    JsonReader in(request.body);
    in.object([&](const std::string& key) {
      if (key == "key") {
        if (in.peek() != '"') in.wrong("a string");
        region.key = in.string();
      } else if (key == "offset") {
        region.offset = in.unsigned_integer();
      } else if (key == "byte_size") {
        region.byte_size = in.unsigned_integer();
      } else {
        in.unknown(key);
      }
    });
    in.end();
    shared.add(region);
    return {200, "application/json", "{}", {}, {}};
  }
  if (verb == "unregister") {
    need(request, "POST");
    if (name.empty())
      shared.remove_all();
    else
      shared.remove(name);
    return {200, "application/json", "{}", {}, {}};
  }
  refuse(Code::not_found, "there is no '{}'", request.path.substr(0, 200));
}

}  // namespace sconce::server
