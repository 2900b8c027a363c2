#include "server/http/router.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "sconce/api/jit.h"
#include "sconce/base/parallel.h"
#include "server/http/event_stream.h"

namespace sconce::server {
namespace {

constexpr const char* kText = R"(
class Net(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor

    @torch.jit.export
    def total(self, x: Tensor) -> Tensor:
        return x.sum()

    @torch.jit.export
    def many(self, x: Tensor, k: int = 2, names: Optional[List[str]] = None, extra: Optional[Dict[str, Tensor]] = None) -> Tuple[Tensor, int, List[str]]:
        if names is None:
            names = ["none"]
        if extra is not None:
            for key, value in extra.items():
                x = x + value
        return x, k, names

    @torch.jit.export
    def spin(self, n: int) -> int:
        i = 0
        while i < n:
            i += 1
        return i

    @torch.jit.export
    def ones(self, n: int) -> Tensor:
        return torch.ones(n).sum()

    @torch.jit.export
    def count(self, tokens: Tensor, left: int, step: int = 1) -> Dict[str, Tensor]:
        tokens = torch.cat([tokens, tokens[-1:] + step])
        return {"tokens": tokens, "left": torch.tensor([left - 1]), "done": torch.tensor([left <= 1])}

    @torch.jit.export
    def grow(self, x: Tensor) -> Tensor:
        return torch.ones([int(x.item())]).sum()
)";

class RouterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / fmt::format("sconce_router_{}", getpid());
    std::filesystem::create_directories(folder / "net/1");
    save(2.0, "net/1/model.pt");
  }
  void TearDown() override {
    router.reset();
    service.reset();
    std::filesystem::remove_all(folder);
  }
  void save(double factor, const std::string& to) {
    auto unit = jit::compile(kText);
    unit.module("Net", factor).save(folder / to);
  }
  void start(ServiceSettings settings = {}, size_t failed = 0) {
    settings.repository.folder = folder;
    service = std::make_unique<Service>(settings, log);
    EXPECT_EQ(service->repository().load_all(), failed);
    router = std::make_unique<Router>(*service, 1 << 20);
  }
  std::future<HttpResponse> begin(const std::string& method, const std::string& path, const std::string& body = {},
                                  PendingPtr* job = nullptr, const std::string& token = {}) {
    auto promise = std::make_shared<std::promise<HttpResponse>>();
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.authorization = token;
    PendingPtr given = router->handle(request, [promise](HttpResponse r) { promise->set_value(std::move(r)); });
    if (job) *job = given;
    return promise->get_future();
  }
  HttpResponse ask(const std::string& method, const std::string& path, const std::string& body = {},
                   const std::string& token = {}) {
    return begin(method, path, body, nullptr, token).get();
  }
  // "status body"
  std::string infer(const std::string& model, const std::string& body) {
    const HttpResponse r = ask("POST", "/v2/models/" + model + "/infer", body);
    return fmt::format("{} {}", r.status, r.body);
  }
  static std::string x(const std::string& values, int count, const std::string& parameters = "{}") {
    return fmt::format(R"({{"parameters":{},"inputs":[{{"name":"x","datatype":"FP32","shape":[{}],"data":[{}]}}]}})",
                       parameters, count, values);
  }

  std::filesystem::path folder;
  Log log{-1};
  std::unique_ptr<Service> service;
  std::unique_ptr<Router> router;
};

TEST_F(RouterTest, AnswersWhatTheProtocolHas) {
  start();
  EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
  EXPECT_EQ(ask("GET", "/v2/health/ready").status, 200);
  EXPECT_EQ(ask("GET", "/v2/models/net/ready").status, 200);
  EXPECT_NE(ask("GET", "/v2").body.find("binary_tensor_data"), std::string::npos);
  EXPECT_NE(ask("GET", "/v2/models/net/versions/1").body.find(R"("inputs":[{"name":"x","datatype":"ANY","shape":[]}])"),
            std::string::npos);
  EXPECT_NE(ask("GET", "/v2/models/net%3Amany").body.find(R"({"name":"k","datatype":"INT64","shape":[1]})"),
            std::string::npos);
  EXPECT_EQ(
      infer("net", x("1,2", 2)),
      R"(200 {"model_name":"net","model_version":"1","outputs":[{"name":"output","datatype":"FP32","shape":[2],"data":[2,4]}]})");
  EXPECT_EQ(
      infer("net:many", x("1", 1, R"({"k":5})")),
      R"(200 {"model_name":"net","model_version":"1","outputs":[{"name":"output_0","datatype":"FP32","shape":[1],"data":[1]},)"
      R"({"name":"output_1","datatype":"INT64","shape":[1],"data":[5]},{"name":"output_2","datatype":"BYTES","shape":[1],"data":["none"]}]})");
  EXPECT_EQ(
      infer("net", R"({"parameters":{"method":"many"},"outputs":[{"name":"OUTPUT__2"}],"inputs":[
              {"name":"INPUT__0","datatype":"FP32","shape":[1],"data":[1]},{"name":"names","datatype":"BYTES","shape":[1],"data":["a"]},
              {"name":"extra.y","datatype":"FP32","shape":[1],"data":[1]}]})"),
      R"(200 {"model_name":"net","model_version":"1","outputs":[{"name":"OUTPUT__2","datatype":"BYTES","shape":[1],"data":["a"]}]})");
  EXPECT_NE(ask("GET", "/metrics").body.find(R"(sconce_requests_total{model="net",version="1",outcome="ok"} 3)"),
            std::string::npos);
  EXPECT_NE(ask("GET", "/v2/models/net/stats").body.find(R"("execution_count":3)"), std::string::npos);
  EXPECT_EQ(ask("GET", "/").status, 200);
  EXPECT_EQ(ask("POST", "/v2/repository/index").body, R"([{"name":"net","version":"1","state":"READY","reason":""}])");
}

TEST_F(RouterTest, RefusesByName) {
  start();
  EXPECT_EQ(infer("no", x("1", 1)), R"(404 {"error":"there is no model 'no'"})");
  EXPECT_EQ(infer("net/versions/7", x("1", 1)), R"(404 {"error":"model 'net' has no version '7'"})");
  EXPECT_EQ(infer("net:none", x("1", 1)).substr(0, 4), "404 ");
  EXPECT_EQ(infer("net", R"({"inputs":[]})"), R"(400 {"error":"input 'x' is missing"})");
  EXPECT_EQ(
      infer(
          "net",
          R"({"inputs":[{"name":"y","datatype":"FP32","shape":[0],"data":[]},{"name":"x","datatype":"FP32","shape":[0],"data":[]}]})"),
      R"(400 {"error":"there is no input 'y': the method takes x"})");
  EXPECT_EQ(infer("net", x("1", 1, R"({"colour":1})")),
            R"(400 {"error":"the request: there is no parameter 'colour'"})");
  EXPECT_EQ(infer("net", x("1", 1, R"({"priority":1})")), R"(501 {"error":"parameter 'priority' is not supported"})");
  EXPECT_EQ(infer("net:ones", R"({"parameters":{"n":100000000,"max_memory":1000000},"inputs":[]})").substr(0, 4),
            "422 ");
  EXPECT_EQ(infer("net:ones", R"({"parameters":{"n":-1},"inputs":[]})").substr(0, 4), "400 ");
  EXPECT_EQ(ask("GET", "/v2/models/net/infer").status, 405);
  EXPECT_EQ(ask("POST", "/v2/health/live").status, 405);
  EXPECT_EQ(ask("GET", "/v2/%").status, 400);
  EXPECT_EQ(ask("GET", "/v2/models/%2e%2e%2fnet").status, 404);
  EXPECT_EQ(ask("GET", "v2").status, 400);
  EXPECT_EQ(ask("POST", "/v2/repository/models/net/unload").status, 403);
  EXPECT_EQ(ask("POST", "/v2/systemsharedmemory/region/a/register", R"({"key":"/a","byte_size":4})").status, 403);
  EXPECT_EQ(ask("POST", "/v2/cudasharedmemory/region/a/register", "{}").status, 501);
  EXPECT_EQ(ask("GET", "/v2/cudasharedmemory/status").body, "[]");
}

TEST_F(RouterTest, TokensAreNeeded) {
  ServiceSettings settings;
  settings.tokens = {"secret", "other"};
  start(settings);
  EXPECT_EQ(ask("GET", "/v2").status, 401);
  EXPECT_EQ(ask("GET", "/v2", "", "Bearer secre").status, 401);
  EXPECT_EQ(ask("GET", "/v2", "", "Bearer secrets").status, 401);
  EXPECT_EQ(ask("GET", "/v2", "", "secret").status, 401);
  EXPECT_EQ(ask("GET", "/v2", "", "Bearer other").status, 200);
  EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
}

TEST_F(RouterTest, DeadlinesAndCancellationReachTheLoop) {
  start();
  EXPECT_EQ(infer("net:spin", R"({"parameters":{"n":1000000000000,"timeout":50000},"inputs":[]})").substr(0, 4),
            "504 ");
  PendingPtr job;
  auto answer = begin("POST", "/v2/models/net:spin/infer", R"({"parameters":{"n":1000000000000},"inputs":[]})", &job);
  // While it runs, the next one waits, and is late before its turn.
  EXPECT_EQ(infer("net", x("1", 1, R"({"timeout":30000})")),
            R"(504 {"error":"the deadline passed while the request waited"})");
  job->cancel();
  EXPECT_EQ(answer.get().status, 499);
  EXPECT_EQ(infer("net", x("1", 1)).substr(0, 4), "200 ");  // the instance is free again
}

TEST_F(RouterTest, ShortCallsRunAtOnce) {
  start();
  const auto is_ready = [](const std::future<HttpResponse>& f) {
    return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  bool at_once = false;
  for (int i = 0; i < 1000 && !at_once; ++i) {
    auto answer = begin("POST", "/v2/models/net/infer", x("1", 1));
    at_once = is_ready(answer);  // nearly always because it ran in this thread; see below for the proof
    EXPECT_EQ(answer.get().status, 200);
  }
  EXPECT_TRUE(at_once);
  // Loops never do.
  for (int i = 0; i < 20; ++i) infer("net:spin", R"({"parameters":{"n":1},"inputs":[]})");
  EXPECT_FALSE(service->repository().find("net")->method("spin").is_short({Value(1)}));
  // A call that a busy machine makes long is not short; one of a thousand is.
  const auto becomes_short = [&](const std::string& model, const std::string& method) {
    for (int i = 0; i < 1000; ++i) {
      infer(model, x("1", 1));
      if (service->repository().find("net")->method(method).is_short({Value(empty_tensor({1}, DType::float32))}))
        return true;
    }
    return false;
  };
  EXPECT_TRUE(becomes_short("net", "forward"));
  EXPECT_FALSE(
      service->repository().find("net")->method("forward").is_short({Value(empty_tensor({2}, DType::float32))}));
  // One that was short and takes long begins again elsewhere, and is answered.
  EXPECT_TRUE(becomes_short("net:grow", "grow"));
  EXPECT_NE(infer("net:grow", x("16777216", 1)).find("16777216"), std::string::npos);
  EXPECT_FALSE(service->repository().find("net")->method("grow").is_short({Value(empty_tensor({1}, DType::float32))}));
  EXPECT_EQ(infer("net:grow", x("16777216", 1)).substr(0, 4), "200 ");
}

TEST_F(RouterTest, ShortCallsOfThreadsTakeTurns) {
  start();
  for (int i = 0; i < 50; ++i) infer("net", x("1", 1));
  std::atomic<int> wrong{0}, going{4};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string answer = infer("net", x(std::to_string(i + t), 1));
        if (answer.find(fmt::format(R"("data":[{}])", 2 * (i + t))) == answer.npos) ++wrong;
        // Now and then one that is not as short as it was.
        if (t == 0 && i % 100 == 50 && infer("net:grow", x("4000000", 1)).substr(0, 4) != "200 ") ++wrong;
      }
      --going;
    });
  }
  const auto stats = service->repository().find("net")->stats();
  int64_t most = 0;
  while (going > 0) most = std::max(most, stats->running.load());
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most, 1);  // the model has one instance
  EXPECT_EQ(stats->running.load(), 0);
  EXPECT_EQ(stats->waiting.load(), 0);
}

TEST_F(RouterTest, ModelsHaveThreadsOfTheirOwn) {
  std::ofstream(folder / "net/config.json") << R"({"threads": 3})";
  const int before = num_threads();
  start();
  EXPECT_EQ(num_threads(), 3);  // the pool's
  EXPECT_NE(ask("GET", "/v2/models/net/config").body.find(R"("threads":3)"), std::string::npos);
  EXPECT_EQ(infer("net", x("1", 1)).substr(0, 4), "200 ");
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(before);
}

TEST_F(RouterTest, TheQueueIsBounded) {
  ServiceSettings settings;
  settings.repository.defaults.queue = 2;
  start(settings);
  PendingPtr job;
  auto spin = begin("POST", "/v2/models/net:spin/infer", R"({"parameters":{"n":1000000000000},"inputs":[]})", &job);
  while (service->repository().find("net")->stats()->running == 0) std::this_thread::yield();
  auto a = begin("POST", "/v2/models/net/infer", x("1", 1));
  auto b = begin("POST", "/v2/models/net/infer", x("2", 1));
  EXPECT_EQ(infer("net", x("3", 1)), R"(429 {"error":"model 'net': 2 requests wait already"})");
  EXPECT_EQ(infer("net", "not even JSON").substr(0, 4), "429 ");  // refused before it is read
  EXPECT_EQ(service->repository().find("net")->stats()->answers[static_cast<size_t>(Code::exhausted)], 2u);
  job->cancel();
  EXPECT_EQ(a.get().status, 200);
  EXPECT_EQ(b.get().status, 200);
}

// All events of a stream, one in a line.
std::string events_of(const HttpResponse& r) {
  std::string out;
  bool at_end = false, asleep = false;
  std::mutex mutex;
  std::condition_variable wake;
  r.stream->on_wake([&] {
    const std::scoped_lock lock(mutex);
    asleep = false;
    wake.notify_all();
  });
  while (!at_end) {
    char piece[7];
    out.append(piece, r.stream->take(piece, sizeof piece, at_end, [&] {
      const std::scoped_lock lock(mutex);
      asleep = true;
    }));
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return !asleep; });
  }
  return out;
}

TEST_F(RouterTest, GeneratesEvents) {
  start();
  HttpResponse r = ask("POST", "/v2/models/net:count/generate_stream", R"({"id":"a","tokens":[5],"left":2,"step":10})");
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.type, "text/event-stream; charset=utf-8");
  ASSERT_TRUE(r.stream);
  EXPECT_EQ(events_of(r),
            R"(data: {"id":"a","model_name":"net","model_version":"1","tokens":[5,15],"left":1,"done":false}

data: {"id":"a","model_name":"net","model_version":"1","tokens":[5,15,25],"left":0,"done":true}

)");
  // The last answer alone; the number of calls is bounded; a method that generates nothing is called once.
  EXPECT_EQ(ask("POST", "/v2/models/net:count/versions/1/generate", R"({"tokens":[5],"left":3})").body,
            R"({"model_name":"net","model_version":"1","tokens":[5,6,7,8],"left":0,"done":true})");
  EXPECT_EQ(ask("POST", "/v2/models/net:count/generate",
                R"({"tokens":[5],"parameters":{"left":9,"max_steps":1,"stream":false}})")
                .body,
            R"({"model_name":"net","model_version":"1","tokens":[5,6],"left":8,"done":false})");
  EXPECT_EQ(ask("POST", "/v2/models/net/generate", R"({"x":[[1,2.5],[0,-1]]})").body,
            R"({"model_name":"net","model_version":"1","output":[2,5,0,-2]})");
  r = ask("POST", "/v2/models/net/generate_stream", R"({"x":1e0,"parameters":{"stream":true}})");
  EXPECT_EQ(events_of(r), "data: {\"model_name\":\"net\",\"model_version\":\"1\",\"output\":2}\n\n");
}

TEST_F(RouterTest, GenerationsFailWithAStatusFirstAndWithAnEventLater) {
  start();
  const auto fails = [&](const std::string& model, const std::string& body) {
    const HttpResponse r = ask("POST", "/v2/models/" + model + "/generate_stream", body);
    return r.stream ? events_of(r) : fmt::format("{} {}", r.status, r.body);
  };
  EXPECT_EQ(fails("none", "{}").substr(0, 4), "404 ");
  EXPECT_EQ(fails("net:count", R"({"tokens":[5]})"), R"(400 {"error":"input 'left' is missing"})");
  EXPECT_EQ(fails("net:count", R"({"tokens":[5],"left":1,"parameters":{"max_steps":0}})").substr(0, 4), "400 ");
  EXPECT_EQ(fails("net:count", R"({"tokens":[5],"left":1,"parameters":{"stream":false}})").substr(0, 4), "400 ");
  EXPECT_EQ(fails("net", R"({"x":[1],"parameters":{"method":"total"}})").substr(0, 4), "400 ");
  EXPECT_EQ(fails("net", R"({"x":[1],"y":2})"), R"(400 {"error":"the request: there is no parameter 'y'"})");
  // A number that JSON does not have.
  EXPECT_EQ(fails("net", R"({"x":[3e38]})").substr(0, 4), "400 ");
  EXPECT_EQ(ask("GET", "/v2/models/net/generate", "{}").status, 405);
  // The client has gone.
  PendingPtr pending;
  const HttpResponse r = begin("POST", "/v2/models/net:count/generate_stream",
                               R"({"tokens":[5],"left":1000000000,"parameters":{"max_steps":1000000}})", &pending)
                             .get();
  ASSERT_TRUE(pending);
  pending->cancel();
  const std::string events = events_of(r);
  EXPECT_TRUE(events.ends_with("data: {\"error\":\"the client has gone\"}\n\n")) << events.substr(events.size() - 200);
}

TEST(EventStream, AClientThatDoesNotReadGetsNoMore) {
  EventStream stream;
  const std::string event(1 << 20, 'x');
  size_t pushed = 0;
  while (pushed < 100 && stream.push(event)) ++pushed;
  EXPECT_EQ(pushed, EventStream::kMostUnsent / event.size());
  stream.end("last");
  std::string all;
  bool at_end = false;
  while (!at_end) {
    char piece[1 << 16];
    all.append(piece, stream.take(piece, sizeof piece, at_end, [] { FAIL(); }));
  }
  EXPECT_TRUE(all.ends_with("x\n\ndata: last\n\n"));
  EXPECT_EQ(all.size(), pushed * (event.size() + 8) + 12);
}

TEST_F(RouterTest, BatchesAreJoinedAndSplit) {
  std::ofstream(folder / "net/config.json") << R"({"max_batch_size": 8, "batch_delay": "50ms", "ragged": {"x": -1}})";
  start();
  std::vector<std::future<HttpResponse>> answers;
  const auto send = [&](int rows, int columns) {
    std::string data;
    for (int i = 0; i < rows * columns; ++i) data += fmt::format("{}{}", i ? "," : "", i);
    answers.push_back(
        begin("POST", "/v2/models/net/infer",
              fmt::format(R"({{"inputs":[{{"name":"x","datatype":"FP32","shape":[{},{}],"data":[{}]}}]}})", rows,
                          columns, data)));
  };
  send(1, 2);
  send(2, 1);
  send(5, 2);
  EXPECT_NE(answers[0].get().body.find(R"("shape":[1,2],"data":[0,2])"), std::string::npos);
  EXPECT_NE(answers[1].get().body.find(R"("shape":[2,2],"data":[0,-2,2,-2])"), std::string::npos);
  EXPECT_NE(answers[2].get().body.find(R"("shape":[5,2])"), std::string::npos);
  EXPECT_EQ(service->repository().find("net")->stats()->executions, 1u);
  EXPECT_EQ(infer("net", x("1,2,3,4,5,6,7,8,9", 9)).substr(0, 4), "400 ");
  // An output without rows, alone and with another.
  EXPECT_EQ(infer("net:total", x("1,2", 2)).substr(0, 4), "200 ");
  auto a = begin("POST", "/v2/models/net:total/infer", x("1,2", 2));
  auto b = begin("POST", "/v2/models/net:total/infer", x("3,4", 2));
  EXPECT_EQ(a.get().status, 200);  // what cannot be split runs one by one
  EXPECT_EQ(b.get().status, 200);
}

TEST_F(RouterTest, ModelsAreReplacedUnderLoad) {
  ServiceSettings settings;
  settings.repository.control = true;
  settings.repository.verify = false;
  start(settings);
  std::atomic<bool> stop{false};
  std::atomic<int> good{0}, bad{0};
  std::thread client([&] {
    while (!stop) (infer("net", x("1", 1)).starts_with("200 ") ? good : bad)++;
  });
  for (int i = 0; i < 30; ++i) EXPECT_EQ(ask("POST", "/v2/repository/models/net/load").status, 200);
  std::filesystem::create_directories(folder / "net/2");
  save(10.0, "net/2/model.pt");
  EXPECT_EQ(ask("POST", "/v2/repository/models/net/load").status, 200);
  EXPECT_NE(infer("net", x("1", 1))
                .find(R"("model_version":"2","outputs":[{"name":"output","datatype":"FP32","shape":[1],"data":[10]})"),
            std::string::npos);
  // A file that is broken changes nothing.
  std::filesystem::create_directories(folder / "net/3");
  std::ofstream(folder / "net/3/model.pt") << "no model";
  EXPECT_EQ(ask("POST", "/v2/repository/models/net/load").status, 400);
  EXPECT_EQ(infer("net", x("1", 1)).substr(0, 4), "200 ");
  stop = true;
  client.join();
  EXPECT_GT(good, 0);
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(ask("POST", "/v2/repository/models/net/unload").status, 200);
  EXPECT_EQ(infer("net", x("1", 1)).substr(0, 4), "503 ");
  EXPECT_EQ(ask("POST", "/v2/repository/models/none/load").status, 404);
  EXPECT_EQ(ask("POST", "/v2/repository/models/..%2fnet/load").status, 404);
}

TEST_F(RouterTest, BrokenModelsHaveReasons) {
  std::filesystem::create_directories(folder / "bad/1");
  std::ofstream(folder / "bad/1/model.pt") << "no model";
  std::filesystem::create_directories(folder / "worse");
  std::ofstream(folder / "worse/config.json") << R"({"max_batch_sizes": 3})";
  start({}, 2);
  EXPECT_EQ(ask("GET", "/v2/health/ready").status, 503);
  const std::string index = ask("POST", "/v2/repository/index", "{}").body;
  EXPECT_NE(index.find("max_batch_sizes"), std::string::npos) << index;
  EXPECT_EQ(ask("POST", "/v2/repository/index", R"({"ready":true})").body,
            R"([{"name":"net","version":"1","state":"READY","reason":""}])");
}

TEST_F(RouterTest, CompressedBodies) {
  start();
  HttpRequest request;
  request.method = "POST";
  request.path = "/v2/models/net/infer";
  request.content_encoding = "gzip";
  request.body = deflate_body(x("1", 1), true);
  std::promise<HttpResponse> promise;
  router->handle(request, [&](HttpResponse r) { promise.set_value(std::move(r)); });
  EXPECT_EQ(promise.get_future().get().status, 200);
  EXPECT_THROW(inflate_body("not gzip", "gzip", 100), Failure);
  EXPECT_THROW(inflate_body(deflate_body(std::string(1 << 20, 'a'), true), "gzip", 1000), Failure);  // a bomb
  const std::string cut = deflate_body(std::string(1000, 'b'), false);
  EXPECT_THROW(inflate_body(cut.substr(0, cut.size() / 2), "deflate", 10000), Failure);
  EXPECT_THROW(inflate_body("x", "br", 100), Failure);
}

}  // namespace
}  // namespace sconce::server
