#include "server/protocol/infer.h"

#include <set>

#include "server/protocol/datatype.h"
#include "server/protocol/failure.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"
#include "server/protocol/shared_memory.h"

namespace sconce::server {
namespace {

constexpr size_t kMaxTensors = 4096;  // of a request

std::vector<int64_t> read_shape(JsonReader& in) {
  std::vector<int64_t> out;
  in.array([&] { out.push_back(in.integer()); });
  return out;
}

template <class T>
T typed(const std::string& key, const Parameter& p, const char* expected) {
  if (const T* v = std::get_if<T>(&p)) return *v;
  refuse("parameter '{}' has to be {}", key, expected);
}
uint64_t size_parameter(const std::string& key, const Parameter& p) {
  const auto n = typed<int64_t>(key, p, "a number of bytes");
  if (n < 0) refuse("parameter '{}' is {}", key, n);
  return static_cast<uint64_t>(n);
}

std::string take_text(JsonReader& in) {
  if (in.peek() != '"') in.wrong("a string");
  return in.string();
}

// Reads inputs one by one; those that follow the JSON as bytes lie there in the same order.
class InputReader {
 public:
  InputReader(std::string_view binary, const SharedMemory& shared) : binary_(binary), shared_(shared) {}

  WireTensor read(JsonReader& in) {
    WireTensor t;
    Parameters parameters;
    std::string_view data;
    bool has_shape = false;
    in.object([&](const std::string& key) {
      if (key == "name")
        t.name = take_text(in);
      else if (key == "datatype")
        t.datatype = take_text(in);
      else if (key == "shape")
        t.shape = read_shape(in), has_shape = true;
      else if (key == "data")
        data = in.skip();
      else if (key == "parameters")
        parameters = read_parameters(in);
      else
        in.unknown(key);
    });
    if (t.name.empty()) refuse("an input has no name");
    if (t.datatype.empty()) refuse("input '{}' has no datatype", t.name);
    if (!has_shape) refuse("input '{}' has no shape", t.name);
    if (t.datatype != kBytes && !dtype_of(t.datatype))
      refuse("input '{}': there is no datatype '{}'", t.name, t.datatype.substr(0, 40));
    const auto place = take_shared_place(t.name, parameters);
    std::optional<uint64_t> size;
    if (const auto at = parameters.find("binary_data_size"); at != parameters.end()) {
      size = size_parameter(at->first, at->second);
      parameters.erase(at);
    }
    refuse_rest(fmt::format("input '{}'", t.name), parameters);
    if (!data.empty() + size.has_value() + place.has_value() != 1)
      refuse("input '{}' needs one of data, binary_data_size and shared_memory_region", t.name);
    if (place) {
      element_count(t.name, t.shape);
      read_bytes(t, shared_.read(place->region, place->offset, place->byte_size));
    } else if (size) {
      if (*size > binary_.size())
        refuse("input '{}': binary_data_size is {}, and the body has {} bytes left", t.name, *size, binary_.size());
      read_bytes(t, binary_.substr(0, *size));
      binary_.remove_prefix(*size);
    } else {
      read_json_data(t, data);
    }
    return t;
  }
  void end() const {
    if (!binary_.empty()) refuse("the body has {} bytes that belong to no input", binary_.size());
  }

 private:
  std::string_view binary_;
  const SharedMemory& shared_;
};

RequestedOutput read_output(JsonReader& in) {
  RequestedOutput out;
  Parameters parameters;
  in.object([&](const std::string& key) {
    if (key == "name")
      out.name = take_text(in);
    else if (key == "parameters")
      parameters = read_parameters(in);
    else
      in.unknown(key);
  });
  if (out.name.empty()) refuse("an output has no name");
  if (const auto at = parameters.find("binary_data"); at != parameters.end()) {
    out.binary = typed<bool>(at->first, at->second, "true or false");
    parameters.erase(at);
  }
  if (const auto at = parameters.find("classification"); at != parameters.end()) {
    if (!std::holds_alternative<int64_t>(at->second) || std::get<int64_t>(at->second) != 0)
      refuse(Code::unimplemented, "output '{}': the classification extension is not supported", out.name);
    parameters.erase(at);
  }
  out.shared = take_shared_place(out.name, parameters);
  refuse_rest(fmt::format("output '{}'", out.name), parameters);
  return out;
}

}  // namespace

void read_parameter(JsonReader& in, const std::string& key, Parameters& to) {
  switch (in.peek()) {
    case 't':
    case 'f':
      to[key] = in.boolean();
      return;
    case '"':
      to[key] = in.string();
      return;
    case '{':
    case '[':
    case 'n':
      refuse("parameter '{}' is neither a number nor a string nor true nor false", key.substr(0, 100));
    default: {
      const std::string_view text = in.skip();
      JsonReader number(text);
      if (text.find_first_of(".eE") == text.npos)
        to[key] = number.integer();
      else
        to[key] = number.number();
    }
  }
}

Parameters read_parameters(JsonReader& in) {
  Parameters out;
  in.object([&](const std::string& key) { read_parameter(in, key, out); });
  return out;
}

std::optional<SharedPlace> take_shared_place(const std::string& tensor, Parameters& parameters) {
  const auto region = parameters.find("shared_memory_region");
  if (region == parameters.end()) return {};
  SharedPlace place;
  place.region = typed<std::string>(region->first, region->second, "a name");
  parameters.erase(region);
  const auto size = parameters.find("shared_memory_byte_size");
  if (size == parameters.end()) refuse("tensor '{}': shared_memory_byte_size is missing", tensor);
  place.byte_size = size_parameter(size->first, size->second);
  parameters.erase(size);
  if (const auto offset = parameters.find("shared_memory_offset"); offset != parameters.end()) {
    place.offset = size_parameter(offset->first, offset->second);
    parameters.erase(offset);
  }
  return place;
}

void refuse_rest(const std::string& whose, const Parameters& parameters) {
  if (!parameters.empty()) refuse("{}: there is no parameter '{}'", whose, parameters.begin()->first.substr(0, 100));
}

InferRequest read_infer_request(std::string_view body, size_t json_size, const SharedMemory& shared) {
  if (json_size > body.size())
    refuse("Inference-Header-Content-Length is {}, and the body has {} bytes", json_size, body.size());
  InferRequest request;
  InputReader inputs(body.substr(json_size), shared);
  JsonReader in(body.substr(0, json_size));
  bool has_inputs = false;
  in.object([&](const std::string& key) {
    if (key == "id") {
      request.id = take_text(in);
    } else if (key == "model_name") {
      take_text(in);  // KServe's client says it again: it is the path's
    } else if (key == "parameters") {
      request.parameters = read_parameters(in);
    } else if (key == "inputs") {
      if (has_inputs) refuse("the request has inputs twice");
      has_inputs = true;
      in.array([&] {
        if (request.inputs.size() == kMaxTensors) refuse("a request has at most {} inputs", kMaxTensors);
        request.inputs.push_back(inputs.read(in));
      });
    } else if (key == "outputs") {
      in.array([&] {
        if (request.outputs.size() == kMaxTensors) refuse("a request has at most {} outputs", kMaxTensors);
        request.outputs.push_back(read_output(in));
      });
    } else {
      in.unknown(key);
    }
  });
  in.end();
  inputs.end();
  if (!has_inputs) refuse("the request has no inputs");
  std::set<std::string_view> names;
  for (const WireTensor& t : request.inputs) {
    if (!names.insert(t.name).second) refuse("the request has input '{}' twice", t.name);
  }
  if (const auto at = request.parameters.find("binary_data_output"); at != request.parameters.end()) {
    request.binary_outputs = typed<bool>(at->first, at->second, "true or false");
    request.parameters.erase(at);
  }
  return request;
}

InferBody write_infer_response(const InferResponse& response, const InferRequest& request, const SharedMemory& shared) {
  std::string binary;
  bool any_binary = false;
  JsonWriter out;
  out.open('{').key("model_name").text(response.model).key("model_version").text(response.version);
  if (!response.id.empty()) out.key("id").text(response.id);
  out.key("outputs").open('[');
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const WireTensor& t = response.outputs[i];
    const RequestedOutput* wanted = request.outputs.empty() ? nullptr : &request.outputs[i];
    out.open('{').key("name").text(t.name).key("datatype").text(t.datatype).key("shape").open('[');
    for (const int64_t n : t.shape) out.number(n);
    out.close(']');
    if (wanted && wanted->shared) {
      std::string bytes;
      write_bytes(t, bytes);
      shared.write(wanted->shared->region, wanted->shared->offset, wanted->shared->byte_size, bytes);
      out.key("parameters").open('{').key("shared_memory_region").text(wanted->shared->region);
      if (wanted->shared->offset) out.key("shared_memory_offset").number(wanted->shared->offset);
      out.key("shared_memory_byte_size").number(bytes.size()).close('}');
    } else if (wanted && wanted->binary ? *wanted->binary : request.binary_outputs) {
      const size_t before = binary.size();
      any_binary = true;
      write_bytes(t, binary);
      out.key("parameters").open('{').key("binary_data_size").number(binary.size() - before).close('}');
    } else {
      write_json_data(t, out.key("data"));
    }
    out.close('}');
  }
  out.close(']').close('}');
  InferBody result{out.take(), 0, any_binary};
  result.json_size = result.body.size();
  result.body += binary;
  return result;
}

}  // namespace sconce::server
