// Inference requests and responses of the Open Inference Protocol v2, and their encoding over HTTP: JSON, with the
// binary tensor extension. gRPC has the same in its own messages.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/protocol/wire_tensor.h"

namespace sconce::server {

class JsonReader;
class SharedMemory;

using Parameter = std::variant<bool, int64_t, double, std::string>;
using Parameters = std::map<std::string, Parameter>;

// Bytes of a registered region.
struct SharedPlace {
  std::string region;
  uint64_t offset = 0, byte_size = 0;
};

struct RequestedOutput {
  std::string name;
  std::optional<bool> binary;  // as bytes behind the JSON; else as the request says for all
  std::optional<SharedPlace> shared;
};

struct InferRequest {
  std::string model, version, id;
  std::vector<WireTensor> inputs;
  std::vector<RequestedOutput> outputs;  // none: all
  bool binary_outputs = false;
  Parameters parameters;  // what is left of them: arguments of the method, `method`, `timeout`, limits
  std::optional<std::chrono::nanoseconds> time_left;  // until the client's own deadline, where the transport has one
};

struct InferResponse {
  std::string model, version, id;
  std::vector<WireTensor> outputs;
};

// Reads the body of POST .../infer: `body` is JSON, behind whose first `json_size` bytes tensors lie. Throws Failure.
InferRequest read_infer_request(std::string_view body, size_t json_size, const SharedMemory& shared);

// Gives the body, and how long its JSON is: all of it, unless tensors lie behind. Outputs with a place in shared memory
// are written there.
struct InferBody {
  std::string body;
  size_t json_size = 0;
  bool binary = false;
};
InferBody write_infer_response(const InferResponse& response, const InferRequest& request, const SharedMemory& shared);

// Reads an object of parameters, or the value of one. Throws Failure.
Parameters read_parameters(JsonReader& in);
void read_parameter(JsonReader& in, const std::string& key, Parameters& to);

// Takes the place in shared memory out of a tensor's parameters; empty when they name none. Throws Failure.
std::optional<SharedPlace> take_shared_place(const std::string& tensor, Parameters& parameters);
// Refuses what is left, by name.
void refuse_rest(const std::string& whose, const Parameters& parameters);

}  // namespace sconce::server
