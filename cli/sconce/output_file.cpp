#include "output_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "image.h"
#include "json.h"
#include "sconce/serialization/file_writer.h"

namespace sconce::cli {
namespace {

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
    {".json", write_json},
    {".png", [](const std::string& path, const Value& v) { write_png(path, v.to_tensor()); }},
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
