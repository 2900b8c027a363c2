#include "server/grpc/grpc_server.h"

#include <deque>
#include <functional>
#include <set>
#include <thread>

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include "inference.grpc.pb.h"
#include "server/protocol/datatype.h"
#include "server/run/generation.h"
#include "server/run/spinner.h"

namespace sconce::server {
namespace {

using grpc::ServerContext;
using grpc::Status;

constexpr int kWaitingCalls = 32;     // for which gRPC needs not wait
constexpr size_t kMostOfStream = 64;  // requests of a stream that run at a time

Status status_of(const Failure& f) { return {static_cast<grpc::StatusCode>(code_info(f.code).grpc), f.what()}; }

template <class Map>
Parameters read_parameters(const Map& map) {
  Parameters out;
  for (const auto& [key, p] : map) {
    switch (p.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        out[key] = p.bool_param();
        break;
      case inference::InferParameter::kInt64Param:
        out[key] = p.int64_param();
        break;
      case inference::InferParameter::kStringParam:
        out[key] = p.string_param();
        break;
      case inference::InferParameter::kDoubleParam:
        out[key] = p.double_param();
        break;
      case inference::InferParameter::kUint64Param:
        if (p.uint64_param() > INT64_MAX) refuse("parameter '{}' is too large", key);
        out[key] = static_cast<int64_t>(p.uint64_param());
        break;
      default:
        refuse("parameter '{}' has no value", key.substr(0, 100));
    }
  }
  return out;
}

// Elements of typed contents, as the bytes that they are elsewhere.
template <class T, class Field>
std::string packed(const WireTensor& t, const Field& field) {
  std::string out;
  out.reserve(sizeof(T) * static_cast<size_t>(field.size()));
  for (const auto v : field) {
    const T narrow = static_cast<T>(v);
    if (static_cast<std::remove_cvref_t<decltype(v)>>(narrow) != v && v == v)
      refuse("input '{}': {} does not fit into {}", t.name, v, t.datatype);
    out.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
  return out;
}

void read_contents(WireTensor& t, const inference::InferTensorContents& c) {
  const int given = c.bool_contents_size() + c.int_contents_size() + c.int64_contents_size() + c.uint_contents_size() +
                    c.uint64_contents_size() + c.fp32_contents_size() + c.fp64_contents_size() +
                    c.bytes_contents_size();
  int used = 0;
  const auto take = [&]<class T>(T, const auto& field) {
    used = field.size();
    read_bytes(t, packed<T>(t, field));
  };
  if (t.datatype == kBytes) {
    used = c.bytes_contents_size();
    if (element_count(t.name, t.shape) != used)
      refuse("input '{}' has {} strings, not as many as its shape says", t.name, used);
    t.strings.assign(c.bytes_contents().begin(), c.bytes_contents().end());
  } else if (t.datatype == "BOOL")
    take(uint8_t(), c.bool_contents());
  else if (t.datatype == "INT8")
    take(int8_t(), c.int_contents());
  else if (t.datatype == "INT16")
    take(int16_t(), c.int_contents());
  else if (t.datatype == "INT32")
    take(int32_t(), c.int_contents());
  else if (t.datatype == "INT64")
    take(int64_t(), c.int64_contents());
  else if (t.datatype == "UINT8")
    take(uint8_t(), c.uint_contents());
  else if (t.datatype == "UINT16")
    take(uint16_t(), c.uint_contents());
  else if (t.datatype == "UINT32")
    take(uint32_t(), c.uint_contents());
  else if (t.datatype == "UINT64")
    take(uint64_t(), c.uint64_contents());
  else if (t.datatype == "FP32")
    take(float(), c.fp32_contents());
  else if (t.datatype == "FP64")
    take(double(), c.fp64_contents());
  else
    refuse("input '{}': {} has no contents of its own: raw_input_contents has", t.name, t.datatype.substr(0, 40));
  if (used != given) refuse("input '{}' has contents that are not of {}", t.name, t.datatype);
}

InferRequest read_request(const inference::ModelInferRequest& m, const SharedMemory& shared) {
  InferRequest request;
  request.model = m.model_name();
  request.version = m.model_version();
  request.id = m.id();
  request.parameters = read_parameters(m.parameters());
  std::set<std::string_view> names;
  int raw = 0;
  for (const auto& in : m.inputs()) {
    WireTensor t;
    t.name = in.name();
    t.datatype = in.datatype();
    t.shape.assign(in.shape().begin(), in.shape().end());
    if (t.name.empty()) refuse("an input has no name");
    if (!names.insert(in.name()).second) refuse("the request has input '{}' twice", t.name);
    if (t.datatype != kBytes && !dtype_of(t.datatype))
      refuse("input '{}': there is no datatype '{}'", t.name, t.datatype.substr(0, 40));
    Parameters parameters = read_parameters(in.parameters());
    const auto place = take_shared_place(t.name, parameters);
    // KServe's client says here, too, what HTTP has to be told.
    if (const auto at = parameters.find("binary_data_size");
        at != parameters.end() && raw < m.raw_input_contents_size()) {
      if (at->second != Parameter(static_cast<int64_t>(m.raw_input_contents(raw).size())))
        refuse("input '{}': binary_data_size is not that of its raw_input_contents", t.name);
      parameters.erase(at);
    }
    refuse_rest(fmt::format("input '{}'", t.name), parameters);
    if (place) {
      if (in.has_contents()) refuse("input '{}' has contents and a place in shared memory", t.name);
      element_count(t.name, t.shape);
      read_bytes(t, shared.read(place->region, place->offset, place->byte_size));
    } else if (m.raw_input_contents_size() > 0) {
      if (in.has_contents()) refuse("input '{}' has contents beside raw_input_contents", t.name);
      if (raw == m.raw_input_contents_size()) refuse("raw_input_contents has nothing for input '{}'", t.name);
      read_bytes(t, m.raw_input_contents(raw++));
    } else {
      read_contents(t, in.contents());
    }
    request.inputs.push_back(std::move(t));
  }
  if (raw != m.raw_input_contents_size())
    refuse("raw_input_contents has {} more than there are inputs", m.raw_input_contents_size() - raw);
  for (const auto& out : m.outputs()) {
    RequestedOutput o;
    o.name = out.name();
    if (o.name.empty()) refuse("an output has no name");
    Parameters parameters = read_parameters(out.parameters());
    if (const auto at = parameters.find("classification"); at != parameters.end()) {
      if (at->second != Parameter(int64_t(0)))
        refuse(Code::unimplemented, "output '{}': the classification extension is not supported", o.name);
      parameters.erase(at);
    }
    o.shared = take_shared_place(o.name, parameters);
    if (const auto at = parameters.find("binary_data"); at != parameters.end()) {  // they always are
      if (at->second != Parameter(true)) refuse("output '{}' is bytes: it has raw_output_contents", o.name);
      parameters.erase(at);
    }
    refuse_rest(fmt::format("output '{}'", o.name), parameters);
    request.outputs.push_back(std::move(o));
  }
  return request;
}

void write_response(const InferResponse& r, const std::vector<RequestedOutput>& wanted, const SharedMemory& shared,
                    inference::ModelInferResponse& m) {
  m.set_model_name(r.model);
  m.set_model_version(r.version);
  m.set_id(r.id);
  for (size_t i = 0; i < r.outputs.size(); ++i) {
    const WireTensor& t = r.outputs[i];
    auto* out = m.add_outputs();
    out->set_name(t.name);
    out->set_datatype(t.datatype);
    out->mutable_shape()->Add(t.shape.begin(), t.shape.end());
    std::string bytes;
    write_bytes(t, bytes);
    if (!wanted.empty() && wanted[i].shared) {
      const SharedPlace& place = *wanted[i].shared;
      shared.write(place.region, place.offset, place.byte_size, bytes);
      auto& parameters = *out->mutable_parameters();
      parameters["shared_memory_region"].set_string_param(place.region);
      parameters["shared_memory_byte_size"].set_int64_param(static_cast<int64_t>(bytes.size()));
      if (place.offset) parameters["shared_memory_offset"].set_int64_param(static_cast<int64_t>(place.offset));
    } else {
      m.add_raw_output_contents(std::move(bytes));
    }
  }
}

// What is left until the client's deadline.
void take_deadline(const ServerContext& context, InferRequest& request) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return;
  const auto left = deadline - std::chrono::system_clock::now();
  if (left < std::chrono::hours(24 * 365))
    request.time_left = std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(1));
}

// What a completion queue gives back: who is to be told of the end of an operation.
struct Event {
  std::function<void(bool ok)> handle;
};

using Endpoint = inference::GRPCInferenceService::AsyncService;

// What calls share. Note [One thread]
// All operations end in one completion queue with one thread, which also makes short calls (Note [Short calls]). gRPC's
// callback interface has threads of its own that all wait for the same sockets: a call took 169 us there (p50).
struct Shared {
  Service& service;
  Endpoint& endpoint;
  grpc::ServerCompletionQueue& queue;
  mutable bool answered = false;  // a call, by the queue's thread itself; only that one looks

  bool is_allowed(const ServerContext& c) const {
    const auto& metadata = c.client_metadata();
    const auto at = metadata.find("authorization");
    return service.is_allowed(at == metadata.end() ? std::string_view()
                                                   : std::string_view(at->second.data(), at->second.size()));
  }
};
const Status kUnauthenticated(grpc::StatusCode::UNAUTHENTICATED, "a token is needed: authorization: Bearer TOKEN");

template <class F>
Status status_after(const F& f) {
  try {
    f();
    return Status::OK;
  } catch (const Failure& e) {
    return status_of(e);
  } catch (const std::exception& e) {
    return {grpc::StatusCode::INTERNAL, e.what()};
  }
}

// A call of a method that is answered at once, or by the thread of the background.
template <class Request, class Response>
class SimpleCall {
 public:
  using Writer = grpc::ServerAsyncResponseWriter<Response>;
  using Ask = void (Endpoint::*)(ServerContext*, Request*, Writer*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*);
  struct Kind {
    Ask ask;
    std::function<void(Service&, const Request&, Response&)> answer;  // throws Failure
    bool needs_token = true, in_background = false;
  };
  // Waits for the next client.
  static void wait(const Shared& shared, const Kind& kind) {
    auto* call = new SimpleCall(shared, kind);
    (shared.endpoint.*kind.ask)(&call->context_, &call->request_, &call->writer_, &shared.queue, &shared.queue,
                                &call->begun_);
  }

 private:
  SimpleCall(const Shared& shared, const Kind& kind) : shared_(shared), kind_(kind), writer_(&context_) {}

  void begin(bool ok) {
    if (!ok) {  // the server stops
      delete this;
      return;
    }
    wait(shared_, kind_);
    if (kind_.needs_token && !shared_.is_allowed(context_)) return finish(kUnauthenticated);
    if (!kind_.in_background) return finish(status_after([&] { kind_.answer(shared_.service, request_, response_); }));
    const Status posted = status_after([&] {
      shared_.service.repository().check_control();
      shared_.service.background().post(
          [this] { finish(status_after([&] { kind_.answer(shared_.service, request_, response_); })); });
    });
    if (!posted.ok()) finish(posted);
  }
  void finish(const Status& status) {
    const std::scoped_lock lock(sending_);
    writer_.Finish(response_, status, &ended_);
  }
  void end() {
    sending_.lock();  // this event may come while finish still runs
    sending_.unlock();
    delete this;
  }

  const Shared& shared_;
  const Kind& kind_;
  ServerContext context_;
  Request request_;
  Response response_;
  Writer writer_;
  std::mutex sending_;
  Event begun_{[this](bool ok) { begin(ok); }}, ended_{[this](bool) { end(); }};
};

// A call of ModelInfer.
class InferCall {
 public:
  static void wait(const Shared& shared) {
    auto* call = new InferCall(shared);
    call->context_.AsyncNotifyWhenDone(&call->done_);
    shared.endpoint.RequestModelInfer(&call->context_, &call->request_, &call->writer_, &shared.queue, &shared.queue,
                                      &call->begun_);
  }

 private:
  explicit InferCall(const Shared& shared) : shared_(shared), writer_(&context_) {}

  void begin(bool ok) {
    if (!ok) {  // the server stops: no event follows
      delete this;
      return;
    }
    wait(shared_);
    Service& service = shared_.service;
    service.grpc_requests.fetch_add(1, std::memory_order_relaxed);
    if (!shared_.is_allowed(context_)) return refuse_call(kUnauthenticated);
    const Status begun = status_after([&] {
      if (const auto full = service.refusal(request_.model_name(), request_.model_version()))
        return refuse_call(status_of(*full));
      InferRequest request = read_request(request_, service.shared_memory());
      take_deadline(context_, request);
      wanted_ = request.outputs;
      request_.Clear();
      JobPtr job = service.infer(std::move(request), [this](Answer answer) { finish(std::move(answer)); });
      shared_.answered = job->answered.load();
      release_after([&] {
        if (!finished_) job_ = std::move(job);
      });
    });
    if (!begun.ok()) refuse_call(begun);
  }
  void refuse_call(const Status& status) {
    writer_.FinishWithError(status, &ended_);
    release_after([] {});
  }
  void finish(Answer answer) {
    const Status status = status_after([&] {
      if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
      write_response(std::get<InferResponse>(answer), wanted_, shared_.service.shared_memory(), response_);
    });
    // To its end under the lock, without which nobody deletes the call: its event may come while this still runs.
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    job_.reset();
    if (status.ok())
      writer_.Finish(response_, status, &ended_);
    else
      writer_.FinishWithError(status, &ended_);
  }
  // The call is over; perhaps since the client has gone.
  void end() {
    JobPtr job;
    if (context_.IsCancelled()) {
      const std::scoped_lock lock(mutex_);
      job = job_;
    }
    if (job) job->model->cancel(job);
    release_after([] {});
  }
  // Three have to be through: begin, the answer that is sent, end.
  template <class F>
  void release_after(const F& f) {
    bool last = false;
    {
      const std::scoped_lock lock(mutex_);
      f();
      last = --owners_ == 0;
    }
    if (last) delete this;
  }

  const Shared& shared_;
  ServerContext context_;
  inference::ModelInferRequest request_;
  inference::ModelInferResponse response_;
  grpc::ServerAsyncResponseWriter<inference::ModelInferResponse> writer_;
  std::vector<RequestedOutput> wanted_;
  std::mutex mutex_;
  JobPtr job_;
  bool finished_ = false;
  int owners_ = 3;
  Event begun_{[this](bool ok) { begin(ok); }}, ended_{[this](bool) { release_after([] {}); }},
      done_{[this](bool) { end(); }};
};

// A call of ModelStreamInfer: requests are read while others run, up to a number.
class StreamCall {
 public:
  static void wait(const Shared& shared) {
    auto* call = new StreamCall(shared);
    call->context_.AsyncNotifyWhenDone(&call->done_);
    shared.endpoint.RequestModelStreamInfer(&call->context_, &call->stream_, &shared.queue, &shared.queue,
                                            &call->begun_);
  }

 private:
  explicit StreamCall(const Shared& shared) : shared_(shared), stream_(&context_) {}

  void begin(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    wait(shared_);
    const std::scoped_lock lock(mutex_);
    if (shared_.is_allowed(context_)) return start_read();
    finished_ = true;
    stream_.Finish(kUnauthenticated, &ended_);
  }
  void on_read(bool ok) {
    {
      const std::scoped_lock lock(mutex_);
      reading_ = false;
      if (!ok) {
        read_all_ = true;
        return finish_if_done();
      }
      ++running_;
    }
    Service& service = shared_.service;
    service.grpc_requests.fetch_add(1, std::memory_order_relaxed);
    const std::string id = request_.id();
    const Status begun = status_after([&] {
      InferRequest request = read_request(request_, service.shared_memory());
      if (Generation::is_wanted(request)) return generate(id, std::move(request));
      auto wanted = request.outputs;
      JobPtr job = service.infer(std::move(request), [this, id, wanted = std::move(wanted)](Answer answer) {
        write(id, std::move(answer), wanted, true);
      });
      const std::scoped_lock lock(mutex_);
      std::erase_if(jobs_, [](const JobPtr& j) { return j->answered.load(); });
      if (!job->answered.load()) jobs_.push_back(job);
    });
    if (!begun.ok()) answered(id, begun, {});
    const std::scoped_lock lock(mutex_);
    start_read();
    finish_if_done();
  }
  // Note [Generating methods]
  void generate(const std::string& id, InferRequest request) {
    auto generation = std::make_shared<Generation>(
        shared_.service, std::move(request),
        [this, id](Answer answer, bool last) { return write(id, std::move(answer), {}, last); });
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(generations_, [](const auto& g) { return g.expired(); });
      generations_.push_back(generation);
    }
    generation->start();
  }
  // False: nobody reads it any more.
  bool write(const std::string& id, Answer answer, const std::vector<RequestedOutput>& wanted, bool last) {
    inference::ModelStreamInferResponse out;
    const Status status = status_after([&] {
      if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
      write_response(std::get<InferResponse>(answer), wanted, shared_.service.shared_memory(),
                     *out.mutable_infer_response());
    });
    (*out.mutable_infer_response()->mutable_parameters())["triton_final_response"].set_bool_param(last);
    return answered(id, status, std::move(out), last);
  }
  bool answered(const std::string& id, const Status& status, inference::ModelStreamInferResponse out,
                bool last = true) {
    if (!status.ok()) {
      out.set_error_message(status.error_message());
      out.mutable_infer_response()->set_id(id);
    }
    const std::scoped_lock lock(mutex_);
    if (last) --running_;
    if (!broken_) answers_.push_back(std::move(out));
    const bool wanted = !broken_;
    write_more();
    finish_if_done();
    return wanted || last;
  }
  void on_written(bool ok) {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    if (ok) {
      answers_.pop_front();
    } else {
      answers_.clear();
      broken_ = true;
    }
    write_more();
    start_read();
    finish_if_done();
  }
  // The call is over; perhaps since the client has gone.
  void end() {
    std::vector<JobPtr> jobs;
    std::vector<std::shared_ptr<Generation>> generations;
    if (context_.IsCancelled()) {
      const std::scoped_lock lock(mutex_);
      jobs.swap(jobs_);
      for (const auto& g : generations_) {
        if (auto there = g.lock()) generations.push_back(std::move(there));
      }
      broken_ = true;
      if (!writing_) answers_.clear();
    }
    for (const JobPtr& job : jobs) job->model->cancel(job);
    for (const auto& g : generations) g->cancel();
    {
      const std::scoped_lock lock(mutex_);
      finish_if_done();
    }
    release();
  }
  void release() {
    bool last = false;
    {
      const std::scoped_lock lock(mutex_);
      last = --owners_ == 0;
    }
    if (last) delete this;
  }

  // What follows is called with the lock. A client that sends faster than models answer waits.
  void start_read() {
    if (reading_ || read_all_ || broken_ || finished_ || running_ + answers_.size() >= kMostOfStream) return;
    reading_ = true;
    request_.Clear();
    stream_.Read(&request_, &read_);
  }
  void write_more() {
    if (writing_ || answers_.empty() || finished_) return;
    writing_ = true;
    stream_.Write(answers_.front(), &written_);
  }
  void finish_if_done() {
    if (finished_ || reading_ || writing_ || running_ || !(read_all_ || broken_) || !answers_.empty()) return;
    finished_ = true;
    stream_.Finish(Status::OK, &ended_);
  }

  const Shared& shared_;
  ServerContext context_;
  grpc::ServerAsyncReaderWriter<inference::ModelStreamInferResponse, inference::ModelInferRequest> stream_;
  inference::ModelInferRequest request_;
  std::mutex mutex_;
  std::deque<inference::ModelStreamInferResponse> answers_;
  std::vector<JobPtr> jobs_;
  std::vector<std::weak_ptr<Generation>> generations_;
  size_t running_ = 0;
  bool reading_ = false, writing_ = false, read_all_ = false, broken_ = false, finished_ = false;
  int owners_ = 2;  // the end of the call, and its last status
  Event begun_{[this](bool ok) { begin(ok); }}, read_{[this](bool ok) { on_read(ok); }},
      written_{[this](bool ok) { on_written(ok); }}, ended_{[this](bool) { release(); }},
      done_{[this](bool) { end(); }};
};

inference::DataType config_type(const std::string& datatype) {
  if (datatype == kBytes) return inference::TYPE_STRING;
  inference::DataType out = inference::TYPE_INVALID;
  inference::DataType_Parse("TYPE_" + datatype, &out);
  return out;
}

void set_duration(inference::StatisticDuration* to, const DurationStat& from) {
  to->set_count(from.count);
  to->set_ns(from.ns);
}

void server_metadata(Service& service, const inference::ServerMetadataRequest&,
                     inference::ServerMetadataResponse& out) {
  out.set_name("sconce");
  out.set_version(SCONCE_VERSION);
  for (const char* e : {"model_repository", "model_configuration", "statistics", "parameters"}) out.add_extensions(e);
  if (service.settings().shared_memory) out.add_extensions("system_shared_memory");
}

void model_ready(Service& service, const inference::ModelReadyRequest& in, inference::ModelReadyResponse& out) {
  try {
    std::string method;
    out.set_ready(service.repository().find_method(in.name(), in.version(), method) != nullptr);
  } catch (const Failure& f) {
    if (f.code != Code::unavailable) throw;
    out.set_ready(false);
  }
}

void model_metadata(Service& service, const inference::ModelMetadataRequest& in,
                    inference::ModelMetadataResponse& out) {
  std::string name;
  const auto model = service.repository().find_method(in.name(), in.version(), name);
  const Method& method = model->method(name);
  out.set_name(in.name());
  for (const std::string& v : service.repository().versions(model->name())) out.add_versions(v);
  out.set_platform(model->platform());
  const auto add = [](auto* to, const TensorInfo& t) {
    to->set_name(t.name);
    to->set_datatype(t.datatype);
    to->mutable_shape()->Add(t.shape.begin(), t.shape.end());
  };
  for (const TensorInfo& t : model->inputs(method)) add(out.add_inputs(), t);
  for (const TensorInfo& t : model->outputs(method)) add(out.add_outputs(), t);
}

void model_config(Service& service, const inference::ModelConfigRequest& in, inference::ModelConfigResponse& out) {
  std::string name;
  const auto model = service.repository().find_method(in.name(), in.version(), name);
  const Method& method = model->method(name);
  auto* config = out.mutable_config();
  config->set_name(model->name());
  config->set_platform(model->platform());
  config->set_backend("sconce");
  config->set_max_batch_size(static_cast<int>(model->config().max_batch_size));
  const auto add = [](auto* to, const TensorInfo& t) {
    to->set_name(t.name);
    to->set_data_type(config_type(t.datatype));
    to->mutable_dims()->Add(t.shape.begin(), t.shape.end());
  };
  for (const TensorInfo& t : model->inputs(method)) add(config->add_input(), t);
  for (const TensorInfo& t : model->outputs(method)) add(config->add_output(), t);
}

void model_statistics(Service& service, const inference::ModelStatisticsRequest& in,
                      inference::ModelStatisticsResponse& out) {
  if (!in.name().empty()) service.repository().find(in.name(), in.version());
  for (const auto& s : service.repository().stats()) {
    if ((!in.name().empty() && s->name != in.name()) || (!in.version().empty() && s->version != in.version())) continue;
    auto* m = out.add_model_stats();
    m->set_name(s->name);
    m->set_version(s->version);
    m->set_last_inference(s->last_inference_ms);
    m->set_inference_count(s->rows);
    m->set_execution_count(s->executions);
    auto* stats = m->mutable_inference_stats();
    set_duration(stats->mutable_success(), s->success);
    set_duration(stats->mutable_fail(), s->fail);
    set_duration(stats->mutable_queue(), s->queue);
    set_duration(stats->mutable_compute_input(), s->compute_input);
    set_duration(stats->mutable_compute_infer(), s->compute_infer);
    set_duration(stats->mutable_compute_output(), s->compute_output);
    for (size_t rows = 1; rows < s->batches.size(); ++rows) {
      const auto& b = s->batches[rows];
      if (b.infer.count == 0) continue;
      auto* batch = m->add_batch_stats();
      batch->set_batch_size(rows);
      set_duration(batch->mutable_compute_input(), b.input);
      set_duration(batch->mutable_compute_infer(), b.infer);
      set_duration(batch->mutable_compute_output(), b.output);
    }
  }
}

void repository_index(Service& service, const inference::RepositoryIndexRequest& in,
                      inference::RepositoryIndexResponse& out) {
  for (const IndexEntry& e : service.repository().index(in.ready())) {
    auto* m = out.add_models();
    m->set_name(e.name);
    m->set_version(e.version);
    m->set_state(e.state);
    m->set_reason(e.reason);
  }
}

void load_model(Service& service, const inference::RepositoryModelLoadRequest& in,
                inference::RepositoryModelLoadResponse&) {
  std::string config;
  for (const auto& [key, p] : in.parameters()) {
    if (key != "config") refuse(Code::unimplemented, "parameter '{}' is not supported", key.substr(0, 100));
    config = p.string_param();
  }
  service.repository().load(in.model_name(), config);
}

void unload_model(Service& service, const inference::RepositoryModelUnloadRequest& in,
                  inference::RepositoryModelUnloadResponse&) {
  for (const auto& [key, p] : in.parameters()) {
    // No model depends on another.
    if (key != "unload_dependents") refuse(Code::unimplemented, "parameter '{}' is not supported", key.substr(0, 100));
  }
  service.repository().unload(in.model_name());
}

void shared_memory_status(Service& service, const inference::SystemSharedMemoryStatusRequest& in,
                          inference::SystemSharedMemoryStatusResponse& out) {
  for (const SharedRegion& r : service.shared_memory().list(in.name())) {
    auto& to = (*out.mutable_regions())[r.name];
    to.set_name(r.name);
    to.set_key(r.key);
    to.set_offset(r.offset);
    to.set_byte_size(r.byte_size);
  }
}

void register_memory(Service& service, const inference::SystemSharedMemoryRegisterRequest& in,
                     inference::SystemSharedMemoryRegisterResponse&) {
  service.shared_memory().add({in.name(), in.key(), in.offset(), in.byte_size()});
}

void unregister_memory(Service& service, const inference::SystemSharedMemoryUnregisterRequest& in,
                       inference::SystemSharedMemoryUnregisterResponse&) {
  if (in.name().empty())
    service.shared_memory().remove_all();
  else
    service.shared_memory().remove(in.name());
}

// Waits for clients of a method; the kind lives as long as the process.
template <class Request, class Response, class Base>
void wait_for(const Shared& shared,
              void (Base::*ask)(ServerContext*, Request*, grpc::ServerAsyncResponseWriter<Response>*,
                                grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
              void (*answer)(Service&, const Request&, Response&), bool needs_token = true,
              bool in_background = false) {
  using Call = SimpleCall<Request, Response>;
  static const typename Call::Kind kind{static_cast<typename Call::Ask>(ask), answer, needs_token, in_background};
  Call::wait(shared, kind);
}

void wait_for_all(const Shared& shared) {
  for (int i = 0; i < kWaitingCalls; ++i) InferCall::wait(shared);
  StreamCall::wait(shared);
  wait_for<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      shared, &Endpoint::RequestServerLive, [](Service&, const auto&, auto& out) { out.set_live(true); }, false);
  wait_for<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      shared, &Endpoint::RequestServerReady,
      [](Service& service, const auto&, auto& out) { out.set_ready(service.is_ready()); }, false);
  wait_for(shared, &Endpoint::RequestServerMetadata, server_metadata);
  wait_for(shared, &Endpoint::RequestModelReady, model_ready);
  wait_for(shared, &Endpoint::RequestModelMetadata, model_metadata);
  wait_for(shared, &Endpoint::RequestModelConfig, model_config);
  wait_for(shared, &Endpoint::RequestModelStatistics, model_statistics);
  wait_for(shared, &Endpoint::RequestRepositoryIndex, repository_index);
  wait_for(shared, &Endpoint::RequestRepositoryModelLoad, load_model, true, true);
  wait_for(shared, &Endpoint::RequestRepositoryModelUnload, unload_model, true, true);
  wait_for(shared, &Endpoint::RequestSystemSharedMemoryStatus, shared_memory_status);
  wait_for(shared, &Endpoint::RequestSystemSharedMemoryRegister, register_memory);
  wait_for(shared, &Endpoint::RequestSystemSharedMemoryUnregister, unregister_memory);
}

}  // namespace

struct GrpcServer::Impl {
  Endpoint endpoint;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Shared> shared;
  std::thread thread;
  int port = 0;

  // Note [Spinning]
  void work() {
    Spinner spinner;
    void* tag = nullptr;
    bool ok = false;
    for (;;) {
      auto next = grpc::CompletionQueue::TIMEOUT;
      if (shared && shared->answered) {
        shared->answered = spinner.spin([&] {
          next = queue->AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
          return next != grpc::CompletionQueue::TIMEOUT;
        });
      }
      if (next == grpc::CompletionQueue::TIMEOUT) {
        spinner.sleep();
        next = queue->Next(&tag, &ok) ? grpc::CompletionQueue::GOT_EVENT : grpc::CompletionQueue::SHUTDOWN;
        spinner.wake();
      }
      if (next == grpc::CompletionQueue::SHUTDOWN) return;
      static_cast<Event*>(tag)->handle(ok);
    }
  }
};

GrpcServer::GrpcServer(Service& service, const GrpcSettings& settings) : impl_(std::make_unique<Impl>()) {
  // Debian's Abseil looks for deadlocks at every lock, which takes a tenth of a call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc::ServerBuilder builder;
  auto credentials = grpc::InsecureServerCredentials();
  if (!settings.certificate.empty()) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({settings.key, settings.certificate});
    credentials = grpc::SslServerCredentials(options);
  }
  const bool v6 = settings.host.find(':') != settings.host.npos;
  const std::string address = fmt::format("{}{}{}:{}", v6 ? "[" : "", settings.host, v6 ? "]" : "", settings.port);
  builder.AddListeningPort(address, credentials, &impl_->port);
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<size_t>(settings.max_message, INT32_MAX)));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error
  builder.RegisterService(&impl_->endpoint);
  impl_->queue = builder.AddCompletionQueue();
  impl_->server = builder.BuildAndStart();
  if (!impl_->server || impl_->port == 0) {
    impl_->queue->Shutdown();
    impl_->work();
    refuse("cannot listen on {} for gRPC", address);
  }
  impl_->shared = std::make_unique<Shared>(Shared{service, impl_->endpoint, *impl_->queue, false});
  wait_for_all(*impl_->shared);
  impl_->thread = std::thread([impl = impl_.get()] { impl->work(); });
}

GrpcServer::~GrpcServer() { stop(Clock::now()); }
int GrpcServer::port() const { return impl_->port; }

void GrpcServer::stop(Clock::time_point until) {
  if (!impl_->server) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() +
                          std::max<Clock::duration>(until - Clock::now(), std::chrono::milliseconds(1)));
  impl_->queue->Shutdown();
  impl_->thread.join();
  impl_->server.reset();
}

}  // namespace sconce::server
