#include "files/output_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "files/image.h"
#include "sconce/serialization/file/file_writer.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "text/json.h"

namespace sconce::cli {
namespace {

NamedTensors tensors_of(const Value& v, const std::string& path) {
  NamedTensors tensors = flatten_tensors(v);
  SCONCE_CHECK(!tensors.empty(), "{}: there is no tensor in the result ({})", path, v.type()->annotation());
  for (auto& [name, tensor] : tensors) {
    if (name.empty()) name = "output";
  }
  return tensors;
}

Tensor only_tensor(const Value& v, const std::string& path) {
  const NamedTensors tensors = tensors_of(v, path);
  SCONCE_CHECK(tensors.size() == 1, "{}: takes one tensor, the result has {}", path, tensors.size());
  return tensors[0].second;
}

void write_json(const std::string& path, const Value& v) {
  FileWriter out(path);
  out.write(json_text(to_json(v)) + "\n");
  out.commit();
}

struct Kind {
  const char* ending;
  void (*write)(const std::string& path, const Value& v);
};
const Kind kKinds[] = {
    {".npy", [](const std::string& path, const Value& v) { write_npy(path, only_tensor(v, path)); }},
    {".npz", [](const std::string& path, const Value& v) { write_npz(path, tensors_of(v, path)); }},
    {".safetensors",
     [](const std::string& path, const Value& v) { write_safetensors(path, {tensors_of(v, path), {}, {}}); }},
    {".pth", [](const std::string& path, const Value& v) { write_pickled(path, v); }},
    {".json", write_json},
    {".png", [](const std::string& path, const Value& v) { write_png(path, only_tensor(v, path)); }},
};

}  // namespace

std::string output_endings() {
  std::string endings;
  for (const Kind& kind : kKinds) endings += fmt::format("{}{}", endings.empty() ? "" : ", ", kind.ending);
  return endings;
}

namespace {

const Kind& kind_for(const std::string& path) {
  for (const Kind& kind : kKinds) {
    if (path.ends_with(kind.ending)) return kind;
  }
  throw UsageError(fmt::format("--out {}: the name must end in one of {}", path, output_endings()));
}

}  // namespace

void check_output_path(const std::string& path) { kind_for(path); }
void write_output(const std::string& path, const Value& value) { kind_for(path).write(path, value); }

}  // namespace sconce::cli
