#include "server/model/model_config.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "server/protocol/datatype.h"
#include "server/protocol/failure.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"

namespace sconce::server {
namespace {

std::string text_of(JsonReader& in) {
  if (in.peek() != '"') in.wrong("a string");
  return in.string();
}

std::vector<TensorInfo> read_tensors(JsonReader& in) {
  std::vector<TensorInfo> out;
  in.array([&] {
    TensorInfo t;
    in.object([&](const std::string& key) {
      if (key == "name")
        t.name = text_of(in);
      else if (key == "datatype")
        t.datatype = text_of(in);
      else if (key == "shape")
        in.array([&] { t.shape.push_back(in.integer()); });
      else
        in.unknown(key);
    });
    if (t.name.empty()) refuse("a tensor has no name");
    if (t.datatype != kBytes && t.datatype != "ANY" && !dtype_of(t.datatype))
      refuse("tensor '{}': there is no datatype '{}'", t.name, t.datatype);
    out.push_back(std::move(t));
  });
  return out;
}

void read_members(JsonReader& in, ModelConfig& c) {
  in.object([&](const std::string& key) {
    if (key == "max_batch_size")
      c.max_batch_size = in.integer();
    else if (key == "batch_delay")
      c.batch_delay = parse_duration(text_of(in));
    else if (key == "preferred_batch_sizes") {
      c.preferred_batch_sizes.clear();
      in.array([&] { c.preferred_batch_sizes.push_back(in.integer()); });
    } else if (key == "ragged")
      in.object([&](const std::string& name) { c.ragged[name] = in.number(); });
    else if (key == "instances")
      c.instances = static_cast<int>(std::clamp<int64_t>(in.integer(), -1, 1 << 20));
    else if (key == "threads")
      c.threads = static_cast<int>(std::clamp<int64_t>(in.integer(), -1, 1 << 20));
    else if (key == "queue")
      c.queue = in.integer();
    else if (key == "queue_bytes")
      c.queue_bytes = in.integer();
    else if (key == "timeout")
      c.timeout = parse_duration(text_of(in));
    else if (key == "max_memory")
      c.max_memory = parse_amount(text_of(in), true);
    else if (key == "max_work")
      c.max_work = parse_amount(text_of(in), false);
    else if (key == "optimize")
      c.optimize = in.boolean();
    else if (key == "all_versions")
      c.all_versions = in.boolean();
    else if (key == "inputs")
      c.inputs = read_tensors(in);
    else if (key == "outputs")
      c.outputs = read_tensors(in);
    else
      in.unknown(key);
  });
  in.end();
}

void write_tensors(const std::vector<TensorInfo>& tensors, JsonWriter& out) {
  out.open('[');
  for (const TensorInfo& t : tensors) {
    out.open('{').key("name").text(t.name).key("datatype").text(t.datatype).key("shape").open('[');
    for (const int64_t n : t.shape) out.number(n);
    out.close(']').close('}');
  }
  out.close(']');
}

}  // namespace

void read_model_config(std::string_view json, const std::string& name, ModelConfig& config) {
  try {
    JsonReader in(json);
    read_members(in, config);
  } catch (const std::exception& e) {
    refuse("{}: {}", name, e.what());
  }
  check_model_config(name, config);
}

void check_model_config(const std::string& name, const ModelConfig& c) {
  if (c.max_batch_size < 0 || c.max_batch_size > 1 << 20) refuse("{}: max_batch_size is {}", name, c.max_batch_size);
  if (c.instances < 1 || c.instances > 1024) refuse("{}: instances are 1 to 1024, got {}", name, c.instances);
  if (c.threads < 1 || c.threads > 1024) refuse("{}: threads are 1 to 1024, got {}", name, c.threads);
  if (c.queue < 1 || c.queue > 1 << 24) refuse("{}: a queue holds 1 to 16777216 requests, got {}", name, c.queue);
  if (c.queue_bytes < 1) refuse("{}: queue_bytes is {}", name, c.queue_bytes);
  if (c.batch_delay.count() < 0 || c.batch_delay > std::chrono::minutes(1))
    refuse("{}: batch_delay is at most a minute", name);
  if (c.max_batch_size == 0 && (c.batch_delay.count() || !c.preferred_batch_sizes.empty() || !c.ragged.empty()))
    refuse("{}: batch_delay, preferred_batch_sizes and ragged need a max_batch_size", name);
  for (const int64_t n : c.preferred_batch_sizes) {
    if (n < 1 || n > c.max_batch_size)
      refuse("{}: a preferred batch size of {} with a max_batch_size of {}", name, n, c.max_batch_size);
  }
}

void write_model_config(const ModelConfig& c, JsonWriter& out) {
  const auto seconds = [](std::chrono::nanoseconds t) { return fmt::format("{}us", t.count() / 1000); };
  out.open('{').key("max_batch_size").number(c.max_batch_size).key("batch_delay").text(seconds(c.batch_delay));
  out.key("preferred_batch_sizes").open('[');
  for (const int64_t n : c.preferred_batch_sizes) out.number(n);
  out.close(']').key("ragged").open('{');
  for (const auto& [name, pad] : c.ragged) out.key(name).number(pad);
  out.close('}').key("instances").number(c.instances).key("threads").number(c.threads).key("queue").number(c.queue);
  out.key("queue_bytes").number(c.queue_bytes);
  if (c.timeout != std::chrono::nanoseconds::max()) out.key("timeout").text(seconds(c.timeout));
  if (c.max_memory != Limits::kNone) out.key("max_memory").text(std::to_string(c.max_memory));
  if (c.max_work != Limits::kNone) out.key("max_work").text(std::to_string(c.max_work));
  out.key("optimize").boolean(c.optimize).key("all_versions").boolean(c.all_versions);
  write_tensors(c.inputs, out.key("inputs"));
  write_tensors(c.outputs, out.key("outputs"));
  out.close('}');
}

}  // namespace sconce::server
