#include "server/grpc/grpc_server.h"

#include <deque>
#include <functional>
#include <set>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "inference.grpc.pb.h"
#include "server/protocol/datatype.h"

namespace sconce::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::Status;

constexpr const char* kNeedsToken = "a token is needed: authorization: Bearer TOKEN";
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
template <class Context>
void take_deadline(const Context& context, InferRequest& request) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return;
  const auto left = deadline - std::chrono::system_clock::now();
  if (left < std::chrono::hours(24 * 365))
    request.time_left = std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(1));
}

// One call of ModelInfer, from the wait for a client to the end: events of a completion queue, whose thread also makes short
// calls. (gRPC's callback interface takes threads of its own for each step; measured at 169 us a call where this takes less.)
class InferCall {
 public:
  // Waits for the next client.
  template <class Endpoint>
  static void wait(Endpoint& endpoint, server::Service& service, grpc::ServerCompletionQueue& queue) {
    auto* call = new InferCall(service, [&endpoint, &service, &queue] { wait(endpoint, service, queue); });
    call->context_.AsyncNotifyWhenDone(&call->done_);
    endpoint.RequestModelInfer(&call->context_, &call->request_, &call->responder_, &queue, &queue, &call->begun_);
  }
  // An event of the queue.
  struct Event {
    InferCall* call;
    void (InferCall::*handle)(bool ok);
  };

 private:
  InferCall(server::Service& service, std::function<void()> next)
      : service_(service), next_(std::move(next)), responder_(&context_) {}

  void on_begun(bool ok) {
    if (!ok) {  // the server stops: no event follows
      delete this;
      return;
    }
    next_();
    service_.grpc_requests.fetch_add(1, std::memory_order_relaxed);
    const auto& metadata = context_.client_metadata();
    const auto at = metadata.find("authorization");
    if (!service_.is_allowed(at == metadata.end() ? std::string_view()
                                                  : std::string_view(at->second.data(), at->second.size())))
      return refuse_call({grpc::StatusCode::UNAUTHENTICATED, kNeedsToken});
    try {
      InferRequest request = read_request(request_, service_.shared_memory());
      take_deadline(context_, request);
      wanted_ = request.outputs;
      request_.Clear();
      JobPtr job = service_.infer(std::move(request), [this](Answer answer) { this->answer(std::move(answer)); });
      release_after([&] {
        if (!finished_) job_ = job;
      });
    } catch (const Failure& f) {
      refuse_call(status_of(f));
    } catch (const std::exception& e) {
      refuse_call({grpc::StatusCode::INTERNAL, e.what()});
    }
  }
  void refuse_call(const Status& status) {
    finish(status);
    release_after([] {});
  }
  void answer(Answer answer) {
    Status status;
    try {
      if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
      write_response(std::get<InferResponse>(answer), wanted_, service_.shared_memory(), response_);
    } catch (const Failure& f) {
      status = status_of(f);
    } catch (const std::exception& e) {
      status = Status(grpc::StatusCode::INTERNAL, e.what());
    }
    finish(status);
  }
  void finish(const Status& status) {
    {
      const std::scoped_lock lock(mutex_);
      finished_ = true;
      job_.reset();
    }
    if (status.ok())
      responder_.Finish(response_, status, &ended_);
    else
      responder_.FinishWithError(status, &ended_);
  }
  // The answer is sent.
  void on_ended(bool) {
    release_after([] {});
  }
  // The call is over; perhaps since the client has gone.
  void on_done(bool) {
    JobPtr job;
    if (context_.IsCancelled()) {
      const std::scoped_lock lock(mutex_);
      job = job_;
    }
    if (job) job->model->cancel(job);
    release_after([] {});
  }
  // Three have to be through: on_begun where it has begun a job, on_ended, on_done.
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

  server::Service& service_;
  const std::function<void()> next_;
  grpc::ServerContext context_;
  inference::ModelInferRequest request_;
  inference::ModelInferResponse response_;
  grpc::ServerAsyncResponseWriter<inference::ModelInferResponse> responder_;
  std::vector<RequestedOutput> wanted_;
  std::mutex mutex_;
  JobPtr job_;
  bool finished_ = false;
  int owners_ = 3;
  Event begun_{this, &InferCall::on_begun}, ended_{this, &InferCall::on_ended}, done_{this, &InferCall::on_done};
};

// One call of ModelStreamInfer: requests are read while others run, up to a number.
class StreamCall final
    : public grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse> {
 public:
  StreamCall(Service& service, bool allowed) : service_(service) {
    if (!allowed) {
      finished_ = true;
      Finish({grpc::StatusCode::UNAUTHENTICATED, kNeedsToken});
      return;
    }
    StartRead(&read_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::scoped_lock lock(mutex_);
      reading_ = false;
      read_all_ = true;
      finish_if_done();
      return;
    }
    service_.grpc_requests.fetch_add(1, std::memory_order_relaxed);
    const std::string id = read_.id();
    {
      const std::scoped_lock lock(mutex_);
      reading_ = false;
      ++running_;
    }
    try {
      InferRequest request = read_request(read_, service_.shared_memory());
      read_.Clear();
      auto wanted = request.outputs;
      JobPtr job = service_.infer(std::move(request), [this, id, wanted = std::move(wanted)](Answer answer) {
        inference::ModelStreamInferResponse out;
        try {
          if (const auto* f = std::get_if<Failure>(&answer)) throw *f;
          write_response(std::get<InferResponse>(answer), wanted, service_.shared_memory(),
                         *out.mutable_infer_response());
        } catch (const std::exception& e) {
          out.set_error_message(e.what());
          out.mutable_infer_response()->set_id(id);
        }
        answered(std::move(out));
      });
      const std::scoped_lock lock(mutex_);
      std::erase_if(jobs_, [](const JobPtr& j) { return j->answered.load(); });
      if (!job->answered.load()) jobs_.push_back(job);
    } catch (const std::exception& e) {
      inference::ModelStreamInferResponse out;
      out.set_error_message(e.what());
      out.mutable_infer_response()->set_id(id);
      answered(std::move(out));
    }
    read_more();
  }
  void OnWriteDone(bool ok) override {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    if (!ok)
      writes_.clear(), broken_ = true;
    else
      writes_.pop_front();
    write_more();
    finish_if_done();
    if (!finished_ && ok) start_read();
  }
  void OnCancel() override {
    std::vector<JobPtr> jobs;
    {
      const std::scoped_lock lock(mutex_);
      jobs.swap(jobs_);
      broken_ = true;
      if (!writing_) writes_.clear();
    }
    for (const JobPtr& job : jobs) job->model->cancel(job);
    const std::scoped_lock lock(mutex_);
    finish_if_done();
  }
  void OnDone() override { delete this; }

 private:
  void read_more() {
    const std::scoped_lock lock(mutex_);
    start_read();
    finish_if_done();
  }
  // With the lock. A client that sends faster than models answer waits.
  void start_read() {
    if (reading_ || read_all_ || broken_ || finished_ || running_ + writes_.size() >= kMostOfStream) return;
    reading_ = true;
    StartRead(&read_);
  }
  void answered(inference::ModelStreamInferResponse out) {
    const std::scoped_lock lock(mutex_);
    --running_;
    if (!broken_) writes_.push_back(std::move(out));
    write_more();
    finish_if_done();
  }
  void write_more() {
    if (writing_ || writes_.empty() || finished_) return;
    writing_ = true;
    StartWrite(&writes_.front());
  }
  void finish_if_done() {
    if (finished_ || reading_ || writing_ || running_ || !(read_all_ || broken_) || !writes_.empty()) return;
    finished_ = true;
    Finish(Status::OK);
  }

  Service& service_;
  inference::ModelInferRequest read_;
  std::mutex mutex_;
  std::deque<inference::ModelStreamInferResponse> writes_;
  std::vector<JobPtr> jobs_;
  size_t running_ = 0;
  bool reading_ = true, writing_ = false, read_all_ = false, broken_ = false, finished_ = false;
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

// All calls by the callback interface but ModelInfer.
using Generated = inference::GRPCInferenceService;
using EndpointBase = Generated::WithAsyncMethod_ModelInfer<
    Generated::WithCallbackMethod_ServerLive<Generated::WithCallbackMethod_ServerReady<
        Generated::WithCallbackMethod_ModelReady<Generated::WithCallbackMethod_ServerMetadata<
            Generated::WithCallbackMethod_ModelMetadata<Generated::WithCallbackMethod_ModelStreamInfer<
                Generated::WithCallbackMethod_ModelConfig<Generated::WithCallbackMethod_ModelStatistics<
                    Generated::WithCallbackMethod_RepositoryIndex<Generated::WithCallbackMethod_RepositoryModelLoad<
                        Generated::WithCallbackMethod_RepositoryModelUnload<
                            Generated::WithCallbackMethod_SystemSharedMemoryStatus<
                                Generated::WithCallbackMethod_SystemSharedMemoryRegister<
                                    Generated::WithCallbackMethod_SystemSharedMemoryUnregister<
                                        Generated::Service>>>>>>>>>>>>>>>;

class Endpoint final : public EndpointBase {
 public:
  explicit Endpoint(server::Service& service) : service_(service) {}

  ServerUnaryReactor* ServerLive(CallbackServerContext* c, const inference::ServerLiveRequest*,
                                 inference::ServerLiveResponse* out) override {
    return answer(c, false, [&] { out->set_live(true); });
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* c, const inference::ServerReadyRequest*,
                                  inference::ServerReadyResponse* out) override {
    return answer(c, false, [&] { out->set_ready(service_.is_ready()); });
  }
  ServerUnaryReactor* ModelReady(CallbackServerContext* c, const inference::ModelReadyRequest* in,
                                 inference::ModelReadyResponse* out) override {
    return answer(c, true, [&] {
      try {
        std::string method;
        out->set_ready(service_.repository().find_method(in->name(), in->version(), method) != nullptr);
      } catch (const Failure& f) {
        if (f.code != Code::unavailable) throw;
        out->set_ready(false);
      }
    });
  }
  ServerUnaryReactor* ServerMetadata(CallbackServerContext* c, const inference::ServerMetadataRequest*,
                                     inference::ServerMetadataResponse* out) override {
    return answer(c, true, [&] {
      out->set_name("sconce");
      out->set_version(SCONCE_VERSION);
      for (const char* e : {"model_repository", "model_configuration", "statistics", "parameters"})
        out->add_extensions(e);
      if (service_.settings().shared_memory) out->add_extensions("system_shared_memory");
    });
  }
  ServerUnaryReactor* ModelMetadata(CallbackServerContext* c, const inference::ModelMetadataRequest* in,
                                    inference::ModelMetadataResponse* out) override {
    return answer(c, true, [&] {
      std::string name;
      const auto model = service_.repository().find_method(in->name(), in->version(), name);
      const Method& method = model->method(name);
      out->set_name(in->name());
      for (const std::string& v : service_.repository().versions(model->name())) out->add_versions(v);
      out->set_platform(model->platform());
      const auto add = [](auto* to, const TensorInfo& t) {
        to->set_name(t.name);
        to->set_datatype(t.datatype);
        to->mutable_shape()->Add(t.shape.begin(), t.shape.end());
      };
      for (const TensorInfo& t : model->inputs(method)) add(out->add_inputs(), t);
      for (const TensorInfo& t : model->outputs(method)) add(out->add_outputs(), t);
    });
  }
  ServerUnaryReactor* ModelConfig(CallbackServerContext* c, const inference::ModelConfigRequest* in,
                                  inference::ModelConfigResponse* out) override {
    return answer(c, true, [&] {
      std::string name;
      const auto model = service_.repository().find_method(in->name(), in->version(), name);
      const Method& method = model->method(name);
      auto* config = out->mutable_config();
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
    });
  }
  grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>* ModelStreamInfer(
      CallbackServerContext* c) override {
    return new StreamCall(service_, is_allowed(*c));
  }
  ServerUnaryReactor* ModelStatistics(CallbackServerContext* c, const inference::ModelStatisticsRequest* in,
                                      inference::ModelStatisticsResponse* out) override {
    return answer(c, true, [&] {
      if (!in->name().empty()) service_.repository().find(in->name(), in->version());
      for (const auto& s : service_.repository().stats()) {
        if ((!in->name().empty() && s->name != in->name()) || (!in->version().empty() && s->version != in->version()))
          continue;
        auto* m = out->add_model_stats();
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
    });
  }
  ServerUnaryReactor* RepositoryIndex(CallbackServerContext* c, const inference::RepositoryIndexRequest* in,
                                      inference::RepositoryIndexResponse* out) override {
    return answer(c, true, [&] {
      for (const IndexEntry& e : service_.repository().index(in->ready())) {
        auto* m = out->add_models();
        m->set_name(e.name);
        m->set_version(e.version);
        m->set_state(e.state);
        m->set_reason(e.reason);
      }
    });
  }
  ServerUnaryReactor* RepositoryModelLoad(CallbackServerContext* c, const inference::RepositoryModelLoadRequest* in,
                                          inference::RepositoryModelLoadResponse*) override {
    std::string config;
    for (const auto& [key, p] : in->parameters()) {
      if (key == "config")
        config = p.string_param();
      else
        return answer(c, true, [&, key = key] {
          refuse(Code::unimplemented, "parameter '{}' is not supported", key.substr(0, 100));
        });
    }
    return later(c, [this, name = in->model_name(), config] { service_.repository().load(name, config); });
  }
  ServerUnaryReactor* RepositoryModelUnload(CallbackServerContext* c, const inference::RepositoryModelUnloadRequest* in,
                                            inference::RepositoryModelUnloadResponse*) override {
    return later(c, [this, name = in->model_name()] { service_.repository().unload(name); });
  }
  ServerUnaryReactor* SystemSharedMemoryStatus(CallbackServerContext* c,
                                               const inference::SystemSharedMemoryStatusRequest* in,
                                               inference::SystemSharedMemoryStatusResponse* out) override {
    return answer(c, true, [&] {
      for (const SharedRegion& r : service_.shared_memory().list(in->name())) {
        auto& to = (*out->mutable_regions())[r.name];
        to.set_name(r.name);
        to.set_key(r.key);
        to.set_offset(r.offset);
        to.set_byte_size(r.byte_size);
      }
    });
  }
  ServerUnaryReactor* SystemSharedMemoryRegister(CallbackServerContext* c,
                                                 const inference::SystemSharedMemoryRegisterRequest* in,
                                                 inference::SystemSharedMemoryRegisterResponse*) override {
    return answer(c, true,
                  [&] { service_.shared_memory().add({in->name(), in->key(), in->offset(), in->byte_size()}); });
  }
  ServerUnaryReactor* SystemSharedMemoryUnregister(CallbackServerContext* c,
                                                   const inference::SystemSharedMemoryUnregisterRequest* in,
                                                   inference::SystemSharedMemoryUnregisterResponse*) override {
    return answer(c, true, [&] {
      if (in->name().empty())
        service_.shared_memory().remove_all();
      else
        service_.shared_memory().remove(in->name());
    });
  }

 private:
  bool is_allowed(const CallbackServerContext& c) const {
    const auto& metadata = c.client_metadata();
    const auto at = metadata.find("authorization");
    return service_.is_allowed(at == metadata.end() ? std::string_view()
                                                    : std::string_view(at->second.data(), at->second.size()));
  }
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
  template <class F>
  ServerUnaryReactor* answer(CallbackServerContext* c, bool needs_token, const F& f) {
    ServerUnaryReactor* reactor = c->DefaultReactor();
    if (needs_token && !is_allowed(*c))
      reactor->Finish({grpc::StatusCode::UNAUTHENTICATED, kNeedsToken});
    else
      reactor->Finish(status_after(f));
    return reactor;
  }
  // By the thread of the background, for what takes a while.
  ServerUnaryReactor* later(CallbackServerContext* c, std::function<void()> f) {
    ServerUnaryReactor* reactor = c->DefaultReactor();
    if (!is_allowed(*c)) {
      reactor->Finish({grpc::StatusCode::UNAUTHENTICATED, kNeedsToken});
      return reactor;
    }
    const Status posted = status_after([&] {
      service_.repository().check_control();
      service_.background().post([this, reactor, f] { reactor->Finish(status_after(f)); });
    });
    if (!posted.ok()) reactor->Finish(posted);
    return reactor;
  }

  server::Service& service_;  // the base has a name of its own for it
};

}  // namespace

struct GrpcServer::Impl {
  explicit Impl(Service& service) : endpoint(service) {}
  Endpoint endpoint;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::thread thread;

  void work() {
    void* tag = nullptr;
    for (bool ok = false; queue->Next(&tag, &ok);) {
      const auto* event = static_cast<InferCall::Event*>(tag);
      (event->call->*event->handle)(ok);
    }
  }
  int port = 0;
};

GrpcServer::GrpcServer(Service& service, const GrpcSettings& settings) : impl_(std::make_unique<Impl>(service)) {
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
  for (int i = 0; i < kWaitingCalls; ++i) InferCall::wait(impl_->endpoint, service, *impl_->queue);
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
