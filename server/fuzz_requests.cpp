// sconce-fuzz-requests RUNS [SEED]: mutated requests against the router of a live service, in one process. Each has to
// be answered, with a status of the protocol; a crash, a hang or an answer of 500 ends it with status 1.
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include <fmt/format.h>

#include "sconce/api/jit.h"
#include "server/http/router.h"

namespace {

using namespace sconce;
using namespace sconce::server;

constexpr const char* kText = R"(
class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.export
    def many(self, x: Tensor, k: int = 2, f: float = 1.0, b: bool = False, names: Optional[List[str]] = None, sizes: Optional[List[int]] = None,
             extra: Optional[Dict[str, Tensor]] = None, parts: Optional[List[Tensor]] = None) -> Tuple[Tensor, Dict[str, Tensor], int, List[str]]:
        if names is None:
            names = ["none"]
        out = {"sum": x.sum()}
        if extra is not None:
            for key, value in extra.items():
                out[key] = value
        return x, out, k, names

    @torch.jit.export
    def count(self, tokens: Tensor, left: int, step: int = 1) -> Dict[str, Tensor]:
        return {"tokens": tokens + step, "left": torch.tensor([left - 1]), "done": torch.tensor([left <= 1])}

    @torch.jit.export
    def strings(self, s: List[str]) -> str:
        return "".join(s)
)";

struct Seed {
  const char* method;
  std::string path, body;
  size_t json = 0;  // bytes of JSON, when tensors follow
};

std::vector<Seed> seeds() {
  const auto request = [](const char* path, const char* body) { return Seed{"POST", path, body, 0}; };
  std::vector<Seed> out = {
      {"GET", "/v2", "", 0},
      {"GET", "/v2/health/ready", "", 0},
      {"GET", "/v2/models/net", "", 0},
      {"GET", "/v2/models/net:many/versions/1", "", 0},
      {"GET", "/v2/models/net/stats", "", 0},
      {"GET", "/v2/models/net/config", "", 0},
      {"GET", "/metrics", "", 0},
      request("/v2/repository/index", R"({"ready":true})"),
      request("/v2/systemsharedmemory/region/a/register", R"({"key":"/sconce_no_such","offset":0,"byte_size":64})"),
      request("/v2/models/net/infer",
              R"({"id":"1","inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4.5e-3]]}]})"),
      request(
          "/v2/models/batched/infer",
          R"({"inputs":[{"name":"x","datatype":"INT64","shape":[2,2],"data":[1,-2,3,4]}],"outputs":[{"name":"output"}]})"),
      request("/v2/models/net/generate", R"({"id":"7","x":[[1,2],[3,4.5e-3]],"parameters":{"timeout":1000000}})"),
      request("/v2/models/net:strings/generate_stream",
              R"({"s":["a","\u00e9"],"parameters":{"stream":true,"max_steps":2}})"),
      request("/v2/models/net:many/versions/1/generate_stream",
              R"({"x":true,"k":3,"f":1e-1,"b":false,"names":["a"],"sizes":[1,2]})"),
      request("/v2/models/net:count/generate_stream", R"({"tokens":[5],"left":3,"step":2})"),
      request("/v2/models/net:strings/infer",
              R"({"inputs":[{"name":"s","datatype":"BYTES","shape":[2],"data":["a\u00e9","\ud83d\ude00"]}]})"),
      request(
          "/v2/models/net/infer",
          R"({"parameters":{"method":"many","k":3,"f":0.5,"b":true,"timeout":1000000,"max_memory":100000},"inputs":[{"name":"INPUT__0","datatype":"BOOL","shape":[1],"data":[true]},{"name":"sizes","datatype":"INT32","shape":[3],"data":[1,2,3]},{"name":"extra.a","datatype":"UINT64","shape":[],"data":[18446744073709551615]},{"name":"parts.0","datatype":"FP16","shape":[1],"data":[1]}],"outputs":[{"name":"sum","parameters":{"binary_data":true}},{"name":"OUTPUT__0","parameters":{"classification":0}}]})"),
      request(
          "/v2/models/net/infer",
          R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"a","shared_memory_byte_size":4,"shared_memory_offset":0}}]})"),
  };
  Seed binary = request(
      "/v2/models/net/infer",
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}],"parameters":{"binary_data_output":true}})");
  binary.json = binary.body.size();
  binary.body += std::string(8, '\x3f');
  out.push_back(binary);
  Seed strings =
      request("/v2/models/net:strings/infer",
              R"({"inputs":[{"name":"s","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11}}]})");
  strings.json = strings.body.size();
  strings.body += std::string(
      "\2\0\0\0"
      "ab"
      "\1\0\0\0"
      "z",
      11);
  out.push_back(strings);
  return out;
}

constexpr const char* kWords[] = {"\"inputs\"",
                                  "\"outputs\"",
                                  "\"parameters\"",
                                  "\"shape\"",
                                  "\"data\"",
                                  "\"datatype\"",
                                  "\"name\"",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  ",",
                                  ":",
                                  "-1",
                                  "0",
                                  "1e999",
                                  "9223372036854775807",
                                  "9223372036854775808",
                                  "18446744073709551615",
                                  "4294967296",
                                  "1.5",
                                  "null",
                                  "true",
                                  "\"\"",
                                  "\"BYTES\"",
                                  "\"FP64\"",
                                  "\"INT8\"",
                                  "\"BF16\"",
                                  "\\u0000",
                                  "\\ud800",
                                  "\xff",
                                  "[[[[[[[[",
                                  "binary_data_size",
                                  "shared_memory_region",
                                  "INPUT__1",
                                  "OUTPUT__9999",
                                  "x.0",
                                  "extra.",
                                  "versions",
                                  "%00",
                                  "%2f",
                                  "/",
                                  ":many",
                                  "infer",
                                  "generate_stream",
                                  "NaN"};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}
  size_t below(size_t n) { return n ? random_() % n : 0; }
  void change(std::string& text) {
    const size_t at = below(text.size() + 1);
    switch (below(8)) {
      case 0:
        if (!text.empty()) text[below(text.size())] = static_cast<char>(random_());
        break;
      case 1:
        text.insert(at, kWords[below(std::size(kWords))]);
        break;
      case 2:
        text.erase(at, below(12));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        if (!text.empty()) text[below(text.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 6: {  // one number for another
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit != text.npos) text.replace(digit, 1, std::to_string(static_cast<int64_t>(random_() >> below(64))));
        break;
      }
      default:
        text.insert(at, below(200), "[{\"a0"[below(5)]);
    }
  }

 private:
  std::mt19937_64 random_;
};

// Sends one and waits for its answer, at most 20 seconds.
int send(Router& router, HttpRequest request) {
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    int status = 0;
  };
  const auto state = std::make_shared<State>();
  const PendingPtr pending = router.handle(std::move(request), [state](HttpResponse r) {
    const std::scoped_lock lock(state->mutex);
    state->status = r.status;
    state->wake.notify_one();
  });
  std::unique_lock lock(state->mutex);
  state->wake.wait_for(lock, std::chrono::seconds(20), [&] { return state->status != 0; });
  const int status = state->status;
  lock.unlock();
  if (pending) pending->cancel();  // a stream, whose other events nobody reads
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("sconce_fuzz_{}", getpid());
  std::filesystem::create_directories(folder / "net/1");
  std::filesystem::create_directories(folder / "batched/1");
  auto unit = jit::compile(kText);
  const jit::Module module = unit.module("Net");
  module.save(folder / "net/1/model.pt");
  module.save(folder / "batched/1/model.pt");
  if (std::FILE* f = std::fopen((folder / "batched/config.json").c_str(), "w")) {
    std::fputs(R"({"max_batch_size": 4, "ragged": {"x": 0}})", f);
    std::fclose(f);
  }
  Log log(-1);
  ServiceSettings settings;
  settings.repository.folder = folder;
  settings.repository.defaults.max_memory = 64 << 20;
  settings.repository.defaults.timeout = std::chrono::seconds(5);
  settings.shared_memory = true;
  std::map<int, uint64_t> answers;
  int wrong = 0;
  {
    Service service(settings, log);
    service.repository().load_all();
    Router router(service, 1 << 20);
    Mutator mutator(seed);
    const std::vector<Seed> all = seeds();
    for (uint64_t i = 0; i < runs && !wrong; ++i) {
      Seed s = all[mutator.below(all.size())];
      HttpRequest request;
      request.method = mutator.below(50) ? s.method : "PUT";
      for (size_t n = mutator.below(5); n > 0; --n) mutator.change(mutator.below(6) ? s.body : s.path);
      request.path = s.path;
      request.body = s.body;
      if (s.json)
        request.inference_header_length =
            mutator.below(20) ? std::to_string(s.json) : std::to_string(mutator.below(1u << 31));
      if (!mutator.below(200)) request.content_encoding = mutator.below(2) ? "gzip" : "deflate";
      const int status = send(router, request);
      ++answers[status];
      if (status == 0 || status == 500) {
        wrong = 1;
        fmt::print(stderr, "request {} of seed {} was answered with {}: {} {}\n{}\n", i, seed, status, request.method,
                   request.path, request.body);
      }
    }
  }
  std::filesystem::remove_all(folder);
  for (const auto& [status, count] : answers) fmt::print("{}: {}\n", status, count);
  return wrong;
}
