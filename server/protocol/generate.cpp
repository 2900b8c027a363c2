#include "server/protocol/generate.h"

#include "server/protocol/datatype.h"
#include "server/protocol/failure.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"

namespace sconce::server {
namespace {

constexpr size_t kMaxTensors = 4096;  // of a request

// What an array, or a value by itself, holds.
struct Contents {
  std::vector<int64_t> shape;  // along the first elements; that the others agree is for read_json_data to check
  bool texts = false, bools = false, fractions = false;

  std::string_view datatype() const { return texts ? kBytes : bools ? "BOOL" : fractions ? "FP32" : "INT64"; }
};

void look(JsonReader& in, Contents& c, size_t depth, bool first) {
  switch (in.peek()) {
    case '[': {
      int64_t count = 0;
      if (first) c.shape.resize(depth + 1);
      in.array([&] { look(in, c, depth + 1, first && count++ == 0); });
      if (first) c.shape[depth] = count;
      return;
    }
    case '"':
      c.texts = true;
      in.skip();
      return;
    case 't':
    case 'f':
      c.bools = true;
      in.boolean();
      return;
    case '{':
    case 'n':
      in.wrong("a number, a string, true, false or an array of them");
    default:
      c.fractions |= in.skip().find_first_of(".eE") != std::string_view::npos;
  }
}

WireTensor read_tensor(const std::string& name, std::string_view text, std::string_view datatype) {
  Contents contents;
  JsonReader in(text);
  look(in, contents, 0, true);
  WireTensor t;
  t.name = name;
  t.datatype = datatype.empty() || datatype == "ANY" ? contents.datatype() : datatype;
  t.shape = contents.shape;
  if (!t.shape.empty()) {
    read_json_data(t, text);
  } else {
    t.shape = {1};
    read_json_data(t, fmt::format("[{}]", text));
  }
  return t;
}

}  // namespace

InferRequest read_generate_request(std::string_view body,
                                   FunctionRef<std::string_view(const std::string& name)> input_datatype) {
  InferRequest request;
  Parameters values;  // beside `parameters`
  JsonReader in(body);
  in.object([&](const std::string& key) {
    if (key == "id") {
      if (in.peek() != '"') in.wrong("a string");
      request.id = in.string();
    } else if (key == "parameters") {
      request.parameters = read_parameters(in);
    } else {
      const std::string_view datatype = input_datatype(key);
      if (datatype.empty() && in.peek() != '[') {
        read_parameter(in, key, values);
        return;
      }
      if (request.inputs.size() == kMaxTensors) refuse("a request has at most {} inputs", kMaxTensors);
      for (const WireTensor& t : request.inputs) {
        if (t.name == key) refuse("the request has input '{}' twice", key);
      }
      request.inputs.push_back(read_tensor(key, in.skip(), datatype));
    }
  });
  in.end();
  for (auto& [key, value] : values) {
    if (!request.parameters.emplace(key, std::move(value)).second) refuse("the request has '{}' twice", key);
  }
  return request;
}

std::string write_generate_response(const InferResponse& response) {
  JsonWriter out;
  out.open('{');
  if (!response.id.empty()) out.key("id").text(response.id);
  out.key("model_name").text(response.model).key("model_version").text(response.version);
  for (const WireTensor& t : response.outputs) {
    JsonWriter data;
    write_json_data(t, data);
    std::string_view text = data.str();
    if (element_count(t.name, t.shape) == 1) text = text.substr(1, text.size() - 2);
    out.key(t.name).raw(text);
  }
  out.close('}');
  return out.take();
}

}  // namespace sconce::server
